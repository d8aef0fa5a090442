/*
 * conjugate_gradient.c - the Laplace equation on a square by conjugate gradients.
 *
 * The solver needs two things from MPI: for each product of the matrix and a vector, the
 * nearest row of each of two neighbours (MPI_Sendrecv), and for each product of two
 * vectors, a sum over all ranks (MPI_Allreduce). The values on the edge are those of
 * u = x y, which is also the solution inside. poisson.f90 solves the same equation in
 * Fortran, with blocks in place of rows. The program works with 1 to 64 ranks.
 *
 *     mpicc conjugate_gradient.c -o conjugate_gradient -lm
 *     mpiexec -n 4 ./conjugate_gradient
 *
 * Rank 0 prints the number of steps and the error (root mean square):
 *
 *     4 ranks, 249 steps: mean error 4.0e-13
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 64, WIDTH = CELLS + 2, MOST_STEPS = 400 };

/* A vector has our rows, 1 to `rows`, and one row of each neighbour. */
static int rows;
static int above; /* the neighbours, or MPI_PROC_NULL */
static int below;
typedef double row[WIDTH];

static row *new_vector(void)
{
    row *vector = calloc((size_t)rows + 2, sizeof(*vector));

    if (rows == 0 || vector == NULL) {
        fprintf(stderr, "a rank has no rows or no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return vector;
}

/* Sets `out` to the matrix times `v`: four times each value, less its four neighbours.
 */
static void multiply(row *out, row *v)
{
    MPI_Sendrecv(v[rows], WIDTH, MPI_DOUBLE, below, 0, v[0], WIDTH, MPI_DOUBLE, above, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(v[1], WIDTH, MPI_DOUBLE, above, 1, v[rows + 1], WIDTH, MPI_DOUBLE, below,
                 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 1; i <= rows; i++) {
        for (int j = 1; j <= CELLS; j++) {
            out[i][j] =
                4 * v[i][j] - v[i - 1][j] - v[i + 1][j] - v[i][j - 1] - v[i][j + 1];
        }
    }
}

/* The scalar product over all ranks. Each rank gets the same value. */
static double dot(row *a, row *b)
{
    double sum = 0;

    for (int i = 1; i <= rows; i++) {
        for (int j = 1; j <= CELLS; j++) {
            sum += a[i][j] * b[i][j];
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

/* Sets a = x a + y b. */
static void combine(double x, row *a, double y, row *b)
{
    for (int i = 1; i <= rows; i++) {
        for (int j = 1; j <= CELLS; j++) {
            a[i][j] = x * a[i][j] + y * b[i][j];
        }
    }
}

/* Improves `u`, whose edge is known, until the residual is small. Returns the steps. */
static int solve(row *u)
{
    row *r = new_vector(); /* the residual */
    row *p = new_vector(); /* the direction of the next step */
    row *ap = new_vector();
    double before;
    int step;

    multiply(ap, u);
    combine(0, r, -1, ap);
    combine(0, p, 1, r);
    before = dot(r, r);
    for (step = 0; sqrt(before) > 1e-11 && step < MOST_STEPS; step++) {
        double length;
        double now;

        multiply(ap, p);
        length = before / dot(p, ap);
        combine(1, u, length, p);
        combine(1, r, -length, ap);
        now = dot(r, r);
        combine(now / before, p, 1, r);
        before = now;
    }
    free(r);
    free(p);
    free(ap);
    return step;
}

int main(int argc, char **argv)
{
    row *exact;
    row *u;
    double error;
    int first;
    int steps;
    int rank;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    first = CELLS * rank / size;
    rows = CELLS * (rank + 1) / size - first;
    above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    below = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
    exact = new_vector();
    u = new_vector();
    for (int i = 0; i <= rows + 1; i++) {
        for (int j = 0; j < WIDTH; j++) {
            const int y = first + i;
            const int is_edge = y % (CELLS + 1) == 0 || j % (CELLS + 1) == 0;

            exact[i][j] = (double)(y * j) / (CELLS + 1) / (CELLS + 1);
            u[i][j] = is_edge ? exact[i][j] : 0;
        }
    }
    steps = solve(u);
    combine(-1, exact, 1, u);
    error = sqrt(dot(exact, exact)) / CELLS;
    if (rank == 0) {
        printf("%d ranks, %d steps: mean error %.1e\n", size, steps, error);
    }
    free(exact);
    free(u);
    MPI_Finalize();
    return !(error < 1e-9);
}
