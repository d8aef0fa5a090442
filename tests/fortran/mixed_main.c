/* mixed_main.c - C initialises MPI; handles and attributes are shared with Fortran. With
 * an argument, other values of LOGICAL are set before, which Fortran has to refuse. */
#include <mpi.h>

#include <stdio.h>

void fortran_part_(const int *comm, int *errors);
void look_from_c_(const int *comm, const int *keyval, int *errors);

void look_from_c_(const int *comm, const int *keyval, int *errors)
{
    MPI_Aint *value;
    int flag;

    MPI_Comm_get_attr(MPI_Comm_fromint(*comm), *keyval, &value, &flag);
    *errors += !flag || *value != 77;
    MPI_Comm_set_attr(MPI_Comm_fromint(*comm), *keyval, (void *)4096);
}

int main(int argc, char **argv)
{
    int is_true = -1;
    int is_false = 0;
    int errors = 0;
    MPI_Comm comm;
    int number;
    int rank;

    (void)argv;
    MPI_Init(NULL, NULL);
    if (argc > 1) {
        MPI_Abi_set_fortran_booleans(4, &is_true, &is_false);
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    number = MPI_Comm_toint(comm);
    fortran_part_(&number, &errors);
    MPI_Comm_free(&comm);
    if (errors == 0 && rank == 0) {
        printf("passed\n");
    }
    MPI_Finalize();
    return errors != 0;
}
