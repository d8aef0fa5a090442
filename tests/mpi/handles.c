/* handles.c - chapter 20: handles to and from integers, before MPI_Init too. */
#include "check.h"

static void nothing(MPI_Comm *comm, int *class, ...)
{
    (void)comm;
    (void)class;
}

/* Predefined handles keep their value; what names no object becomes the null handle. */
#define ROUND_TRIP(name, handle, null_handle)                                            \
    CHECK(MPI_##name##_toint(handle) == (int)(intptr_t)(handle));                        \
    CHECK(MPI_##name##_fromint((int)(intptr_t)(handle)) == (handle));                    \
    CHECK(MPI_##name##_fromint(0x7ffffff0) == (null_handle))

static void predefined(void)
{
    ROUND_TRIP(Comm, MPI_COMM_WORLD, MPI_COMM_NULL);
    ROUND_TRIP(Errhandler, MPI_ERRORS_RETURN, MPI_ERRHANDLER_NULL);
    ROUND_TRIP(File, MPI_FILE_NULL, MPI_FILE_NULL);
    ROUND_TRIP(Group, MPI_GROUP_EMPTY, MPI_GROUP_NULL);
    ROUND_TRIP(Info, MPI_INFO_ENV, MPI_INFO_NULL);
    ROUND_TRIP(Message, MPI_MESSAGE_NO_PROC, MPI_MESSAGE_NULL);
    ROUND_TRIP(Op, MPI_SUM, MPI_OP_NULL);
    ROUND_TRIP(Request, MPI_REQUEST_NULL, MPI_REQUEST_NULL);
    ROUND_TRIP(Session, MPI_SESSION_NULL, MPI_SESSION_NULL);
    ROUND_TRIP(Type, MPI_DOUBLE, MPI_DATATYPE_NULL);
    ROUND_TRIP(Win, MPI_WIN_NULL, MPI_WIN_NULL);
}

static void return_through_integer(MPI_Request *request)
{
    const int number = MPI_Request_toint(*request);

    CHECK(MPI_Request_fromint(number) == *request);
    *request = MPI_Request_fromint(number);
}

/* The way of every Fortran binding: a send that is over when it returns, one that is not,
 * receives, persistent ones, and those of nobody. */
static void requests_survive_integers(void)
{
    MPI_Request all[8];
    int values[8] = {1, 2, 3};
    int index;
    int done = 0;

    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    MPI_Irecv(&values[4], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &all[0]);
    MPI_Irecv(&values[5], 1, MPI_INT, 0, 2, MPI_COMM_SELF, &all[1]);
    MPI_Irecv(&values[6], 1, MPI_INT, 0, 3, MPI_COMM_SELF, &all[2]);
    MPI_Isend(&values[0], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &all[3]);
    MPI_Isend(&values[1], 1, MPI_INT, 0, 2, MPI_COMM_SELF, &all[4]);
    MPI_Issend(&values[2], 1, MPI_INT, 0, 3, MPI_COMM_SELF, &all[5]);
    MPI_Isend(&values[3], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &all[6]);
    MPI_Send_init(&values[3], 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &all[7]);
    for (int i = 0; i < 8; i++) {
        return_through_integer(&all[i]);
    }
    CHECK(MPI_Request_free(&all[7]) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&all[6]) == MPI_SUCCESS);
    for (; done < 6; done++) {
        CHECK(MPI_Waitany(6, all, &index, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(index != MPI_UNDEFINED);
    }
    CHECK(values[4] == 1 && values[5] == 2 && values[6] == 3);
}

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    int number;

    predefined();
    CHECK(MPI_Comm_create_errhandler(nothing, &handler) == MPI_SUCCESS);
    number = MPI_Errhandler_toint(handler);
    CHECK(number > 4095);
    CHECK(MPI_Errhandler_fromint(number) == handler);
    CHECK(MPI_Comm_fromint(number) == MPI_COMM_NULL);

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_fromint(number) == handler);
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_fromint(number) == MPI_ERRHANDLER_NULL);
    predefined();
    requests_survive_integers();
    return MPI_Finalize();
}
