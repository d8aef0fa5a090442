/*
 * sched_model.h - graphs without a library: the graphs of all ranks of one builder are
 * run against each other in one process, in a random order, and checked beforehand.
 *
 * A rank begins at a random time: then its steps that wait for nothing are started, in
 * the order of their numbers. All others run in any order that the edges allow.
 *
 * Messages match by source, destination and tag in the order in which their steps were
 * started. A send is over at once, with a copy of its data, or only when it is received,
 * with the data that it has then: `eager` says how many of ten are of the first kind. A
 * graph that works with none works with any transport.
 */
#ifndef WEFT_TEST_SCHED_MODEL_H
#define WEFT_TEST_SCHED_MODEL_H

#include "sched/graph.h"

#include <stddef.h>

struct model {
    int n;
    struct weft_graph *graphs;         /* one for each rank */
    uint64_t space_bytes[WEFT_SPACES]; /* the same on all ranks, but for scratch */
    uint8_t **spaces[WEFT_SPACES];     /* [space][rank] */
    void (*reduce)(const uint8_t *from, uint8_t *to, uint64_t bytes);
    /* Where a block of a space begins; NULL: block i at i * block_bytes. */
    uint64_t (*block_at)(const struct model *model, int rank, int space, uint32_t block);
    uint64_t block_bytes;
    /* Copies the bytes of a span to the memory of its space, or out of it; NULL: spaces
     * are packed bytes. */
    void (*move)(const struct model *model, int rank, struct weft_span span,
                 uint8_t *bytes, bool is_store);
    void *layout; /* for that */
    /* May a rank not be through before another has begun? NULL: it may. */
    bool (*waits_for)(const struct model *model, int rank, int other);
    int late; /* one more than the rank that begins only when nobody else can go on */
    uint32_t random;
};

/* Builds the graphs of n ranks; spaces are zero. Fails the test if it cannot. */
void model_open(struct model *model, weft_builder *build, const struct weft_shape *shape,
                uint64_t send_bytes, uint64_t recv_bytes);
void model_close(struct model *model);

/* NULL, or what is wrong: a graph by itself, messages that do not fit together, or two
 * steps of one rank that may run at once and touch the same bytes. */
const char *model_check(struct model *model);

/* Runs all graphs to their end. NULL, or what is wrong. */
const char *model_run(struct model *model, int eager, uint32_t seed);

uint32_t model_random(struct model *model, uint32_t below);

#endif
