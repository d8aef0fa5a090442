/*
 * workers.c - a master hands out pieces of work of unequal cost to workers.
 *
 * Rank 0 is the master. It receives from MPI_ANY_SOURCE, so that the next piece goes to
 * whichever worker has finished first. The tag says what a message is: a piece to
 * compute, the order to stop, or a result. A worker's first message asks for work and has
 * the result 0. Where there is one rank only, the master computes all pieces itself.
 *
 * The work is the integral of 1 / (x x + w w) from -1 to 1, whose peak at 0 makes the
 * pieces in the middle cost more. The program works with any number of ranks.
 *
 *     mpicc workers.c -o workers -lm
 *     mpiexec -n 4 ./workers
 *
 * Rank 0 prints the integral and its error against 2 / w arctan(1 / w):
 *
 *     200 pieces by 3 workers: integral 3139.5927, relative error 8.4e-13
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>

enum { MASTER = 0, PIECES = 200 };

enum tag { WORK, STOP, RESULT };

static const double w = 1e-3;

static double f(double x)
{
    return 1 / (x * x + w * w);
}

/* Integrates by Simpson's rule, and halves the interval until the rule is exact enough.
 */
static double integrate(double from, double to, double tolerance)
{
    const double middle = (from + to) / 2;
    const double h = (to - from) / 6;
    const double whole = h * (f(from) + 4 * f(middle) + f(to));
    const double left = h / 2 * (f(from) + 4 * f((from + middle) / 2) + f(middle));
    const double right = h / 2 * (f(middle) + 4 * f((middle + to) / 2) + f(to));

    if (fabs(left + right - whole) <= tolerance) {
        return left + right;
    }
    return integrate(from, middle, tolerance / 2) + integrate(middle, to, tolerance / 2);
}

static double compute(int piece)
{
    const double width = 2.0 / PIECES;

    return integrate(-1 + width * piece, -1 + width * (piece + 1), 1e-9);
}

/* Answers each worker with a piece, or with the order to stop. Returns the integral. */
static double lead(int workers)
{
    double integral = 0;
    int next = 0;

    while (workers > 0) {
        MPI_Status status;
        double result;
        enum tag tag = WORK;

        MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
        integral += result;
        if (next == PIECES) {
            tag = STOP;
            workers--;
        }
        MPI_Send(&next, 1, MPI_INT, status.MPI_SOURCE, tag, MPI_COMM_WORLD);
        next += tag == WORK;
    }
    return integral;
}

/* Asks for work and sends results, until the master orders to stop. */
static void work(void)
{
    MPI_Status status;
    double result = 0;
    int piece;

    for (;;) {
        MPI_Send(&result, 1, MPI_DOUBLE, MASTER, RESULT, MPI_COMM_WORLD);
        MPI_Recv(&piece, 1, MPI_INT, MASTER, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP) {
            return;
        }
        result = compute(piece);
    }
}

int main(int argc, char **argv)
{
    const double expected = 2 / w * atan(1 / w);
    double integral = 0;
    double error = 0;
    int rank;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != MASTER) {
        work();
    } else {
        for (int piece = 0; size == 1 && piece < PIECES; piece++) {
            integral += compute(piece);
        }
        integral += lead(size - 1);
        error = fabs(integral - expected) / expected;
        printf("%d pieces by %d workers: integral %.4f, relative error %.1e\n", PIECES,
               size > 1 ? size - 1 : 1, integral, error);
    }
    MPI_Bcast(&error, 1, MPI_DOUBLE, MASTER, MPI_COMM_WORLD);
    MPI_Finalize();
    return !(error < 1e-9);
}
