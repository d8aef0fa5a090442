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
    return MPI_Finalize();
}
