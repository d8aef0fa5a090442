#include "placement.h"

#include "slots.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIES = 16 }; /* against others that claim the same cores in this moment */

/* What the ranks of this host need. */
struct need {
    const int *ranks; /* their numbers in the job */
    int count;
    int *widths;          /* of each rank, in cores, or in threads if they are dealt */
    long width;           /* of all ranks, as the plan has it */
    bool is_asked;        /* the user wants this placement and no other */
    bool may_share_cores; /* threads may have a hardware thread each */
};

bool placement_cannot(struct placement *placement, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(placement->why, sizeof(placement->why), format, args);
    va_end(args);
    return false;
}

static bool need_open(struct need *need, const struct plan *plan, const int *ranks,
                      int count)
{
    *need = (struct need){.ranks = ranks, .count = count};
    need->widths = calloc((size_t)count, sizeof(*need->widths));
    need->is_asked = (plan->bind != BIND_IF_FITS && plan->bind != BIND_NONE) ||
                     plan->spread.by != MAP_EVENLY || plan->slots.count > 0;
    for (int r = 0; need->widths != NULL && r < count; r++) {
        const struct app *app = plan_app_of(plan, ranks[r]);

        need->widths[r] = app->width;
        need->width += app->width;
        need->is_asked |= app_has_demanded_width(app);
        need->may_share_cores |= app->width_by == WIDTH_BY_THREADS;
    }
    return need->widths != NULL;
}

/*
 * Turns widths into cores. Slurm counts processors. Threads get a core each, or, with
 * `is_sharing`, a hardware thread each. Returns the sum.
 */
static long count_cores(const struct topology *topology, const struct plan *plan,
                        bool is_sharing, struct need *need)
{
    const int each = topology->processors_per_core;
    long sum = 0;

    for (int r = 0; r < need->count; r++) {
        const struct app *app = plan_app_of(plan, need->ranks[r]);

        need->widths[r] = app->width;
        if (app->width_by == WIDTH_BY_SLURM || app->width_by == WIDTH_BY_TASK ||
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
static bool too_few(struct placement *placement, int ranks, long wanted, int free_cores)
{
    const int all = placement->topology.count;
    const char *verb = ranks == 1 ? " needs" : "s need";
    const char *noun = placement->topology.is_of_threads
                           ? (wanted == 1 ? "hardware thread" : "hardware threads")
                           : (wanted == 1 ? "core" : "cores");

    if (free_cores == all) {
        return placement_cannot(placement, "%d rank%s %ld %s, but this host has %d",
                                ranks, verb, wanted, noun, all);
    }
    return placement_cannot(
        placement, "%d rank%s %ld %s, but other jobs have taken %d of this host's %d",
        ranks, verb, wanted, noun, all - free_cores, all);
}

/* Deals the free cores: first one for each thread, then a hardware thread for each. */
static bool deal(struct placement *placement, const struct plan *plan, struct need *need,
                 int *owner)
{
    const struct topology *topology = &placement->topology;
    const int free_cores = count_free(topology);
    long wanted = count_cores(topology, plan, false, need);

    if (wanted > free_cores && need->may_share_cores) {
        wanted = count_cores(topology, plan, true, need);
    }
    if (wanted > free_cores) {
        return too_few(placement, need->count, wanted, free_cores);
    }
    if (!spread_ranks(topology, &plan->spread, need->widths, need->count, owner)) {
        return placement_cannot(placement,
                                "the ranks cannot be placed on the free cores of this "
                                "host's sockets as --map-by asks");
    }
    return true;
}

/* The level whose groups ranks are bound to, or LEVEL_CORE: to what they were dealt. */
static enum level level_of(enum bind_to bind)
{
    switch (bind) {
    case BIND_CACHE:
        return LEVEL_CACHE;
    case BIND_NUMA:
        return LEVEL_NUMA;
    case BIND_SOCKET:
        return LEVEL_SOCKET;
    case BIND_IF_FITS:
    case BIND_CORE:
    case BIND_THREAD:
    case BIND_NONE:
        break;
    }
    return LEVEL_CORE;
}

/* Is core `c` one of this rank's, or in a group of the level where it has one? */
static bool is_for(const struct topology *topology, const int *owner, int rank,
                   enum level level, int c)
{
    if (level == LEVEL_CORE || topology->cores[c].is_taken) {
        return owner[c] == rank;
    }
    for (int i = 0; i < topology->count; i++) {
        if (owner[i] == rank &&
            topology->cores[i].group[level] == topology->cores[c].group[level]) {
            return true;
        }
    }
    return false;
}

static void set_processors(struct placement *placement, enum level level,
                           const int *owner, int count)
{
    const struct topology *topology = &placement->topology;

    for (int r = 0; r < count; r++) {
        for (int c = 0; c < topology->count; c++) {
            if (is_for(topology, owner, r, level, c)) {
                CPU_OR(&placement->sets[r], &placement->sets[r], &topology->cores[c].set);
            }
        }
    }
}

static bool decide(struct placement *placement, const struct plan *plan,
                   struct need *need)
{
    const enum level level = level_of(plan->bind);
    const bool needs_caches = level == LEVEL_CACHE || plan->spread.level == LEVEL_CACHE;
    int *owner;
    bool is_dealt;

    if (needs_caches && !placement->topology.has[LEVEL_CACHE]) {
        return placement_cannot(placement, "this host does not tell its L3 caches");
    }
    owner = calloc((size_t)placement->topology.count, sizeof(*owner));
    if (owner == NULL) {
        return placement_cannot(placement, "%s", strerror(errno));
    }
    is_dealt = deal(placement, plan, need, owner);
    if (is_dealt) {
        set_processors(placement, level, owner, need->count);
    }
    free(owner);
    return is_dealt;
}

/* The cores that the rankfile names. */
static bool decide_by_slots(struct placement *placement, const struct plan *plan,
                            const struct need *need)
{
    for (int r = 0; r < need->count; r++) {
        if (!slots_find(plan->slots.at[need->ranks[r]], &placement->topology,
                        &placement->sets[r], placement->why, sizeof(placement->why))) {
            return false;
        }
    }
    return true;
}

static bool decide_for(struct placement *placement, const struct plan *plan,
                       struct need *need)
{
    bool is_done;

    free(placement->sets);
    placement->sets = calloc((size_t)need->count, sizeof(*placement->sets));
    if (placement->sets == NULL) {
        return placement_cannot(placement, "%s", strerror(errno));
    }
    is_done = plan->slots.count > 0 ? decide_by_slots(placement, plan, need)
                                    : decide(placement, plan, need);
    if (!is_done) {
        free(placement->sets);
        placement->sets = NULL;
    }
    return is_done;
}

bool placement_decide(struct placement *placement, const struct plan *plan,
                      const int *ranks, int count)
{
    struct need need;
    bool is_done;

    if (!need_open(&need, plan, ranks, count)) {
        return placement_cannot(placement, "%s", strerror(errno));
    }
    is_done = decide_for(placement, plan, &need);
    free(need.widths);
    return is_done;
}

/* Adds the cores of which a rank has a processor. */
static void add_cores(const struct topology *topology, const cpu_set_t *set,
                      cpu_set_t *all)
{
    for (int c = 0; c < topology->count; c++) {
        cpu_set_t common;

        CPU_AND(&common, set, &topology->cores[c].whole);
        if (CPU_COUNT(&common) > 0) {
            CPU_OR(all, all, &topology->cores[c].whole);
        }
    }
}

/* Claims all cores that ranks have a part of, in ascending order, so that one of two
 * rivals gets on. */
static bool claim_all(struct placement *placement, int count)
{
    cpu_set_t all;

    CPU_ZERO(&all);
    for (int r = 0; r < count; r++) {
        add_cores(&placement->topology, &placement->sets[r], &all);
    }
    if (claims_take(&placement->claims, &all)) {
        return true;
    }
    placement_cannot(placement, "its processors cannot be claimed: %s", strerror(errno));
    claims_drop(&placement->claims);
    return false;
}

static bool place(struct placement *placement, const struct plan *plan, struct need *need)
{
    for (int i = 0; i < MOST_TRIES; i++) {
        claims_look(&placement->topology);
        if (!decide_for(placement, plan, need)) {
            return false;
        }
        if (claim_all(placement, need->count)) {
            return true;
        }
    }
    free(placement->sets);
    placement->sets = NULL;
    return false;
}

/* What can be said before the topology is read, which takes its time. */
static bool is_hopeless(struct placement *placement, const struct plan *plan,
                        const struct need *need, const cpu_set_t *allowed)
{
    if (plan->bind == BIND_NONE) {
        return !placement_cannot(placement, "--bind-to none");
    }
    if (!need->is_asked && need->count == 1 && need->width == 1) {
        return !placement_cannot(placement, "a single rank has all cores");
    }
    if (!need->is_asked && need->width > CPU_COUNT(allowed)) {
        return !placement_cannot(
            placement, "%d rank%s %ld cores, but there are %d processors", need->count,
            need->count == 1 ? " needs" : "s need", need->width, CPU_COUNT(allowed));
    }
    return false;
}

static bool bind_ranks(struct placement *placement, const struct plan *plan,
                       struct need *need)
{
    cpu_set_t allowed;

    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        return placement_cannot(placement, "the processors cannot be read: %s",
                                strerror(errno));
    }
    if (is_hopeless(placement, plan, need, &allowed)) {
        return false;
    }
    if (!topology_read(&placement->topology, &allowed)) {
        return placement_cannot(placement, "binding needs hwloc, which cannot be loaded: "
                                           "install libhwloc15");
    }
    if (plan->bind == BIND_THREAD && !topology_split(&placement->topology)) {
        return placement_cannot(placement, "%s", strerror(errno));
    }
    return place(placement, plan, need);
}

bool placement_open(struct placement *placement, const struct plan *plan,
                    const int *ranks, int count)
{
    struct need need;
    bool is_fine;

    memset(placement, 0, sizeof(*placement));
    if (!need_open(&need, plan, ranks, count)) {
        return placement_cannot(placement, "%s", strerror(errno));
    }
    is_fine =
        bind_ranks(placement, plan, &need) || !need.is_asked || plan->bind == BIND_NONE;
    free(need.widths);
    return is_fine;
}

const cpu_set_t *placement_of(const struct placement *placement, int local_rank)
{
    return placement->sets != NULL ? &placement->sets[local_rank] : NULL;
}

void placement_close(struct placement *placement)
{
    claims_drop(&placement->claims);
    topology_close(&placement->topology);
    free(placement->sets);
    placement->sets = NULL;
}
