/* address.c - chapter 5: addresses and their arithmetic. */
#include "check.h"

int main(int argc, char **argv)
{
    char place[16];
    MPI_Aint a;
    MPI_Aint b;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Get_address(&place[0], &a) == MPI_SUCCESS);
    CHECK(MPI_Get_address(&place[13], &b) == MPI_SUCCESS);
    CHECK(MPI_Aint_diff(b, a) == 13);
    CHECK(MPI_Aint_add(a, 13) == b);
    CHECK(MPI_Aint_add(b, -13) == a);
    CHECK(MPI_Get_address(MPI_BOTTOM, &a) == MPI_SUCCESS && a == 0);
    IS_ERROR(MPI_Get_address(place, NULL), MPI_ERR_ARG);
    return MPI_Finalize();
}
