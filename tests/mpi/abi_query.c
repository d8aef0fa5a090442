/* abi_query.c - chapter 20: what the ABI is here, and what a Fortran binding says. */
#include "check.h"

static int size_under(MPI_Info info, const char *key)
{
    char text[16] = "";
    int length = sizeof(text);
    int flag = 0;

    CHECK(MPI_Info_get_string(info, key, &length, text, &flag) == MPI_SUCCESS && flag);
    return atoi(text);
}

static void sizes(void)
{
    MPI_Info info;

    CHECK(MPI_Abi_get_info(&info) == MPI_SUCCESS);
    CHECK(size_under(info, "mpi_aint_size") == (int)sizeof(MPI_Aint));
    CHECK(size_under(info, "mpi_count_size") == 8);
    CHECK(size_under(info, "mpi_offset_size") == 8);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
}

static void nothing_is_known(void)
{
    MPI_Info info;
    int yes = 7;
    int no = 7;
    int is_set = -1;

    CHECK(MPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info == MPI_INFO_NULL);
    CHECK(MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set) == MPI_SUCCESS);
    CHECK(is_set == 0 && yes == 7 && no == 7);
}

static void told_once(void)
{
    MPI_Info info;
    MPI_Info known;
    int yes = -1;
    int no = 0;
    int is_set = -1;

    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "mpi_integer_size", "8") == MPI_SUCCESS);
    IS_ERROR(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI); /* impossible */
    CHECK(MPI_Info_set(info, "mpi_integer_size", "4") == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "mpi_real8_supported", "true") == MPI_SUCCESS);
    CHECK(MPI_Abi_set_fortran_info(info) == MPI_SUCCESS);
    IS_ERROR(MPI_Abi_set_fortran_info(info), MPI_ERR_ABI); /* twice */
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    CHECK(MPI_Abi_get_fortran_info(&known) == MPI_SUCCESS);
    CHECK(size_under(known, "mpi_integer_size") == 4);
    CHECK(MPI_Info_free(&known) == MPI_SUCCESS);

    IS_ERROR(MPI_Abi_set_fortran_booleans(0, &yes, &no), MPI_ERR_ARG);
    IS_ERROR(MPI_Abi_set_fortran_booleans(4, NULL, &no), MPI_ERR_ARG);
    CHECK(MPI_Abi_set_fortran_booleans(4, &yes, &no) == MPI_SUCCESS);
    IS_ERROR(MPI_Abi_set_fortran_booleans(4, &yes, &no), MPI_ERR_ABI);
    yes = no = 5;
    CHECK(MPI_Abi_get_fortran_booleans(4, &yes, &no, &is_set) == MPI_SUCCESS);
    CHECK(is_set == 1 && yes == -1 && no == 0);
    CHECK(MPI_Abi_get_fortran_booleans(8, &yes, &no, &is_set) == MPI_SUCCESS);
    CHECK(is_set == 0);
}

int main(int argc, char **argv)
{
    sizes();
    nothing_is_known();
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    sizes();
    told_once();
    IS_ERROR(MPI_Abi_get_info(NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Abi_set_fortran_info(MPI_INFO_NULL), MPI_ERR_INFO);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    sizes();
    return 0;
}
