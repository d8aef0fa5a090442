/*
 * work.c - see work.h.
 */
#include "gauge/patterns/work.h"

#include <math.h>

enum { TRIES = 20, LONG_ENOUGH = 100000 };

double work_speed(struct gauge_bench *bench)
{
    unsigned long loops = 1000;
    double fastest = 0;

    for (int i = 0; i < TRIES; i++) {
        double start = gauge_now(bench);
        double time = 0;

        gauge_work(bench, loops);
        time = gauge_now(bench) - start;
        if (time < LONG_ENOUGH) {
            loops *= 2;
        } else {
            fastest = fmax(fastest, (double)loops / time);
        }
    }
    return fastest > 0 ? fastest : 1;
}

unsigned long work_loops(double speed, double nanoseconds)
{
    return (unsigned long)fmax(1, round(speed * nanoseconds));
}
