/*
 * coll_forced.c - an algorithm that is forced is the one that runs: an allgather of one
 * number makes every rank send so many messages. Of several numbers the first is that of
 * rank 0, the second that of rank 1, and so on, and again from the first one on.
 *
 *     WEFT_COLL=allgather=ring mpiexec -n 5 coll_forced 4
 */
#include "check.h"

int main(int argc, char **argv)
{
    unsigned long long before = 0;
    unsigned long long sent = 0;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    int all[64];
    int provided;
    int index;
    int count;
    int rank;
    int size;

    CHECK(argc >= 2);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= 64);
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_get_index("messages_sent", MPI_T_PVAR_CLASS_COUNTER, &index) ==
          MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD); /* meets all */
    CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(session, handle, &before) == MPI_SUCCESS);
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
    CHECK(MPI_T_pvar_read(session, handle, &sent) == MPI_SUCCESS);
    CHECK(sent - before == strtoull(argv[1 + rank % (argc - 1)], NULL, 10));
    for (int i = 0; i < size; i++) {
        CHECK(all[i] == i);
    }
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    MPI_Finalize();
    return 0;
}
