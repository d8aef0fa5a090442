#include "spread.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* What one call of spread_ranks() works on. */
struct work {
    const struct core *cores;
    const int *widths;
    int *owner;
    int levels; /* to spread over, from the widest */
};

/* A part of the host: some of its cores and the ranks that go there, both in order. */
struct part {
    int *cores;
    int core_count;
    int *ranks;
    int rank_count;
};

static bool part_open(struct part *part, int cores, int ranks)
{
    part->core_count = part->rank_count = 0;
    part->cores = calloc((size_t)cores + 1, sizeof(*part->cores));
    part->ranks = calloc((size_t)ranks + 1, sizeof(*part->ranks));
    return part->cores != NULL && part->ranks != NULL;
}

static void part_close(struct part *part)
{
    free(part->cores);
    free(part->ranks);
}

static void close_parts(struct part *parts, int count)
{
    for (int i = 0; i < count; i++) {
        part_close(&parts[i]);
    }
    free(parts);
}

static int width_of(const struct work *work, const struct part *part)
{
    int sum = 0;

    for (int r = 0; r < part->rank_count; r++) {
        sum += work->widths[part->ranks[r]];
    }
    return sum;
}

/* The last step: cores that follow each other. */
static void fill(const struct work *work, const struct part *part)
{
    int next = 0;

    for (int r = 0; r < part->rank_count; r++) {
        for (int i = 0; i < work->widths[part->ranks[r]]; i++) {
            assert(next < part->core_count);
            work->owner[part->cores[next++]] = part->ranks[r];
        }
    }
}

/* The part of these that has the core's group, or a new one after them. */
static struct part *part_of(struct part *parts, int *count, const struct work *work,
                            enum level level, int core)
{
    for (int i = 0; i < *count; i++) {
        if (work->cores[parts[i].cores[0]].group[level] ==
            work->cores[core].group[level]) {
            return &parts[i];
        }
    }
    return &parts[(*count)++];
}

/* Sorts the cores of a part by their group; the caller deals the ranks. */
static struct part *divide(const struct work *work, const struct part *whole,
                           enum level level, int *count)
{
    struct part *parts = calloc((size_t)whole->core_count + 1, sizeof(*parts));

    *count = 0;
    for (int i = 0; parts != NULL && i < whole->core_count; i++) {
        struct part *part = part_of(parts, count, work, level, whole->cores[i]);

        if (part->cores == NULL &&
            !part_open(part, whole->core_count, whole->rank_count)) {
            close_parts(parts, *count);
            return NULL;
        }
        part->cores[part->core_count++] = whole->cores[i];
    }
    return parts;
}

/* The width that all ranks of a part have, or 1 if they differ. */
static int common_width(const struct work *work, const struct part *part)
{
    const int width = work->widths[part->ranks[0]];

    for (int r = 1; r < part->rank_count; r++) {
        if (work->widths[part->ranks[r]] != width) {
            return 1;
        }
    }
    return width;
}

/* How many cores ranks of this width can use together. */
static int usable(const struct part *part, int width)
{
    return part->core_count - part->core_count % width;
}

/*
 * Deals ranks in blocks. A part takes its share of the cores that are still needed, or
 * more if the parts after it could not hold the rest. Returns false if ranks are left.
 */
static bool deal_blocks(const struct work *work, const struct part *whole,
                        struct part *parts, int count)
{
    const int width = common_width(work, whole);
    int left = width_of(work, whole);
    int room = 0; /* of the parts after this one */
    int r = 0;

    for (int p = 0; p < count; p++) {
        room += usable(&parts[p], width);
    }
    for (int p = 0; p < count; p++) {
        int goal = (left + (count - p) - 1) / (count - p);
        int load = 0;

        room -= usable(&parts[p], width);
        goal = goal > left - room ? goal : left - room;
        while (r < whole->rank_count && load < goal &&
               load + work->widths[whole->ranks[r]] <= parts[p].core_count) {
            load += work->widths[whole->ranks[r]];
            parts[p].ranks[parts[p].rank_count++] = whole->ranks[r++];
        }
        left -= load;
    }
    return r == whole->rank_count;
}

/* Deals `each` ranks to every part. Returns false if ranks are left or do not fit. */
static bool deal_each(const struct work *work, const struct part *whole,
                      struct part *parts, int count, int each)
{
    int r = 0;

    for (int p = 0; p < count; p++) {
        for (int i = 0; i < each && r < whole->rank_count; i++) {
            parts[p].ranks[parts[p].rank_count++] = whole->ranks[r++];
        }
        if (width_of(work, &parts[p]) > parts[p].core_count) {
            return false;
        }
    }
    return r == whole->rank_count;
}

/* Deals one rank to each part in turn, leaving out those that are full. */
static bool deal_in_turn(const struct work *work, const struct part *whole,
                         struct part *parts, int count)
{
    int p = 0;

    for (int r = 0; r < whole->rank_count; r++) {
        const int width = work->widths[whole->ranks[r]];
        int tried = 0;

        while (tried < count && width_of(work, &parts[p]) + width > parts[p].core_count) {
            p = (p + 1) % count;
            tried++;
        }
        if (tried == count) {
            return false;
        }
        parts[p].ranks[parts[p].rank_count++] = whole->ranks[r];
        p = (p + 1) % count;
    }
    return true;
}

static bool spread_evenly(const struct work *work, const struct part *whole, int level);

/* Spreads the ranks of each part over its next level. */
static bool spread_parts(const struct work *work, const struct part *parts, int count,
                         int level)
{
    bool is_done = true;

    for (int p = 0; is_done && p < count; p++) {
        is_done = spread_evenly(work, &parts[p], level);
    }
    return is_done;
}

static bool spread_evenly(const struct work *work, const struct part *whole, int level)
{
    struct part *parts;
    bool is_done;
    int count;

    if (whole->rank_count == 0) {
        return true;
    }
    if (level >= work->levels) {
        fill(work, whole);
        return true;
    }
    parts = divide(work, whole, (enum level)level, &count);
    if (parts == NULL) {
        return false;
    }
    is_done = deal_blocks(work, whole, parts, count)
                  ? spread_parts(work, parts, count, level + 1)
                  : spread_evenly(work, whole, level + 1);
    close_parts(parts, count);
    return is_done;
}

/* The first step where the user has said how; below that level, evenly. */
static bool spread_as_asked(const struct work *work, const struct part *whole,
                            const struct spread *spread)
{
    struct part *parts;
    bool is_done;
    int count;

    parts = divide(work, whole, spread->level, &count);
    if (parts == NULL) {
        return false;
    }
    is_done = spread->by == MAP_EACH ? deal_each(work, whole, parts, count, spread->each)
                                     : deal_in_turn(work, whole, parts, count);
    is_done = is_done && spread_parts(work, parts, count, (int)spread->level + 1);
    close_parts(parts, count);
    return is_done;
}

static bool spread_whole(const struct work *work, const struct part *whole,
                         const struct spread *spread)
{
    if (width_of(work, whole) > whole->core_count) {
        return false;
    }
    switch (spread->by) {
    case MAP_EVENLY:
        return spread_evenly(work, whole, LEVEL_SOCKET);
    case MAP_CORE:
        fill(work, whole);
        return true;
    case MAP_IN_TURN:
    case MAP_EACH:
        return spread_as_asked(work, whole, spread);
    }
    return false;
}

bool spread_ranks(const struct topology *topology, const struct spread *spread,
                  const int *widths, int ranks, int *owner)
{
    const struct work work = {
        .cores = topology->cores,
        .widths = widths,
        .owner = owner,
        .levels = topology->is_of_threads ? LEVELS : LEVEL_CORE,
    };
    struct part whole;
    bool is_done;

    assert(ranks > 0);
    is_done = part_open(&whole, topology->count, ranks);
    for (int c = 0; is_done && c < topology->count; c++) {
        owner[c] = -1;
        if (!topology->cores[c].is_taken) {
            whole.cores[whole.core_count++] = c;
        }
    }
    for (int r = 0; is_done && r < ranks; r++) {
        whole.ranks[whole.rank_count++] = r;
    }
    is_done = is_done && spread_whole(&work, &whole, spread);
    part_close(&whole);
    return is_done;
}
