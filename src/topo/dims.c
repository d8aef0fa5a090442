#include "topo/dims.h"

#include <limits.h>
#include <string.h>

enum {
    MOST_DIVISORS = 1600, /* of a number below 2^31 */
    MOST_FACTORS = 31,    /* that are larger than 1 */
};

/* A search for the best factors of a number, largest first. */
struct search {
    int divisors[MOST_DIVISORS]; /* ascending */
    int divisor_count;
    int slots;
    int now[MOST_FACTORS];
    int best[MOST_FACTORS];
    int best_range; /* the largest of the best minus the smallest */
};

static void find_divisors(struct search *search, int n)
{
    int small_count;

    for (int d = 1; d <= n / d; d++) {
        if (n % d == 0) {
            search->divisors[search->divisor_count++] = d;
        }
    }
    small_count = search->divisor_count;
    for (int i = small_count - 1; i >= 0; i--) {
        const int large = n / search->divisors[i];

        if (large != search->divisors[i]) {
            search->divisors[search->divisor_count++] = large;
        }
    }
}

/* Is `base` to the power of `times` at least n? */
static bool reaches(int base, int times, long long n)
{
    long long product = 1;

    for (int i = 0; i < times && product < n; i++) {
        product *= base;
    }
    return product >= n;
}

/* The largest divisor whose power is at most n: the smallest of `times` factors is. */
static int smallest_at_most(const struct search *search, int times, int n)
{
    int found = 1;

    for (int i = 0; i < search->divisor_count; i++) {
        const int d = search->divisors[i];

        if (reaches(d, times, n)) {
            return reaches(d, times, (long long)n + 1) ? found : d;
        }
        found = d;
    }
    return found;
}

/* Is the smallest larger than that of the best so far, or, if not, the next, and so on?
 */
static bool is_larger_from_behind(const struct search *search)
{
    for (int i = search->slots - 1; i >= 0; i--) {
        if (search->now[i] != search->best[i]) {
            return search->now[i] > search->best[i];
        }
    }
    return false;
}

/* The last slot gets all of n, if it is not larger than the one before. */
static void end(struct search *search, int at, int n)
{
    int range;

    if (at > 0 && n > search->now[at - 1]) {
        return;
    }
    search->now[at] = n;
    range = search->now[0] - n;
    if (range < search->best_range ||
        (range == search->best_range && is_larger_from_behind(search))) {
        search->best_range = range;
        memcpy(search->best, search->now, sizeof(search->best));
    }
}

/* Fills the slots from `at` on with factors of n; none is larger than the one before. */
static void fill(struct search *search, int at, int n)
{
    const int left = search->slots - at;

    if (left <= 1) {
        end(search, at, n);
        return;
    }
    for (int i = 0; i < search->divisor_count; i++) {
        const int d = search->divisors[i];

        if (d > n || (at > 0 && d > search->now[at - 1])) {
            return;
        }
        if (n % d != 0 || !reaches(d, left, n)) {
            continue; /* those behind it, no larger than it, could not make up for it */
        }
        search->now[at] = d;
        /* The larger this one is, the smaller the last must be. */
        if (search->now[0] - smallest_at_most(search, left - 1, n / d) >
            search->best_range) {
            return;
        }
        fill(search, at + 1, n / d);
    }
}

static void balance(int n, int slots, int factors[])
{
    struct search search = {.slots = slots, .best_range = INT_MAX};

    find_divisors(&search, n);
    fill(&search, 0, n);
    memcpy(factors, search.best, (size_t)slots * sizeof(int));
}

/* Gives the free entries their factors, in order; no number has more than so many. */
static void set_free(int n, int slots, int ndims, int dims[])
{
    int factors[MOST_FACTORS];
    int taken = 0;
    const int found = slots < MOST_FACTORS ? slots : MOST_FACTORS;

    balance(n, found, factors);
    for (int i = 0; i < ndims; i++) {
        if (dims[i] == 0) {
            dims[i] = taken < found ? factors[taken] : 1;
            taken++;
        }
    }
}

bool weft_dims_create(int nodes, int ndims, int dims[])
{
    int left = nodes;
    int slots = 0;

    for (int i = 0; i < ndims; i++) {
        if (dims[i] == 0) {
            slots++;
        } else if (left % dims[i] != 0) {
            return false;
        } else {
            left /= dims[i];
        }
    }
    if (slots == 0) {
        return left == 1;
    }
    set_free(left, slots, ndims, dims);
    return true;
}
