/* grequest.c - chapter 13.2: generalized requests in every call that completes. */
#include "check.h"

#include <pthread.h>
#include <unistd.h>

/* What a request of ours is about, and what its callbacks have seen. */
struct work {
    MPI_Request request;
    int queries;
    int frees;
    int cancels;
    int was_complete;
    int query_answer;
    int free_answer;
};

static int on_query(void *state, MPI_Status *status)
{
    struct work *w = state;
    int rank;

    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS); /* MPI may be called */
    w->queries++;
    CHECK(MPI_Status_set_elements(status, MPI_INT, 11) == MPI_SUCCESS);
    CHECK(MPI_Status_set_cancelled(status, w->cancels > 0) == MPI_SUCCESS);
    status->MPI_SOURCE = 5;
    status->MPI_TAG = 6;
    return w->query_answer;
}

static int on_free(void *state)
{
    struct work *w = state;

    w->frees++;
    return w->free_answer;
}

static int on_cancel(void *state, int complete)
{
    struct work *w = state;

    w->cancels++;
    w->was_complete = complete;
    return MPI_SUCCESS;
}

static void start(struct work *w)
{
    *w = (struct work){.request = MPI_REQUEST_NULL};
    CHECK(MPI_Grequest_start(on_query, on_free, on_cancel, w, &w->request) ==
          MPI_SUCCESS);
    CHECK(w->request != MPI_REQUEST_NULL);
}

static void status_is_ours(const MPI_Status *status)
{
    int count = -1;

    CHECK(status->MPI_SOURCE == 5 && status->MPI_TAG == 6);
    CHECK(MPI_Get_count(status, MPI_INT, &count) == MPI_SUCCESS && count == 11);
}

static void alone(void)
{
    struct work w;
    MPI_Status status = {.MPI_ERROR = 777};
    int flag = -1;

    start(&w);
    CHECK(MPI_Test(&w.request, &flag, &status) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Request_get_status(w.request, &flag, &status) == MPI_SUCCESS && flag == 0);
    CHECK(w.queries == 0);
    CHECK(MPI_Grequest_complete(w.request) == MPI_SUCCESS);
    CHECK(w.queries == 0 && w.frees == 0);
    CHECK(MPI_Request_get_status(w.request, &flag, &status) == MPI_SUCCESS && flag == 1);
    CHECK(w.queries == 1 && w.frees == 0);
    status_is_ours(&status);
    memset(&status, 0, sizeof(status));
    status.MPI_ERROR = 777;
    CHECK(MPI_Wait(&w.request, &status) == MPI_SUCCESS && w.request == MPI_REQUEST_NULL);
    CHECK(w.queries == 2 && w.frees == 1 && status.MPI_ERROR == 777);
    status_is_ours(&status);

    start(&w);
    CHECK(MPI_Grequest_complete(w.request) == MPI_SUCCESS);
    CHECK(MPI_Test(&w.request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 1);
    CHECK(w.queries == 1 && w.frees == 1);
}

/* Beside a receive from ourselves, in the calls for several. */
static void with_others(void)
{
    struct work w;
    MPI_Request both[2];
    MPI_Status statuses[2];
    int indices[2];
    int value = -1;
    int one = 1;
    int flag = -1;
    int n = -1;

    for (int way = 0; way < 6; way++) {
        start(&w);
        both[0] = w.request;
        CHECK(MPI_Irecv(&value, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &both[1]) ==
              MPI_SUCCESS);
        CHECK(MPI_Testall(2, both, &flag, statuses) == MPI_SUCCESS && flag == 0);
        CHECK(MPI_Testany(2, both, &n, &flag, statuses) == MPI_SUCCESS && flag == 0);
        CHECK(MPI_Send(&one, 1, MPI_INT, 0, 1, MPI_COMM_SELF) == MPI_SUCCESS);
        if (way == 5) { /* the other one first */
            CHECK(MPI_Waitany(2, both, &n, statuses) == MPI_SUCCESS && n == 1);
        }
        CHECK(MPI_Grequest_complete(w.request) == MPI_SUCCESS);
        switch (way) {
        case 0:
            CHECK(MPI_Waitall(2, both, statuses) == MPI_SUCCESS);
            break;
        case 1:
            CHECK(MPI_Testall(2, both, &flag, statuses) == MPI_SUCCESS && flag == 1);
            break;
        case 2:
            CHECK(MPI_Waitsome(2, both, &n, indices, statuses) == MPI_SUCCESS && n == 2);
            break;
        case 3:
            CHECK(MPI_Testsome(2, both, &n, indices, statuses) == MPI_SUCCESS && n == 2);
            break;
        case 4:
            CHECK(MPI_Request_get_status_all(2, both, &flag, statuses) == MPI_SUCCESS);
            CHECK(flag == 1 && w.queries == 1 && w.frees == 0);
            CHECK(MPI_Waitany(2, both, &n, statuses) == MPI_SUCCESS && n == 0);
            CHECK(MPI_Wait(&both[1], MPI_STATUS_IGNORE) == MPI_SUCCESS);
            break;
        default:
            CHECK(MPI_Testany(2, both, &n, &flag, statuses) == MPI_SUCCESS && n == 0);
            break;
        }
        CHECK(both[0] == MPI_REQUEST_NULL && both[1] == MPI_REQUEST_NULL);
        CHECK(w.frees == 1 && value == 1);
        status_is_ours(&statuses[0]);
    }
}

/* What callbacks return is what the call gives; the request is gone nevertheless. */
static void errors_of_callbacks(void)
{
    struct work w;
    MPI_Request both[2];
    MPI_Status statuses[2];

    start(&w);
    w.query_answer = MPI_ERR_IO;
    w.free_answer = MPI_ERR_QUOTA;
    CHECK(MPI_Grequest_complete(w.request) == MPI_SUCCESS);
    IS_ERROR(MPI_Wait(&w.request, MPI_STATUS_IGNORE), MPI_ERR_IO);
    CHECK(w.frees == 1 && w.request == MPI_REQUEST_NULL);

    start(&w);
    w.free_answer = MPI_ERR_QUOTA;
    CHECK(MPI_Grequest_complete(w.request) == MPI_SUCCESS);
    both[0] = MPI_REQUEST_NULL;
    both[1] = w.request;
    IS_ERROR(MPI_Waitall(2, both, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[1].MPI_ERROR == MPI_ERR_QUOTA);
    CHECK(both[1] == MPI_REQUEST_NULL);

    start(&w);
    CHECK(MPI_Grequest_complete(w.request) == MPI_SUCCESS);
    IS_ERROR(MPI_Grequest_complete(w.request), MPI_ERR_REQUEST); /* twice */
    CHECK(MPI_Wait(&w.request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    IS_ERROR(MPI_Grequest_complete(MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    IS_ERROR(MPI_Grequest_start(NULL, on_free, on_cancel, &w, &w.request), MPI_ERR_ARG);
    IS_ERROR(MPI_Grequest_start(on_query, on_free, on_cancel, &w, NULL), MPI_ERR_ARG);
    CHECK(MPI_Irecv(&w, 0, MPI_INT, 0, 1, MPI_COMM_SELF, &both[0]) == MPI_SUCCESS);
    IS_ERROR(MPI_Grequest_complete(both[0]), MPI_ERR_REQUEST);
    CHECK(MPI_Cancel(&both[0]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&both[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

static void freed_and_cancelled(void)
{
    struct work w;
    MPI_Request kept;
    MPI_Status status;
    int flag = -1;

    start(&w); /* freed first: cleaned up on completion */
    kept = w.request;
    CHECK(MPI_Request_free(&w.request) == MPI_SUCCESS && w.request == MPI_REQUEST_NULL);
    CHECK(w.frees == 0);
    CHECK(MPI_Grequest_complete(kept) == MPI_SUCCESS && w.frees == 1 && w.queries == 0);
    IS_ERROR(MPI_Grequest_complete(kept), MPI_ERR_REQUEST);

    start(&w); /* complete first: cleaned up when it is freed */
    CHECK(MPI_Grequest_complete(w.request) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&w.request) == MPI_SUCCESS && w.frees == 1 && w.queries == 0);

    start(&w);
    CHECK(MPI_Cancel(&w.request) == MPI_SUCCESS);
    CHECK(w.cancels == 1 && w.was_complete == 0);
    CHECK(MPI_Grequest_complete(w.request) == MPI_SUCCESS);
    CHECK(MPI_Cancel(&w.request) == MPI_SUCCESS && w.was_complete == 1);
    CHECK(MPI_Wait(&w.request, &status) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &flag) == MPI_SUCCESS && flag == 1);
}

/* Completed by another thread, while we sleep. */
static void *complete_later(void *state)
{
    struct work *w = state;

    usleep(20000);
    CHECK(MPI_Grequest_complete(w->request) == MPI_SUCCESS);
    return NULL;
}

static void by_another_thread(void)
{
    struct work w;
    MPI_Request one;
    pthread_t thread;
    int index = -1;

    for (int way = 0; way < 2; way++) {
        start(&w);
        one = w.request;
        CHECK(pthread_create(&thread, NULL, complete_later, &w) == 0);
        if (way == 0) {
            CHECK(MPI_Wait(&one, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Waitany(1, &one, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(index == 0);
        }
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(w.queries == 1 && w.frees == 1);
    }
}

int main(void)
{
    int provided = -1;

    CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    alone();
    with_others();
    errors_of_callbacks();
    freed_and_cancelled();
    by_another_thread();
    return MPI_Finalize();
}
