/*
 * idle.c - what waiting costs: rank 1 waits in MPI_Recv for SECONDS (argument, 10) while
 * rank 0 sleeps; the processor time that rank 1 used meanwhile is the figure.
 */
#include "bench.h"
#include <sys/resource.h>
#include <unistd.h>

static double used(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1e3 +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e3;
}

int main(int argc, char **argv)
{
    bench_begin(&argc, &argv, 2);
    int seconds = argc > 1 ? atoi(argv[1]) : 10, word = 7;

    MPI_Barrier(MPI_COMM_WORLD);
    if (me == 0) {
        sleep((unsigned)seconds);
        MPI_Send(&word, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
    } else {
        double before = used();
        word = 0;
        MPI_Recv(&word, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double after = used();
        check(word == 7, "idle", "recv");
        row("idle", "recv", after - before, "ms");
    }
    MPI_Finalize();
    return 0;
}
