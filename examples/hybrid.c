/*
 * hybrid.c - threads of OpenMP that compute together, and send and receive at once.
 *
 * A program whose threads call MPI at the same time asks for MPI_THREAD_MULTIPLE and
 * checks that it got it. Each thread of each rank integrates its own piece of
 * 4 / (1 + x x) from 0 to 1. Then thread t of all ranks pass their pieces around a ring;
 * the tag t keeps the rings of different threads apart. At the end OpenMP adds up the
 * sums of the threads. The program works with any number of ranks.
 *
 *     mpicc -fopenmp hybrid.c -o hybrid -lm
 *     mpiexec -n 4 ./hybrid
 *
 * Each rank checks the integral against pi. Rank 0 prints it and the largest error:
 *
 *     4 ranks of 2 threads: 3.141592653590, largest error 9.7e-14
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { THREADS = 2, POINTS = 1000000 };

static const double pi = 3.14159265358979323846;

/* The integral over piece `piece` of `pieces`, by the midpoint rule. */
static double integrate(int piece, int pieces)
{
    const int begin = (int)((long long)POINTS * piece / pieces);
    const int end = (int)((long long)POINTS * (piece + 1) / pieces);
    double sum = 0;

    for (int i = begin; i < end; i++) {
        const double x = (i + 0.5) / POINTS;

        sum += 4 / (1 + x * x) / POINTS;
    }
    return sum;
}

/* Adds up the values of all ranks, which go around a ring in messages with this tag. */
static double sum_around(double value, int tag, int rank, int size)
{
    double sum = 0;

    for (int step = 0; step < size; step++) {
        MPI_Sendrecv_replace(&value, 1, MPI_DOUBLE, (rank + 1) % size, tag,
                             (rank + size - 1) % size, tag, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        sum += value;
    }
    return sum;
}

int main(int argc, char **argv)
{
    double integral = 0;
    double error;
    int provided;
    int wrong;
    int rank;
    int size;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided < MPI_THREAD_MULTIPLE) {
        fprintf(stderr, "this MPI does not let several threads call it at once\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
#pragma omp parallel for num_threads(THREADS) schedule(static, 1) reduction(+ : integral)
    for (int thread = 0; thread < THREADS; thread++) {
        const double own = integrate(rank * THREADS + thread, size * THREADS);

        integral += sum_around(own, thread, rank, size);
    }
    error = fabs(integral - pi);
    wrong = !(error < 1e-11);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%d ranks of %d threads: %.12f, largest error %.1e\n", size, THREADS,
               integral, error);
    }
    MPI_Finalize();
    return wrong > 0;
}
