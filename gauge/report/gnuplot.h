/*
 * gnuplot.h - a picture as a file, SVG or PNG, drawn by gnuplot where there is one.
 *
 * Times over what was varied (the size, or else the first condition that has several
 * values), a line for each quantity and end, intervals as bars; beside it the rates, if
 * there are any. A fitted gap is drawn in over the sizes it holds for.
 */
#ifndef GAUGE_GNUPLOT_H
#define GAUGE_GNUPLOT_H

#include "gauge/report/report.h"

/* Before the run: false, reported, if there is no gnuplot, the name does not end in .svg
 * or .png, or the file exists. Otherwise the file is there, empty. */
bool gauge_gnuplot_reserve(const char *file);

/* false, reported, when gnuplot fails. */
bool gauge_gnuplot_draw(const struct gauge_report *report, const char *file);

#endif
