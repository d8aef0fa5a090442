/*
 * ring.c - the ranks pass their values around a ring until each is home again.
 *
 * In each step every rank sends a value to its right neighbour and receives one from its
 * left neighbour. MPI_Sendrecv does both at once; with MPI_Send and MPI_Recv all ranks
 * could wait in MPI_Send for each other. After as many steps as there are ranks, each
 * rank has seen every value once. The program works with any number of ranks.
 *
 *     mpicc ring.c -o ring
 *     mpiexec -n 4 ./ring
 *
 * Rank 0 prints the sum that it has seen and the sum that it expects:
 *
 *     4 ranks, sum 10, expected 10, 0 wrong ranks
 */
#include <mpi.h>
#include <stdio.h>

/* Sums the values of all ranks. Sets `value` to the one that came in last. */
static long sum_around(MPI_Comm comm, long *value)
{
    long sum = 0;
    int rank;
    int size;

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int step = 0; step < size; step++) {
        const int right = (rank + 1) % size;
        const int left = (rank + size - 1) % size;
        long received;

        MPI_Sendrecv(value, 1, MPI_LONG, right, 0, &received, 1, MPI_LONG, left, 0, comm,
                     MPI_STATUS_IGNORE);
        *value = received;
        sum += received;
    }
    return sum;
}

int main(int argc, char **argv)
{
    int rank;
    int size;
    int wrong;
    long value;
    long sum;
    long expected;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    value = rank + 1;
    sum = sum_around(MPI_COMM_WORLD, &value);
    expected = (long)size * (size + 1) / 2;
    wrong = sum != expected || value != rank + 1;
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d ranks, sum %ld, expected %ld, %d wrong ranks\n", size, sum, expected,
               wrong);
    }
    MPI_Finalize();
    return wrong > 0;
}
