/*
 * plot.h - a picture in the terminal, without help: both axes by powers, an interval as a
 * bar, its median as a circle or the mark of its dot; a star where two of them meet.
 */
#ifndef GAUGE_PLOT_H
#define GAUGE_PLOT_H

#include <stddef.h>
#include <stdio.h>

struct gauge_plot {
    const char *title;
    const char *x_title;
    void (*x_text)(double x, char *text, size_t size); /* the labels of an axis */
    void (*y_text)(double y, char *text, size_t size);
};

struct gauge_dot {
    double x;
    double y;
    double low, high; /* not a number: no bar */
    char mark;        /* 0: a circle */
};

/* Dots whose x or y is not above 0 are left out; nothing is drawn without any. */
void gauge_plot_draw(const struct gauge_plot *plot, const struct gauge_dot *dots,
                     size_t count, FILE *out);

#endif
