/* init.c - chapter 11: what may be called when, and what it answers. */
#include "check.h"

#include <pthread.h>

static void *ask_from_another_thread(void *flag)
{
    CHECK(MPI_Is_thread_main(flag) == MPI_SUCCESS);
    return NULL;
}

static void before_init(void)
{
    int flag = 7;

    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag == 0);
}

static void threads(int provided)
{
    int level = -1;
    int flag = -1;
    pthread_t thread;

    CHECK(provided == MPI_THREAD_FUNNELED);
    CHECK(MPI_Query_thread(&level) == MPI_SUCCESS && level == provided);
    CHECK(MPI_Is_thread_main(&flag) == MPI_SUCCESS && flag == 1);
    CHECK(pthread_create(&thread, NULL, ask_from_another_thread, &flag) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(flag == 0);
}

int main(int argc, char **argv)
{
    int provided = -1;
    int rank = -1;
    int size = -1;
    int flag = -1;

    before_init();
    if (argc > 1 && strcmp(argv[1], "thread") == 0) {
        CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS);
        threads(provided);
    } else {
        CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    }
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag == 1);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag == 0);

    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS && size >= 1);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(rank >= 0 && rank < size);
    CHECK(MPI_Comm_size(MPI_COMM_SELF, &size) == MPI_SUCCESS && size == 1);
    CHECK(MPI_Comm_rank(MPI_COMM_SELF, &rank) == MPI_SUCCESS && rank == 0);

    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    IS_ERROR(MPI_Init(NULL, NULL), MPI_ERR_OTHER); /* only once */
    IS_ERROR(MPI_Query_thread(NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Is_thread_main(NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Initialized(NULL), MPI_ERR_ARG);

    CHECK(MPI_Finalize() == MPI_SUCCESS);
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && flag == 1);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag == 1);
    return 0;
}
