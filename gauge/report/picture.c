/*
 * picture.c - the picture that a pattern asked for: two quantities over a condition.
 */
#include "gauge/report/plot.h"
#include "gauge/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char marks[] = {'o', 'x'};

/* The value of a condition, or not a number. */
static double condition(const struct gauge_point *point, const char *key)
{
    for (int i = 0; i < GAUGE_KEYS && point->key[i].key != NULL; i++) {
        if (strcmp(point->key[i].key, key) == 0) {
            return point->key[i].value;
        }
    }
    return NAN;
}

static size_t gather(const struct gauge_report *report, struct gauge_dot *dots)
{
    const struct gauge_picture *picture = &report->picture;
    size_t count = 0;

    for (size_t i = 0; i < report->row_count; i++) {
        const struct gauge_row *row = &report->rows[i];

        for (int k = 0; k < 2; k++) {
            if (strcmp(row->point.name, picture->name[k]) == 0) {
                dots[count++] = (struct gauge_dot){condition(&row->point, picture->key),
                                                   row->summary.median, row->summary.low,
                                                   row->summary.high, marks[k]};
            }
        }
    }
    return count;
}

void gauge_picture_draw(const struct gauge_report *report, FILE *out)
{
    const struct gauge_picture *picture = &report->picture;
    struct gauge_plot plot = {picture->title, picture->key, gauge_time_text,
                              gauge_time_text};
    struct gauge_dot *dots = NULL;

    if (picture->title == NULL) {
        return;
    }
    dots = calloc(report->row_count + 1, sizeof(*dots));
    if (dots != NULL) {
        gauge_plot_draw(&plot, dots, gather(report, dots), out);
        fprintf(out, "%14s%c %s   %c %s   * both\n", "", marks[0], picture->name[0],
                marks[1], picture->name[1]);
    }
    free(dots);
}
