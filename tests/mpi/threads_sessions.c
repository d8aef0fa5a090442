/*
 * threads_sessions.c - chapter 11.3: sessions that several threads open, use and close at
 * once, without MPI_Init.
 *
 * A session is the first or the last of its process again and again, so that the library
 * opens and closes under the others. Each thread also sends itself a message by a
 * communicator of its own session, and waits for it; then the threads of all ranks pass
 * messages round, so that some come to a rank that has just closed its last session, and
 * opens the next.
 */
#include "check.h"

#include <pthread.h>
#include <stdint.h>

enum { THREADS = 3, ROUNDS = 150, EMPTY_ROUNDS = 150, SESSIONS = 40, ROUND_TRIPS = 8 };

/* Opening and closing alone, as fast as it goes. */
static void open_and_close(void)
{
    for (int i = 0; i < EMPTY_ROUNDS; i++) {
        MPI_Session session;

        CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) ==
              MPI_SUCCESS);
        CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
        CHECK(session == MPI_SESSION_NULL);
    }
}

static void talk(MPI_Comm comm, int number)
{
    MPI_Request request;
    int word = -1;

    CHECK(MPI_Irecv(&word, 1, MPI_INT, 0, 7, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Send(&number, 1, MPI_INT, 0, 7, comm) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(word == number);
}

static void open_and_talk(int number)
{
    char tag[32];

    snprintf(tag, sizeof(tag), "thread %d", number);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Session session;
        MPI_Group group;
        MPI_Comm comm;

        CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) ==
              MPI_SUCCESS);
        CHECK(MPI_Group_from_session_pset(session, "mpi://SELF", &group) == MPI_SUCCESS);
        CHECK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                         &comm) == MPI_SUCCESS);
        CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
        talk(comm, number * ROUNDS + i);
        CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
        CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    }
}

static void *run(void *arg)
{
    open_and_close();
    open_and_talk((int)(intptr_t)arg);
    open_and_close();
    return NULL;
}

/* ---- between ranks ---- */

static MPI_Comm make_comm_of_all(MPI_Session session, int number, int turn)
{
    char tag[64];
    MPI_Group group;
    MPI_Comm comm;

    snprintf(tag, sizeof(tag), "all, thread %d, session %d", number, turn);
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL,
                                     &comm) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    return comm;
}

static void pass_round(MPI_Comm comm, int number)
{
    int rank;
    int size;
    int left;

    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(comm, &size) == MPI_SUCCESS);
    left = (rank + size - 1) % size;
    for (int i = 0; i < ROUND_TRIPS; i++) {
        const int mine = rank * ROUND_TRIPS + i;
        int word = -1;

        CHECK(MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, number, &word, 1,
                           MPI_INT, left, number, comm,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(word == left * ROUND_TRIPS + i);
    }
}

static void *exchange(void *arg)
{
    const int number = (int)(intptr_t)arg;

    for (int i = 0; i < SESSIONS; i++) {
        MPI_Session session;
        MPI_Comm comm;

        CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) ==
              MPI_SUCCESS);
        comm = make_comm_of_all(session, number, i);
        pass_round(comm, number);
        CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
        CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    }
    return NULL;
}

static void run_threads(void *(*what)(void *arg))
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, what, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
}

int main(void)
{
    run_threads(run);
    run_threads(exchange);
    return 0;
}
