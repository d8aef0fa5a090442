/*
 * picture.c - where a rank is bound, in words and as a picture: see placement.h.
 */
#include "placement.h"

#include <stdio.h>

size_t placement_list(const cpu_set_t *set, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int c = 0; c < CPU_SETSIZE && used < size; c++) {
        int last = c;

        if (!CPU_ISSET((size_t)c, set)) {
            continue;
        }
        while (last + 1 < CPU_SETSIZE && CPU_ISSET((size_t)last + 1, set)) {
            last++;
        }
        used +=
            (size_t)snprintf(text + used, size - used, "%s%d", used > 0 ? "," : "", c);
        if (last > c && used < size) {
            used += (size_t)snprintf(text + used, size - used, "-%d", last);
        }
        c = last;
    }
    return used < size ? used : size - 1;
}

static char letter_of(const struct core *core, const cpu_set_t *set)
{
    cpu_set_t common;

    CPU_AND(&common, set, &core->whole);
    if (CPU_COUNT(&common) == 0) {
        return core->is_taken ? 'x' : '.';
    }
    return CPU_EQUAL(&common, &core->whole) ? 'B' : 'b';
}

/* A letter for each core; threads of one are neighbours. */
static void draw(const struct topology *topology, const cpu_set_t *set, char *text,
                 size_t size)
{
    const struct core *before = NULL;
    size_t used = 0;

    for (int c = 0; c < topology->count && used + 5 < size; c++) {
        const struct core *core = &topology->cores[c];

        if (before == NULL) {
            text[used++] = '[';
        } else if (before->group[LEVEL_CORE] == core->group[LEVEL_CORE]) {
            continue;
        } else if (before->group[LEVEL_SOCKET] != core->group[LEVEL_SOCKET]) {
            text[used++] = ']';
            text[used++] = '[';
        } else if (before->group[LEVEL_NUMA] != core->group[LEVEL_NUMA]) {
            text[used++] = '|';
        }
        text[used++] = letter_of(core, set);
        before = core;
    }
    text[used++] = ']';
    text[used] = '\0';
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
    used = (size_t)snprintf(text, size, "bound to processors ");
    used += placement_list(set, text + used, size - used);
    if (used + 8 < size) {
        text[used++] = ' ';
        draw(&placement->topology, set, text + used, size - used);
    }
}
