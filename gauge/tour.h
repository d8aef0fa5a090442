/*
 * tour.h - weft-gauge without arguments: a run of ten seconds at most, with a picture.
 */
#ifndef GAUGE_TOUR_H
#define GAUGE_TOUR_H

#include "gauge/report/report.h"

/* The command line that stands for none. */
extern const char *const gauge_tour_words[];
extern const int gauge_tour_count;

/* After its table: the pictures, and three commands to try next. */
void gauge_tour_finish(const struct gauge_report *report, FILE *out);

#endif
