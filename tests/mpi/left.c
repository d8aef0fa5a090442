/*
 * left.c - chapter 11.3: a process whose last session is finalized may end while others
 * go on, be it that its connections end with it.
 *
 *   left
 *
 * Rank 0 leaves and ends. Rank 1 receives from any source what rank 2 sends two seconds
 * later: nothing has failed. Over a network, where the end of rank 0 can be seen, rank 1
 * is told that a receive which names rank 0 will never complete.
 */
#include "check.h"

#include <string.h>
#include <unistd.h>

enum { TAG = 1, NEVER = 2, LATER = 3 };

static MPI_Session session;

static MPI_Comm open_world(void)
{
    MPI_Group group;
    MPI_Comm comm;

    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, "left", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                     &comm) == MPI_SUCCESS);
    MPI_Group_free(&group);
    return comm;
}

static void outlive_rank_0(MPI_Comm comm)
{
    const char *transport = getenv("WEFT_TRANSPORT");
    MPI_Request never;
    int word = 0;
    int class;

    CHECK(MPI_Irecv(&class, 1, MPI_INT, 0, NEVER, comm, &never) == MPI_SUCCESS);
    CHECK(MPI_Recv(&word, 1, MPI_INT, 0, TAG, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, LATER, comm, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(word == 2);
    if (transport != NULL && strcmp(transport, "msg") == 0) {
        MPI_Error_class(MPI_Wait(&never, MPI_STATUS_IGNORE), &class);
        CHECK(class == MPI_ERR_PROC_ABORTED);
    } else {
        CHECK(MPI_Cancel(&never) == MPI_SUCCESS);
        CHECK(MPI_Wait(&never, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
}

int main(void)
{
    MPI_Comm comm = open_world();
    int rank;

    MPI_Comm_rank(comm, &rank);
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    if (rank == 0) {
        CHECK(MPI_Send(&rank, 1, MPI_INT, 1, TAG, comm) == MPI_SUCCESS);
    } else if (rank == 1) {
        outlive_rank_0(comm);
    } else if (rank == 2) {
        sleep(2);
        CHECK(MPI_Send(&rank, 1, MPI_INT, 1, LATER, comm) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    return 0;
}
