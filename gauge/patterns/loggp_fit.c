/*
 * loggp_fit.c - from what was measured at each size to the parameters.
 *
 * A parameter is the median over the turns, and its interval that of the turns; what is a
 * difference of several is taken within each turn, where they have the machine in common.
 * Each piece of the fit is a protocol of its own, with its own overheads and latency,
 * taken at its smallest size.
 */
#include "gauge/measure/hinge.h"
#include "gauge/patterns/loggp.h"

#include <math.h>
#include <stdio.h>

static const char biased[] = "noise-biased";

static double half_of(struct gauge_estimate e)
{
    return isnan(e.low) ? 0 : (e.high - e.low) / 2;
}

/*
 * How far noise lengthens the gap: what it adds to a burst as a whole is shared by n - 1
 * gaps, or by a quarter of them in the short burst, so a third to a quarter of the
 * difference is left in the long one. It differs from size to size; taken as an error, it
 * is not mistaken for a change of protocol.
 */
static double bias_of(const struct loggp_size *size, size_t turns)
{
    return fabs(gauge_estimate(size->short_gap, turns).value -
                gauge_estimate(size->gap, turns).value) /
           3;
}

/*
 * Noise that the two ends do not share lengthens a burst by the worst of its messages,
 * which counts the less the more messages there are. One size may differ by chance.
 */
static bool is_biased(const struct loggp_size *sizes, size_t count, size_t turns)
{
    size_t differing = 0;

    for (size_t i = 0; i < count; i++) {
        struct gauge_estimate one = gauge_estimate(sizes[i].gap, turns);
        struct gauge_estimate two = gauge_estimate(sizes[i].short_gap, turns);
        double rounding = 1e-9 * sizes[i].round_trip[0];

        if (fabs(one.value - two.value) > fmax(half_of(one) + half_of(two), rounding)) {
            differing++;
        }
    }
    return differing >= 2 && differing * 5 >= count;
}

static void put(struct gauge_bench *bench, const char *name, const char *unit,
                struct gauge_estimate estimate, const char *note,
                const struct hinge_point *from, const struct hinge_point *to)
{
    struct gauge_result result = {
        .name = name,
        .unit = unit,
        .value = estimate.value,
        .low = estimate.low,
        .high = estimate.high,
        .note = note,
        .size_from = from->size,
        .size_to = to->size,
        .is_bound = isfinite(estimate.value) && isnan(estimate.low),
    };

    gauge_result(bench, &result);
}

static struct gauge_estimate around(double value, double half)
{
    return (struct gauge_estimate){value, value - half, value + half};
}

static struct gauge_estimate bound(double value)
{
    return (struct gauge_estimate){value, NAN, NAN};
}

static const struct gauge_estimate unseen = {NAN, NAN, NAN};

/* A latency below 0 is none: the model counts something twice. */
static void report_latency(struct gauge_bench *bench, const struct loggp_size *at,
                           double byte, size_t turns, const char *note,
                           const struct hinge_point *from, const struct hinge_point *to)
{
    double bytes = isnan(byte) ? 0 : byte * (double)(at->size - 1);
    double latency[GAUGE_TURNS];
    struct gauge_estimate found;

    for (size_t i = 0; i < turns; i++) {
        latency[i] = at->round_trip[i] / 2 - at->send[i] - at->receive[i] - bytes;
    }
    found = gauge_estimate(latency, turns);
    if (found.value > 0) {
        put(bench, "L", "ns", found, note, from, to);
    } else if (found.high > 0) {
        put(bench, "L", "ns", bound(found.high), "L <= this: the overheads hide it", from,
            to);
    } else {
        put(bench, "L", "ns", unseen,
            "not separable: o_s + o_r exceed half a round trip, so the calls contain the "
            "way",
            from, to);
    }
}

/* g is the line's height at one byte. Where the flat part hides it and the line is too
 * uncertain so far to the left, only a bound is known; but a flat part that lies above
 * both overheads is the gap itself. */
static void report_gaps(struct gauge_bench *bench, const struct hinge_piece *piece,
                        double overhead, const char *note, const struct hinge_point *from,
                        const struct hinge_point *to)
{
    bool is_hidden =
        isnan(piece->gap) || piece->gap < 0 || piece->gap_half > piece->gap / 4;

    if (isnan(piece->gap) && piece->flat - piece->flat_half > 1.02 * overhead) {
        put(bench, "g", "ns", around(piece->flat, piece->flat_half), note, from, to);
    } else if (is_hidden && !isnan(piece->flat)) {
        put(bench, "g", "ns", bound(piece->flat), "g <= c: an overhead hides it", from,
            to);
    } else if (!is_hidden) {
        put(bench, "g", "ns", around(piece->gap, piece->gap_half), note, from, to);
    } else {
        put(bench, "g", "ns", unseen, "not seen: the line is too uncertain", from, to);
    }
    if (isnan(piece->byte)) {
        put(bench, "G", "ns_per_byte", unseen, "not seen: the gap does not rise here",
            from, to);
    } else {
        put(bench, "G", "ns_per_byte", around(piece->byte, piece->byte_half), note, from,
            to);
    }
}

static void report_piece(struct gauge_bench *bench, const struct hinge_piece *piece,
                         const struct loggp_size *sizes, size_t turns, const char *note,
                         const struct hinge_point *points)
{
    const struct hinge_point *from = &points[piece->first];
    const struct hinge_point *to = &points[piece->first + piece->count - 1];
    const struct loggp_size *at = &sizes[piece->first];
    struct gauge_estimate send = gauge_estimate(at->send, turns);
    struct gauge_estimate receive = gauge_estimate(at->receive, turns);

    report_latency(bench, at, piece->byte, turns, note, from, to);
    put(bench, "o_s", "ns", send, note, from, to);
    put(bench, "o_r", "ns", receive, note, from, to);
    report_gaps(bench, piece, fmax(send.value, receive.value), note, from, to);
}

/*
 * The gaps with their errors. Of nine turns an error is known to some 40 % only, and a
 * size whose turns agree by chance would pull the line to itself or be given a piece of
 * its own. So none counts as better known than half of the sizes are, by its share.
 */
static void make_points(const struct loggp_size *sizes, size_t count, size_t times,
                        struct hinge_point *points)
{
    double share[HINGE_POINTS] = {0};
    double typical = 0;

    for (size_t i = 0; i < count; i++) {
        struct gauge_estimate gap = gauge_estimate(sizes[i].gap, times);

        points[i] = (struct hinge_point){
            .size = (double)sizes[i].size,
            .value = gap.value,
            .half = hypot(half_of(gap), bias_of(&sizes[i], times)),
        };
        share[i] = points[i].half / points[i].value;
    }
    typical = gauge_estimate(share, count).value;
    for (size_t i = 0; i < count; i++) {
        points[i].half = fmax(points[i].half, typical * points[i].value);
    }
}

void loggp_report(struct gauge_bench *bench, const struct loggp_size *sizes, size_t count,
                  int turns)
{
    struct hinge_point points[HINGE_POINTS];
    struct hinge_piece pieces[HINGE_PIECES];
    size_t times = (size_t)turns;
    const char *note = is_biased(sizes, count, times) ? biased : NULL;
    size_t found = 0;

    count = count < HINGE_POINTS ? count : HINGE_POINTS;
    make_points(sizes, count, times, points);
    found = hinge_fit(points, count, pieces);
    for (size_t i = 0; i < found; i++) {
        report_piece(bench, &pieces[i], sizes, times, note, points);
    }
}
