/*
 * tour.c - what weft-gauge does when it is told nothing: it shows itself.
 */
#include "gauge/tour.h"

#include "gauge/report/plot.h"

#include <stdlib.h>

const char *const gauge_tour_words[] = {
    "weft-gauge", "run", "one_one", "shm", "--sizes", "1,8,64:1M", "--time", "0.55",
};
const int gauge_tour_count = sizeof(gauge_tour_words) / sizeof(*gauge_tour_words);

static void rate_text(double megabytes, char *text, size_t size)
{
    snprintf(text, size, "%.3g %s", megabytes >= 999.5 ? megabytes / 1e3 : megabytes,
             megabytes >= 999.5 ? "GB/s" : "MB/s");
}

static int compare(const void *a, const void *b)
{
    double x = ((const struct gauge_dot *)a)->x;
    double y = ((const struct gauge_dot *)b)->x;

    return (x > y) - (x < y);
}

static void draw(const struct gauge_report *report, FILE *out)
{
    struct gauge_plot latency = {"time of one message", "message size", gauge_bytes_text,
                                 gauge_time_text};
    struct gauge_plot rate = {"bandwidth", "message size", gauge_bytes_text, rate_text};
    struct gauge_dot *dots = calloc(report->row_count + 1, sizeof(*dots));

    for (size_t i = 0; dots != NULL && i < report->row_count; i++) {
        const struct gauge_row *row = &report->rows[i];

        dots[i] = (struct gauge_dot){(double)row->point.size, row->summary.median,
                                     row->summary.low, row->summary.high, 0};
    }
    if (dots != NULL) {
        qsort(dots, report->row_count, sizeof(*dots), compare);
        gauge_plot_draw(&latency, dots, report->row_count, out);
        for (size_t i = 0; i < report->row_count; i++) {
            struct gauge_dot *dot = &dots[i];
            double slow = dot->low;

            dot->y = dot->x / dot->y * 1e3;
            dot->low = dot->x / dot->high * 1e3;
            dot->high = dot->x / slow * 1e3;
        }
        gauge_plot_draw(&rate, dots, report->row_count, out);
    }
    free(dots);
}

void gauge_tour_finish(const struct gauge_report *report, FILE *out)
{
    draw(report, out);
    fprintf(out,
            "\nThis was shared memory on this machine: two processes, one cache line.\n"
            "Three things to try next:\n"
            "  weft-gauge run one_one tcp                the same over sockets\n"
            "  weft-gauge run loggp sim --spread 0.05    a network that is known\n"
            "  weft-gauge describe loggp                 how it measures, with the "
            "formula\n");
}
