/*
 * hinge.c - see hinge.h.
 */
#include "gauge/measure/hinge.h"

#include <math.h>

/* Numbers that a fit may spend: three a piece, and one for each place of a cut. */
/* A piece takes one number at least, and one for where it begins but for the first, so
 * that there are never more than HINGE_PIECES. */
enum { MOST_NUMBERS = 2 * HINGE_PIECES };

/* Below this share of a value a difference is rounding. */
#define ROUNDING 1e-9

static double sigma(const struct hinge_point *p)
{
    return fmax(p->half / 1.96, fabs(p->value) * ROUNDING);
}

/* A fit of a range, how far off it is, and how many numbers it took. */
struct trial {
    struct hinge_piece piece;
    double misfit; /* sum of squares in units of each point's own error */
    int numbers;
};

static double fit_flat(const struct hinge_point *points, size_t first, size_t count,
                       struct hinge_piece *piece)
{
    double weights = 0;
    double sum = 0;
    double misfit = 0;

    for (size_t i = first; i < first + count; i++) {
        double w = 1 / (sigma(&points[i]) * sigma(&points[i]));

        weights += w;
        sum += w * points[i].value;
    }
    piece->flat = sum / weights;
    piece->flat_half = 1.96 / sqrt(weights);
    for (size_t i = first; i < first + count; i++) {
        double off = (points[i].value - piece->flat) / sigma(&points[i]);

        misfit += off * off;
    }
    return misfit;
}

/* Weighted least squares around the weighted middle, which keeps small numbers small. */
static double fit_rising(const struct hinge_point *points, size_t first, size_t count,
                         struct hinge_piece *piece)
{
    double weights = 0, middle = 0, mean = 0, square = 0, product = 0, misfit = 0;

    for (size_t i = first; i < first + count; i++) {
        double w = 1 / (sigma(&points[i]) * sigma(&points[i]));

        weights += w;
        middle += w * (points[i].size - 1);
        mean += w * points[i].value;
    }
    middle /= weights;
    mean /= weights;
    for (size_t i = first; i < first + count; i++) {
        double w = 1 / (sigma(&points[i]) * sigma(&points[i]));
        double x = points[i].size - 1 - middle;

        square += w * x * x;
        product += w * x * (points[i].value - mean);
    }
    piece->byte = product / square;
    piece->gap = mean - piece->byte * middle;
    piece->byte_half = 1.96 / sqrt(square);
    piece->gap_half = 1.96 * sqrt(1 / weights + middle * middle / square);
    for (size_t i = first; i < first + count; i++) {
        double line = piece->gap + piece->byte * (points[i].size - 1);
        double off = (points[i].value - line) / sigma(&points[i]);

        misfit += off * off;
    }
    return misfit;
}

/* Flat and rising part must meet where one ends and the other begins. */
static bool is_joined(const struct hinge_point *points, const struct hinge_piece *piece,
                      size_t knee)
{
    const struct hinge_point *last = &points[knee - 1];
    const struct hinge_point *next = &points[knee];
    double before = piece->gap + piece->byte * (last->size - 1);
    double after = piece->gap + piece->byte * (next->size - 1);

    return piece->byte > 0 && before <= piece->flat + 3 * sigma(last) &&
           after >= piece->flat - 3 * sigma(next);
}

static struct trial empty_trial(size_t first, size_t count, int numbers)
{
    return (struct trial){
        .piece = {.first = first,
                  .count = count,
                  .flat = NAN,
                  .gap = NAN,
                  .byte = NAN,
                  .flat_half = NAN,
                  .gap_half = NAN,
                  .byte_half = NAN},
        .misfit = INFINITY,
        .numbers = numbers,
    };
}

/* The best fit of a range with 1 number (flat), 2 (rising) or 3 (hinge). It must have
 * more points than that, or it would explain nothing; one point alone is flat. */
static struct trial fit_range(const struct hinge_point *points, size_t first,
                              size_t count, int numbers, bool is_all)
{
    struct trial best = empty_trial(first, count, numbers);

    if (count <= (size_t)numbers && !(is_all && numbers == 1)) {
        return best;
    }
    if (numbers == 1) {
        best.misfit = fit_flat(points, first, count, &best.piece);
    } else if (numbers == 2) {
        best.misfit = fit_rising(points, first, count, &best.piece);
        if (best.piece.byte < 0) {
            best.misfit = INFINITY; /* longer messages do not take less time */
        }
    } else {
        for (size_t flat = 1; flat + 2 <= count; flat++) {
            struct trial here = empty_trial(first, count, numbers);

            here.misfit = fit_flat(points, first, flat, &here.piece) +
                          fit_rising(points, first + flat, count - flat, &here.piece);
            if (here.misfit < best.misfit &&
                is_joined(points, &here.piece, first + flat)) {
                best = here;
            }
        }
    }
    return best;
}

/* What the best cut of the first points costs, by the numbers spent. */
struct table {
    double misfit[HINGE_POINTS + 1][MOST_NUMBERS + 1];
    unsigned char start[HINGE_POINTS + 1][MOST_NUMBERS + 1];
    unsigned char numbers[HINGE_POINTS + 1][MOST_NUMBERS + 1];
};

static void fill(const struct hinge_point *points, size_t count, struct table *table)
{
    for (size_t end = 0; end <= count; end++) {
        for (int n = 0; n <= MOST_NUMBERS; n++) {
            table->misfit[end][n] = end == 0 && n == 0 ? 0 : INFINITY;
        }
    }
    for (size_t start = 0; start < count; start++) {
        for (size_t end = start + 1; end <= count; end++) {
            for (int own = 1; own <= 3; own++) {
                double misfit =
                    fit_range(points, start, end - start, own, end - start == count)
                        .misfit;
                int spent = own + (start > 0 ? 1 : 0);

                for (int n = spent; n <= MOST_NUMBERS; n++) {
                    double all = table->misfit[start][n - spent] + misfit;

                    if (all < table->misfit[end][n]) {
                        table->misfit[end][n] = all;
                        table->start[end][n] = (unsigned char)start;
                        table->numbers[end][n] = (unsigned char)own;
                    }
                }
            }
        }
    }
}

/* The criterion with unknown error of the model; below the points' own error nothing is
 * gained, so that chance is not explained. */
static int choose(const struct table *table, size_t count)
{
    double least = INFINITY;
    int best = 1;

    for (int n = 1; n <= MOST_NUMBERS && (n == 1 || (size_t)n < count); n++) {
        double share = table->misfit[count][n] / (double)count;
        double score = 0;

        if (!isfinite(share)) {
            continue;
        }
        score = (double)count * log(fmax(share, 1)) + n * log((double)count);
        if (score < least) {
            least = score;
            best = n;
        }
    }
    return best;
}

/* Errors grow where the points miss the line by more than their own. */
static void widen(struct trial *t)
{
    double left = (double)t->piece.count - t->numbers;
    double by = left > 0 ? sqrt(fmax(t->misfit / left, 1)) : 1;

    t->piece.flat_half *= by;
    t->piece.gap_half *= by;
    t->piece.byte_half *= by;
}

size_t hinge_fit(const struct hinge_point *points, size_t count,
                 struct hinge_piece pieces[HINGE_PIECES])
{
    static struct table table;
    struct trial found[HINGE_POINTS];
    size_t number = 0;
    int left = 0;
    size_t kept = 0;

    if (count == 0 || count > HINGE_POINTS) {
        return 0;
    }
    fill(points, count, &table);
    left = choose(&table, count);
    for (size_t end = count; end > 0;) {
        size_t start = table.start[end][left];
        int own = table.numbers[end][left];

        found[number++] =
            fit_range(points, start, end - start, own, end - start == count);
        left -= own + (start > 0 ? 1 : 0);
        end = start;
    }
    for (; number > 0 && kept < HINGE_PIECES; number--) {
        widen(&found[number - 1]);
        pieces[kept++] = found[number - 1].piece;
    }
    return kept;
}
