/*
 * threads_objects.c - chapters 7.8 and 13.2: one thread frees or renames what another
 * uses.
 */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

enum { REQUESTS = 20000, NAMES = 2000, TAG = 3 };

/* ---- a generalized request that one thread frees while another completes it ---- */

static pthread_barrier_t both;
static MPI_Request request;
static _Atomic int freed;

static int query(void *state, MPI_Status *status)
{
    (void)state;
    (void)status;
    return MPI_SUCCESS;
}

static int count_free(void *state)
{
    (void)state;
    atomic_fetch_add(&freed, 1);
    return MPI_SUCCESS;
}

static int cancel(void *state, int is_complete)
{
    (void)state;
    (void)is_complete;
    return MPI_SUCCESS;
}

static void *complete_all(void *arg)
{
    for (int i = 0; i < REQUESTS; i++) {
        pthread_barrier_wait(&both);
        CHECK(MPI_Grequest_complete(request) == MPI_SUCCESS);
        pthread_barrier_wait(&both);
    }
    return arg;
}

/* The handle that is completed is looked up before or after it was freed; it stays valid
 * until then, because it is not complete. */
static void a_freed_request_is_cleaned_up_once(void)
{
    pthread_t thread;

    CHECK(pthread_barrier_init(&both, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, complete_all, NULL) == 0);
    for (int i = 0; i < REQUESTS; i++) {
        MPI_Request mine;

        CHECK(MPI_Grequest_start(query, count_free, cancel, NULL, &request) ==
              MPI_SUCCESS);
        mine = request;
        pthread_barrier_wait(&both);
        CHECK(MPI_Request_free(&mine) == MPI_SUCCESS);
        pthread_barrier_wait(&both);
        CHECK(atomic_load(&freed) == i + 1);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_barrier_destroy(&both) == 0);
}

/* ---- a communicator that is renamed while a thread waits on it ---- */

static void *wait_on(void *arg)
{
    MPI_Comm *comm = arg;
    int word = -1;

    for (int i = 0; i < NAMES / 10; i++) {
        CHECK(MPI_Recv(&word, 1, MPI_INT, 0, TAG, *comm, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(word == i);
    }
    return NULL;
}

static void a_waiting_thread_may_read_the_name(void)
{
    char name[MPI_MAX_OBJECT_NAME];
    pthread_t thread;
    MPI_Comm comm;

    CHECK(MPI_Comm_dup(MPI_COMM_SELF, &comm) == MPI_SUCCESS);
    CHECK(pthread_create(&thread, NULL, wait_on, &comm) == 0);
    for (int i = 0; i < NAMES; i++) {
        const int word = i / 10;

        snprintf(name, sizeof(name), "communicator number %d", i);
        CHECK(MPI_Comm_set_name(comm, name) == MPI_SUCCESS);
        if (i % 10 == 9) {
            CHECK(MPI_Send(&word, 1, MPI_INT, 0, TAG, comm) == MPI_SUCCESS);
        }
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    int provided;

    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    a_freed_request_is_cleaned_up_once();
    a_waiting_thread_may_read_the_name();
    return MPI_Finalize();
}
