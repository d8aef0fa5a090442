/*
 * hinge.h - the line that a gap over message sizes follows, piece by piece.
 *
 * Within one protocol the gap is max(c, g + (s - 1) G): flat while a processor's overhead
 * c hides the network, then rising. Each piece is flat, rising, or a hinge of both; where
 * pieces begin is found by dynamic programming over all cuts, and how many there are by
 * the Bayesian information criterion, so that a piece is added only when it explains more
 * than chance would. Points are weighted by their intervals. Pure functions.
 */
#ifndef GAUGE_HINGE_H
#define GAUGE_HINGE_H

#include <stdbool.h>
#include <stddef.h>

enum { HINGE_POINTS = 64, HINGE_PIECES = 8 };

struct hinge_point {
    double size;  /* bytes */
    double value; /* nanoseconds */
    double half;  /* half the width of its interval, 0 when it is exact */
};

/* What is not seen in a piece is not a number. */
struct hinge_piece {
    size_t first, count;                   /* of the points */
    double flat;                           /* c */
    double gap;                            /* g */
    double byte;                           /* G */
    double flat_half, gap_half, byte_half; /* half widths at 95 % */
};

/* Fits at most HINGE_POINTS points in ascending size; how many pieces there are. */
size_t hinge_fit(const struct hinge_point *points, size_t count,
                 struct hinge_piece pieces[HINGE_PIECES]);

#endif
