#include "sched/spread.h"

#include <stdlib.h>

/* ---- looking ---- */

/* The last of `count` numbers, which rise, that is not above `wanted`; there is one. */
static int last_up_to(const int *numbers, int count, int wanted)
{
    int low = 0;

    while (count > 1) {
        const int half = count / 2;

        if (numbers[low + half] <= wanted) {
            low += half;
            count -= half;
        } else {
            count = half;
        }
    }
    return low;
}

int weft_spread_node(const struct weft_spread *spread, int rank)
{
    return spread->is_in_order ? last_up_to(spread->begin, spread->nodes, rank)
                               : spread->node[rank];
}

int weft_spread_member(const struct weft_spread *spread, int rank)
{
    const int node = weft_spread_node(spread, rank);
    const int first = spread->begin[node];

    return spread->is_in_order
               ? rank - first
               : last_up_to(spread->order + first, weft_spread_size(spread, node), rank);
}

/* ---- making ---- */

/* Where the numbers are while it is made. */
struct draft {
    int *begin;
    int *order;
    int *node;
};

/* Gives nodes their numbers, and says whether the members of each are neighbours. */
static void number_nodes(struct weft_spread *spread, const uint32_t *node_of, int *number,
                         int *node)
{
    spread->is_in_order = true;
    for (int rank = 0; rank < spread->ranks; rank++) {
        int *known = &number[node_of[rank]];

        if (*known == 0) {
            *known = ++spread->nodes;
        } else if (node[rank - 1] != *known - 1) {
            spread->is_in_order = false;
        }
        node[rank] = *known - 1;
    }
}

/* begin[] and order[] from node[], by counting. */
static void sort_ranks(struct weft_spread *spread, const struct draft *draft)
{
    for (int rank = 0; rank < spread->ranks; rank++) {
        draft->begin[draft->node[rank] + 1]++;
    }
    spread->least = spread->ranks;
    for (int node = 0; node < spread->nodes; node++) {
        const int size = draft->begin[node + 1];

        spread->least = size < spread->least ? size : spread->least;
        spread->most = size > spread->most ? size : spread->most;
        draft->begin[node + 1] += draft->begin[node];
    }
    /* Now begin[node + 1] is the end of a node; then its begin, and moves to its place.
     */
    for (int rank = spread->ranks - 1; rank >= 0; rank--) {
        draft->order[--draft->begin[draft->node[rank] + 1]] = rank;
    }
    for (int node = 0; node < spread->nodes; node++) {
        draft->begin[node] = draft->begin[node + 1];
    }
    draft->begin[spread->nodes] = spread->ranks;
}

/* In order, begin[] says all. */
static struct weft_spread *trimmed(struct weft_spread *spread)
{
    const size_t numbers =
        (size_t)spread->nodes + 1 + (spread->is_in_order ? 0 : 2 * (size_t)spread->ranks);
    struct weft_spread *small =
        realloc(spread, sizeof(*spread) + numbers * sizeof(*spread->begin));

    small = small != NULL ? small : spread;
    small->begin = (const int *)(small + 1);
    small->order = small->is_in_order ? NULL : small->begin + small->nodes + 1;
    small->node = small->is_in_order ? NULL : small->order + small->ranks;
    return small;
}

struct weft_spread *weft_spread_make(const uint32_t *node_of, int ranks, uint32_t nodes)
{
    const size_t count = (uint32_t)ranks; /* not negative, which GCC does not see */
    int *number = calloc(nodes, sizeof(*number)); /* of each node, from 1 on */
    int *node = reallocarray(NULL, count, sizeof(*node));
    struct weft_spread found = {.ranks = ranks};
    struct weft_spread *spread = NULL;

    if (number != NULL && node != NULL) {
        number_nodes(&found, node_of, number, node);
        spread = calloc(1, sizeof(*spread) +
                               (2 * count + (size_t)found.nodes + 1) * sizeof(*node));
    }
    if (spread != NULL) {
        int *numbers = (int *)(spread + 1);
        struct draft draft = {numbers, numbers + found.nodes + 1,
                              numbers + found.nodes + 1 + ranks};

        for (int rank = 0; rank < ranks; rank++) {
            draft.node[rank] = node[rank];
        }
        *spread = found;
        sort_ranks(spread, &draft);
        spread = trimmed(spread);
    }
    free(number);
    free(node);
    return spread;
}
