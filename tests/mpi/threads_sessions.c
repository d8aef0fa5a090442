/*
 * threads_sessions.c - chapter 11.3: sessions that several threads open, use and close at
 * once, without MPI_Init.
 *
 * A session is the first or the last of its process again and again, so that the library
 * opens and closes under the others. Each thread also sends itself a message by a
 * communicator of its own session, and waits for it.
 */
#include "check.h"

#include <pthread.h>
#include <stdint.h>

enum { THREADS = 3, ROUNDS = 150, EMPTY_ROUNDS = 150 };

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

int main(void)
{
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, run, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    return 0;
}
