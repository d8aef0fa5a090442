/*
 * loggp_fit.c - from what was measured at each size to the parameters.
 *
 * A difference of two medians has an interval whose half is the root of the sum of
 * squares of theirs. Each piece of the fit is a protocol of its own, with its own
 * overheads and latency, taken at its smallest size.
 */
#include "gauge/measure/hinge.h"
#include "gauge/patterns/loggp.h"

#include <math.h>
#include <stdio.h>

static const char biased[] = "noise-biased";

static double half_of(const struct gauge_summary *s)
{
    return isnan(s->low) ? 0 : (s->high - s->low) / 2;
}

/* Half the interval of a parameter that has the round trip subtracted once in n - 1. */
static double half_with_trip(const struct gauge_summary *s,
                             const struct gauge_summary *trip, int messages)
{
    return hypot(half_of(s), half_of(trip) / (messages - 1));
}

/*
 * How far noise lengthens the gap: what it adds to a burst as a whole is shared by n - 1
 * gaps, or by a quarter of them in the short burst, so a third to a quarter of the
 * difference is left in the long one. It differs from size to size; taken as an error, it
 * is not mistaken for a change of protocol.
 */
static double bias_of(const struct loggp_size *size)
{
    return fabs(size->short_gap.median - size->gap.median) / 3;
}

/*
 * Noise that the two ends do not share lengthens a burst by the worst of its messages,
 * which counts the less the more messages there are. One size may differ by chance.
 */
static bool is_biased(const struct loggp_size *sizes, size_t count, int messages)
{
    size_t differing = 0;

    for (size_t i = 0; i < count; i++) {
        double one = half_with_trip(&sizes[i].gap, &sizes[i].round_trip, messages);
        double two =
            half_with_trip(&sizes[i].short_gap, &sizes[i].round_trip, messages / 4);
        double rounding = 1e-9 * sizes[i].round_trip.median;

        if (fabs(sizes[i].gap.median - sizes[i].short_gap.median) >
            fmax(one + two, rounding)) {
            differing++;
        }
    }
    return differing >= 2 && differing * 5 >= count;
}

static void put(struct gauge_bench *bench, const char *name, const char *unit,
                double value, double half, const char *note,
                const struct hinge_point *from, const struct hinge_point *to)
{
    struct gauge_result result = {
        .name = name,
        .unit = unit,
        .value = value,
        .low = value - half,
        .high = value + half,
        .note = note,
        .size_from = from->size,
        .size_to = to->size,
    };

    gauge_result(bench, &result);
}

static void report_overheads(struct gauge_bench *bench, const struct loggp_size *at,
                             double byte, int messages, const char *note,
                             const struct hinge_point *from, const struct hinge_point *to)
{
    double send_half = half_with_trip(&at->send, &at->round_trip, messages);
    double receive_half = half_with_trip(&at->receive, &at->round_trip, messages);
    double bytes = isnan(byte) ? 0 : byte * (double)(at->size - 1);
    double latency =
        at->round_trip.median / 2 - at->send.median - at->receive.median - bytes;
    double half = hypot(half_of(&at->round_trip) / 2, hypot(send_half, receive_half));

    put(bench, "L", "ns", latency, half, note, from, to);
    put(bench, "o_s", "ns", at->send.median, send_half, note, from, to);
    put(bench, "o_r", "ns", at->receive.median, receive_half, note, from, to);
}

/* g is the line's height at one byte. Where the flat part hides it and the line is too
 * uncertain so far to the left, only a bound is known; but a flat part that lies above
 * both overheads is the gap itself. */
static void report_gaps(struct gauge_bench *bench, const struct hinge_piece *piece,
                        const struct loggp_size *at, const char *note,
                        const struct hinge_point *from, const struct hinge_point *to)
{
    bool is_hidden =
        isnan(piece->gap) || piece->gap < 0 || piece->gap_half > piece->gap / 4;
    double overhead = fmax(at->send.median, at->receive.median);

    if (isnan(piece->gap) && piece->flat - piece->flat_half > 1.02 * overhead) {
        put(bench, "g", "ns", piece->flat, piece->flat_half, note, from, to);
    } else if (is_hidden && !isnan(piece->flat)) {
        put(bench, "g", "ns", piece->flat, 0, "g <= c: an overhead hides it", from, to);
    } else if (!is_hidden) {
        put(bench, "g", "ns", piece->gap, piece->gap_half, note, from, to);
    } else {
        put(bench, "g", "ns", NAN, 0, "not seen: the line is too uncertain", from, to);
    }
    if (isnan(piece->byte)) {
        put(bench, "G", "ns_per_byte", NAN, 0, "not seen: the gap does not rise here",
            from, to);
    } else {
        put(bench, "G", "ns_per_byte", piece->byte, piece->byte_half, note, from, to);
    }
}

void loggp_report(struct gauge_bench *bench, const struct loggp_size *sizes, size_t count,
                  int messages)
{
    struct hinge_point points[HINGE_POINTS];
    struct hinge_piece pieces[HINGE_PIECES];
    const char *note = is_biased(sizes, count, messages) ? biased : NULL;
    size_t found = 0;

    count = count < HINGE_POINTS ? count : HINGE_POINTS;
    for (size_t i = 0; i < count; i++) {
        points[i] = (struct hinge_point){
            .size = (double)sizes[i].size,
            .value = sizes[i].gap.median,
            .half = hypot(half_with_trip(&sizes[i].gap, &sizes[i].round_trip, messages),
                          bias_of(&sizes[i])),
        };
    }
    found = hinge_fit(points, count, pieces);
    for (size_t i = 0; i < found; i++) {
        const struct hinge_piece *piece = &pieces[i];
        const struct hinge_point *from = &points[piece->first];
        const struct hinge_point *to = &points[piece->first + piece->count - 1];

        report_overheads(bench, &sizes[piece->first], piece->byte, messages, note, from,
                         to);
        report_gaps(bench, piece, &sizes[piece->first], note, from, to);
    }
}
