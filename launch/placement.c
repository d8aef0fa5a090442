#include "placement.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIES = 16 }; /* against others that claim the same cores in this moment */

/* What the ranks of this host need. */
struct need {
    int ranks;
    int *widths;          /* of each rank, in cores */
    long width;           /* of all ranks, as the plan has it */
    bool is_asked;        /* the user wants this placement and no other */
    bool may_share_cores; /* threads may have a hardware thread each */
};

static bool cannot(struct placement *placement, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Notes the reason; always false. */
static bool cannot(struct placement *placement, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(placement->why, sizeof(placement->why), format, args);
    va_end(args);
    return false;
}

static bool need_open(struct need *need, const struct plan *plan, int first, int ranks)
{
    *need = (struct need){.ranks = ranks};
    need->widths = calloc((size_t)ranks, sizeof(*need->widths));
    need->is_asked = plan->bind == BIND_CORE || plan->spread.by != MAP_EVENLY;
    for (int r = 0; need->widths != NULL && r < ranks; r++) {
        const struct app *app = plan_app_of(plan, first + r);

        need->widths[r] = app->width;
        need->width += app->width;
        need->is_asked |= app->width_by == WIDTH_BY_OPTION;
        need->may_share_cores |= app->width_by == WIDTH_BY_THREADS;
    }
    return need->widths != NULL;
}

/*
 * Turns widths into cores. Slurm counts processors. Threads get a core each, or, with
 * `is_sharing`, a hardware thread each. Returns the sum.
 */
static long count_cores(const struct topology *topology, const struct plan *plan,
                        int first, bool is_sharing, struct need *need)
{
    const int each = topology->processors_per_core;
    long sum = 0;

    for (int r = 0; r < need->ranks; r++) {
        const struct app *app = plan_app_of(plan, first + r);

        need->widths[r] = app->width;
        if (app->width_by == WIDTH_BY_SLURM ||
            (app->width_by == WIDTH_BY_THREADS && is_sharing)) {
            need->widths[r] = (app->width + each - 1) / each;
        }
        sum += need->widths[r];
    }
    return sum;
}

static int count_free(const struct topology *topology)
{
    int count = 0;

    for (int c = 0; c < topology->count; c++) {
        count += topology->cores[c].is_taken ? 0 : 1;
    }
    return count;
}

/* Notes that there are too few cores, and whether other jobs have the rest. */
static bool too_few(struct placement *placement, const struct topology *topology,
                    int ranks, long wanted, int free_cores)
{
    const char *verb = ranks == 1 ? " needs" : "s need";
    const char *noun = wanted == 1 ? "core" : "cores";

    if (free_cores == topology->count) {
        return cannot(placement, "%d rank%s %ld %s, but this host has %d", ranks, verb,
                      wanted, noun, topology->count);
    }
    return cannot(
        placement, "%d rank%s %ld %s, but other jobs have taken %d of this host's %d",
        ranks, verb, wanted, noun, topology->count - free_cores, topology->count);
}

/* Deals the free cores: first one for each thread, then a hardware thread for each. */
static bool deal(struct placement *placement, const struct topology *topology,
                 const struct plan *plan, int first, struct need *need, int *owner)
{
    const int free_cores = count_free(topology);
    long wanted = count_cores(topology, plan, first, false, need);

    if (wanted > free_cores && need->may_share_cores) {
        wanted = count_cores(topology, plan, first, true, need);
    }
    if (wanted > free_cores) {
        return too_few(placement, topology, need->ranks, wanted, free_cores);
    }
    if (!spread_ranks(topology, &plan->spread, need->widths, need->ranks, owner)) {
        return cannot(placement, "the ranks cannot be placed on the free cores of this "
                                 "host's sockets as --map-by asks");
    }
    return true;
}

static bool set_processors(struct placement *placement, const struct topology *topology,
                           const struct need *need, const int *owner)
{
    placement->sets = calloc((size_t)need->ranks, sizeof(*placement->sets));
    if (placement->sets == NULL) {
        return cannot(placement, "%s", strerror(errno));
    }
    for (int c = 0; c < topology->count; c++) {
        if (owner[c] >= 0) {
            cpu_set_t *set = &placement->sets[owner[c]];

            CPU_OR(set, set, &topology->cores[c].set);
        }
    }
    return true;
}

/* Claims all that was dealt, in ascending order, so that one of two rivals gets on. */
static bool claim_all(struct placement *placement, const struct need *need)
{
    cpu_set_t all;

    CPU_ZERO(&all);
    for (int r = 0; r < need->ranks; r++) {
        CPU_OR(&all, &all, &placement->sets[r]);
    }
    if (claims_take(&placement->claims, &all)) {
        return true;
    }
    cannot(placement, "its processors cannot be claimed: %s", strerror(errno));
    placement_close(placement);
    return false;
}

static bool place(struct placement *placement, struct topology *topology,
                  const struct plan *plan, int first, struct need *need)
{
    int *owner = calloc((size_t)topology->count, sizeof(*owner));
    bool is_placed = false;

    for (int i = 0; owner != NULL && !is_placed && i < MOST_TRIES; i++) {
        claims_look(topology);
        if (!deal(placement, topology, plan, first, need, owner) ||
            !set_processors(placement, topology, need, owner)) {
            break;
        }
        is_placed = claim_all(placement, need);
    }
    free(owner);
    return is_placed;
}

/* What can be said before the topology is read, which takes its time. */
static bool is_hopeless(struct placement *placement, const struct plan *plan,
                        const struct need *need, const cpu_set_t *allowed)
{
    if (plan->bind == BIND_NONE) {
        return !cannot(placement, "--bind-to none");
    }
    if (!need->is_asked && need->ranks == 1) {
        return !cannot(placement, "a single rank has all cores");
    }
    if (!need->is_asked && need->width > CPU_COUNT(allowed)) {
        return !cannot(placement, "%d ranks need %ld cores, but there are %d processors",
                       need->ranks, need->width, CPU_COUNT(allowed));
    }
    return false;
}

static bool bind_ranks(struct placement *placement, const struct plan *plan, int first,
                       struct need *need)
{
    struct topology topology;
    cpu_set_t allowed;
    bool is_placed;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        return cannot(placement, "the processors cannot be read: %s", strerror(errno));
    }
    if (is_hopeless(placement, plan, need, &allowed)) {
        return false;
    }
    if (!topology_read(&topology, &allowed)) {
        return cannot(placement, "binding needs hwloc, which cannot be loaded: install "
                                 "libhwloc15");
    }
    is_placed = place(placement, &topology, plan, first, need);
    topology_close(&topology);
    return is_placed;
}

bool placement_open(struct placement *placement, const struct plan *plan, int first,
                    int ranks)
{
    struct need need;
    bool is_asked;

    memset(placement, 0, sizeof(*placement));
    if (!need_open(&need, plan, first, ranks)) {
        return cannot(placement, "%s", strerror(errno));
    }
    is_asked = need.is_asked && plan->bind != BIND_NONE;
    if (bind_ranks(placement, plan, first, &need)) {
        free(need.widths);
        return true;
    }
    free(need.widths);
    return !is_asked;
}

const cpu_set_t *placement_of(const struct placement *placement, int local_rank)
{
    return placement->sets != NULL ? &placement->sets[local_rank] : NULL;
}

void placement_describe(const struct placement *placement, int local_rank, char *text,
                        size_t size)
{
    const cpu_set_t *set = placement_of(placement, local_rank);
    size_t used;

    if (set == NULL) {
        snprintf(text, size, "not bound: %s", placement->why);
        return;
    }
    used = (size_t)snprintf(text, size, "bound to processors");
    for (int c = 0; c < CPU_SETSIZE && used < size; c++) {
        if (CPU_ISSET((size_t)c, set)) {
            used += (size_t)snprintf(text + used, size - used, " %d", c);
        }
    }
}

void placement_close(struct placement *placement)
{
    claims_drop(&placement->claims);
    free(placement->sets);
    placement->sets = NULL;
}
