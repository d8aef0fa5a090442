/*
 * coll_model.h - what tests of collectives put into the graphs of all ranks
 * (sched_model.h), and what the graphs cost.
 *
 * Bytes that are moved tell, by a hash that differs from run to run, whose block they are
 * of, for whom, and which of its bytes they are.
 *
 * An element of a reduction knows its number in the data, the ranks whose data are in it,
 * and, while they follow each other, the first of them and the one behind the last. A
 * reduction demands that both operands are the same element and have no rank in common;
 * if the operation does not commute, also that the ranks of the right one follow those of
 * the left one.
 *
 * Algorithms for several nodes are tried with many layouts of ranks on nodes.
 *
 * Every kind of call is of one family, and each family has a test that runs all
 * algorithms of its kinds in the table: test_coll_move.c, test_coll_reduce.c and
 * test_coll_around.c. test_coll_between.c runs what is between two groups.
 */
#ifndef WEFT_TEST_COLL_MODEL_H
#define WEFT_TEST_COLL_MODEL_H

#include "unit.h"

#include "coll/algorithms.h"
#include "coll/shape.h"
#include "sanitized.h"
#include "sched/spread.h"
#include "sched_model.h"

#include <stdlib.h>

/* Of many numbers of ranks, with a sanitizer, only some are tried. */
enum { RANKS_STEP = IS_SANITIZED ? 5 : 1 };

enum family { MOVES, REDUCES, AROUND };

static inline enum family family_of(enum weft_coll_kind kind)
{
    const struct weft_coll_facts *facts = weft_coll_facts(kind);

    if (facts->is_around) {
        return AROUND;
    }
    return facts->is_reduction ? REDUCES : MOVES;
}

/* The ith algorithm of a family that has graphs, or NULL. */
static inline const struct weft_algorithm *algorithm_of(enum family family, int i)
{
    const struct weft_algorithm *at;

    for (int k = 0; (at = weft_algorithm_at(k)) != NULL; k++) {
        if (family_of(at->kind) == family && at->build != NULL && i-- == 0) {
            return at;
        }
    }
    return NULL;
}

/* Fails with what is wrong (sched_model.h), and with what. */
static inline void check_right(const char *wrong, enum weft_coll_kind kind,
                               const char *name, int n)
{
    if (wrong != NULL) {
        fail_msg("%s %s of %d: %s", weft_coll_kind_name(kind), name, n, wrong);
    }
}

/* ---- bytes ---- */

static inline uint8_t symbol_of(uint32_t salt, int from, int to, uint64_t i)
{
    uint32_t hash = salt + 0x9e3779b9u * ((uint32_t)from + 1);

    hash = (hash ^ (hash >> 15)) * 0x85ebca6bu + (uint32_t)to;
    hash = (hash ^ (hash >> 13)) * 0xc2b2ae35u + (uint32_t)i;
    hash = (hash ^ (hash >> 16)) * 0x27d4eb2fu;
    return (uint8_t)(hash >> 24);
}

/* ---- elements ---- */

enum { RANK_WORDS = 5, RANKS_MOST = 32 * RANK_WORDS };

struct element {
    uint32_t number;
    uint16_t first;
    uint16_t behind;
    uint32_t ranks[RANK_WORDS];
};

enum { UNIT = sizeof(struct element) };

static inline struct element element_of(uint32_t number, int first, int behind)
{
    struct element element = {
        .number = number, .first = (uint16_t)first, .behind = (uint16_t)behind};

    for (int rank = first; rank < behind; rank++) {
        element.ranks[rank / 32] |= 1u << (rank % 32);
    }
    return element;
}

/* Writes or reads the element at a place that need not be aligned. */
static inline void put_element(uint8_t *at, struct element element)
{
    memcpy(at, &element, UNIT);
}

static inline struct element element_at(const uint8_t *at)
{
    struct element element;

    memcpy(&element, at, UNIT);
    return element;
}

static inline void combine(const struct element *left, struct element *right,
                           bool commutes)
{
    uint32_t any = 0;
    uint32_t both = 0;

    for (int i = 0; i < RANK_WORDS; i++) {
        any |= left->ranks[i];
        both |= left->ranks[i] & right->ranks[i];
        right->ranks[i] |= left->ranks[i];
    }
    if (left->number != right->number || any == 0 || both != 0 ||
        (!commutes && left->behind != right->first)) {
        fail_msg("element %u of ranks %u to %u is combined with element %u of ranks %u "
                 "to %u",
                 left->number, left->first, left->behind, right->number, right->first,
                 right->behind);
    }
    right->first = left->first;
}

static inline void combine_all(const uint8_t *from, uint8_t *to, uint64_t bytes,
                               bool commutes)
{
    assert_int_equal(bytes % UNIT, 0);
    for (uint64_t at = 0; at < bytes; at += UNIT) {
        const struct element left = element_at(from + at);
        struct element right = element_at(to + at);

        combine(&left, &right, commutes);
        put_element(to + at, right);
    }
}

/* Has an element what it must have? If the operation commutes, only the set of ranks says
 * anything. */
static inline void check_element(const uint8_t *at, struct element want, bool commutes)
{
    const struct element element = element_at(at);

    if (commutes) {
        want.first = element.first;
        want.behind = element.behind;
    }
    assert_memory_equal(&element, &want, UNIT);
}

/* ---- costs ---- */

/* Numbers of ranks for which costs are compared: all up to 33, then powers of two up to
 * 1,024 and their neighbours; with a sanitizer up to 129. 0: there are no more. */
enum { COST_RANKS_MOST = 1024 };

static inline int cost_ranks(int i)
{
    static const int more[] = {63,  64,  65,  127, 128, 129,  255,
                               256, 257, 511, 512, 513, 1023, COST_RANKS_MOST,
                               0};

    if (i < 32) {
        return i + 2;
    }
    return IS_SANITIZED && more[i - 32] > 129 ? 0 : more[i - 32];
}

/* Tags of steps would be those of other calls: no builder sets one. */
static inline void count_steps(const struct weft_graph *graph, struct weft_cost *cost)
{
    for (uint32_t i = 0; i < graph->step_count; i++) {
        const struct weft_step *step = &graph->steps[i];

        if (step->kind == WEFT_STEP_SEND) {
            cost->messages++;
            cost->bytes += step->from.bytes;
        }
        cost->reduced += step->kind == WEFT_STEP_REDUCE ? step->to.bytes : 0;
        if (step->tag != 0) {
            fail_msg("step %u has a tag", i);
        }
    }
}

static inline struct weft_cost count_model(const struct model *model)
{
    struct weft_cost cost = {0};

    for (int rank = 0; rank < model->n; rank++) {
        count_steps(&model->graphs[rank], &cost);
    }
    return cost;
}

/* Of all ranks, each graph by itself. */
static inline struct weft_cost count_built(weft_builder *build,
                                           const struct weft_shape *shape)
{
    struct weft_cost cost = {0};

    for (int rank = 0; rank < shape->n; rank++) {
        struct weft_shape of_rank = *shape;
        struct weft_graph graph;

        of_rank.rank = rank;
        weft_graph_init(&graph);
        assert_int_equal(build(&of_rank, &graph), WEFT_OK);
        count_steps(&graph, &cost);
        weft_graph_free(&graph);
    }
    return cost;
}

static inline void check_cost(struct weft_cost counted, struct weft_cost stated)
{
    assert_int_equal(counted.messages, stated.messages);
    assert_int_equal(counted.bytes, stated.bytes);
    assert_int_equal(counted.reduced, stated.reduced);
}

/* ---- nodes ---- */

/* Where the ranks are, for algorithms that want to know it. */
enum layout { ONE_NODE, BLOCKS, IN_TURN, UNEQUAL, SCATTERED, APART, LAYOUTS };

static inline uint32_t node_in(enum layout layout, int rank, int n)
{
    const uint32_t r = (uint32_t)rank;

    switch (layout) {
    case BLOCKS: /* of three, and the rest */
        return r / 3;
    case IN_TURN: /* on three */
        return r % 3;
    case UNEQUAL: /* one, then three, five, seven... */
        return (uint32_t)(r >= 1) + (r >= 4) + (r >= 9) + (r >= 16) + (r >= 25) +
               (r >= 36) + (r >= 49);
    case SCATTERED: /* on up to seven, the last ranks first */
        return symbol_of(7, n, 0, r) % 7;
    case APART:
        return r;
    default:
        return 0;
    }
}

/* The caller frees it; NULL: there is only one node. */
static inline struct weft_spread *spread_in(enum layout layout, int n)
{
    uint32_t node_of[COST_RANKS_MOST];
    struct weft_spread *spread;

    assert_true(n <= COST_RANKS_MOST);
    for (int rank = 0; rank < n; rank++) {
        node_of[rank] = node_in(layout, rank, n);
    }
    spread = weft_spread_make(node_of, n, COST_RANKS_MOST);
    assert_non_null(spread);
    if (spread->nodes > 1) {
        return spread;
    }
    free(spread);
    return NULL;
}

/* The spread that is tried. */
static struct weft_spread *tried_spread;

/* Does it need several nodes? */
static inline bool needs_nodes(const struct weft_algorithm *at)
{
    return at->fits != NULL &&
           !at->fits(&(struct weft_shape){.n = 2, .unit = 1, .commutes = true});
}

static inline bool fits_nodes(const struct weft_algorithm *at, int n, bool commutes)
{
    return at->fits == NULL ||
           at->fits(&(struct weft_shape){
               .n = n, .unit = 1, .commutes = commutes, .spread = tried_spread});
}

/* Of many ranks, not all layouts are tried: one with neighbours, and now and then one
 * without. */
static inline bool is_layout_tried(enum layout layout, int n)
{
    return n <= 32 || layout == (n % 2 == 0 ? BLOCKS : UNEQUAL) ||
           (layout == IN_TURN && n % 3 == 0);
}

/* Tries an algorithm with the layouts of n ranks that matter to it. */
static inline void try_layouts(const struct weft_algorithm *at, int n,
                               void (*try_one)(const struct weft_algorithm *at, int n))
{
    const int last = needs_nodes(at) ? LAYOUTS - 1 : ONE_NODE;
    int tried = 0;

    for (int layout = ONE_NODE; layout <= last; layout++) {
        tried_spread = spread_in((enum layout)layout, n);
        if ((last == ONE_NODE || is_layout_tried((enum layout)layout, n)) &&
            fits_nodes(at, n, true)) {
            try_one(at, n);
            tried++;
        }
        free(tried_spread);
        tried_spread = NULL;
    }
    assert_true(tried > 0 || n == 1);
}

/* Tries all algorithms of a family with `first` to `last` ranks. */
static inline void try_family(enum family family, int first, int last, int step,
                              void (*try_one)(const struct weft_algorithm *at, int n))
{
    const struct weft_algorithm *at;

    for (int i = 0; (at = algorithm_of(family, i)) != NULL; i++) {
        for (int n = first; n <= last; n += step) {
            try_layouts(at, n, try_one);
        }
    }
}

#endif
