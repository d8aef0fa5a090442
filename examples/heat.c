/*
 * heat.c - the heat equation on a square, with messages that travel during the
 * computation.
 *
 * The rows of the square are divided among the ranks. A rank needs the nearest row of
 * each neighbour, its halo. In each step it starts to receive the halo and to send its
 * own outer rows, computes the rows that need no halo, waits for the messages, and
 * computes its outer rows last. An MPI that makes progress during the computation, as
 * Weft does, hides the time of the messages behind it.
 *
 * The square begins with the temperature sin(pi x) sin(pi y) and is kept at 0 on its
 * edge. Each step multiplies this field by a constant, so the exact result is known. The
 * program works with 1 to 200 ranks.
 *
 *     mpicc heat.c -o heat -lm
 *     mpiexec -n 4 ./heat
 *
 * Rank 0 prints the error (root mean square):
 *
 *     4 ranks, 500 steps: mean error 9.9e-15
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

/* The square has CELLS rows and columns. A row has an edge cell at each end. */
enum { CELLS = 200, WIDTH = CELLS + 2, STEPS = 500 };

static const double pi = 3.14159265358979323846;
static const double speed = 0.2; /* time step * conductivity / width of a cell squared */

/* The part of the square that this rank has: `rows` rows from `first` on. */
struct part {
    int rows;
    int first;
    int above; /* the rank that has the rows before ours, or MPI_PROC_NULL */
    int below; /* the rank that has the rows after ours, or MPI_PROC_NULL */
};

/* The temperature at the beginning. Row 0 is the halo above the part. */
static double start_at(const struct part *part, int row, int column)
{
    const double h = pi / (CELLS + 1);

    return sin(h * (part->first + row)) * sin(h * column);
}

/* Computes the rows from `first` to `last`. Each needs the rows before and after it. */
static void compute(double (*next)[WIDTH], double (*now)[WIDTH], int first, int last)
{
    for (int i = first; i <= last; i++) {
        for (int j = 1; j <= CELLS; j++) {
            next[i][j] =
                now[i][j] + speed * (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] +
                                     now[i][j + 1] - 4 * now[i][j]);
        }
    }
}

static void step(const struct part *part, double (*next)[WIDTH], double (*now)[WIDTH])
{
    const int rows = part->rows;
    MPI_Request requests[4];

    MPI_Irecv(now[0], WIDTH, MPI_DOUBLE, part->above, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(now[rows + 1], WIDTH, MPI_DOUBLE, part->below, 1, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Isend(now[1], WIDTH, MPI_DOUBLE, part->above, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(now[rows], WIDTH, MPI_DOUBLE, part->below, 0, MPI_COMM_WORLD, &requests[3]);
    compute(next, now, 2, rows - 1); /* while the messages are on their way */
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    compute(next, now, 1, 1);
    if (rows > 1) {
        compute(next, now, rows, rows);
    }
}

/* The difference from the exact result: the root of the mean square. */
static double mean_error(const struct part *part, double (*field)[WIDTH])
{
    const double s = sin(pi / (2 * (CELLS + 1)));
    const double factor = pow(1 - 8 * speed * s * s, STEPS);
    double sum = 0;

    for (int i = 1; i <= part->rows; i++) {
        for (int j = 1; j <= CELLS; j++) {
            const double error = field[i][j] - factor * start_at(part, i, j);

            sum += error * error;
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sqrt(sum) / CELLS;
}

int main(int argc, char **argv)
{
    double(*now)[WIDTH];
    double(*next)[WIDTH];
    struct part part;
    double error;
    int rank;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    part.first = CELLS * rank / size;
    part.rows = CELLS * (rank + 1) / size - part.first;
    part.above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    part.below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    now = calloc((size_t)part.rows + 2, sizeof(*now));
    next = calloc((size_t)part.rows + 2, sizeof(*next));
    if (part.rows == 0 || now == NULL || next == NULL) {
        fprintf(stderr, "rank %d has no rows or no memory\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 1; i <= part.rows; i++) {
        for (int j = 1; j <= CELLS; j++) {
            now[i][j] = start_at(&part, i, j);
        }
    }
    for (int i = 0; i < STEPS; i++) {
        double(*swapped)[WIDTH] = now;

        step(&part, next, now);
        now = next;
        next = swapped;
    }
    error = mean_error(&part, now);
    if (rank == 0) {
        printf("%d ranks, %d steps: mean error %.1e\n", size, STEPS, error);
    }
    free(now);
    free(next);
    MPI_Finalize();
    return !(error < 1e-12);
}
