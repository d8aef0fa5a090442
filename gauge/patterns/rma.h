/*
 * rma.h - between the points of the pattern `rma` and what its ends do in each.
 */
#ifndef GAUGE_RMA_H
#define GAUGE_RMA_H

#include "gauge/patterns/buffers.h"

enum { GAUGE_MOST_PARTNERS = 255 };

/* One end, at the point being measured. */
struct rma {
    struct gauge_bench *bench;
    struct buffers buffers; /* a place for each operation of a burst */
    unsigned char *window;  /* this end's part, places for every end's burst */
    size_t size;            /* bytes of an operation */
    int burst;              /* operations of one end in an epoch */
    int partners;           /* ends from 1 on that take part with end 0 */
    unsigned long loops;    /* of work, 0: none */
    bool is_settling;       /* before the clock: no work */
};

/*
 * One of the paper's tests: what end 0, which is timed, and each of its partners do.
 * `before` and `after` are outside of the clock, once for each sample, and may be NULL.
 */
struct rma_test {
    const char *name;                            /* of its points */
    const char *title;                           /* as --test calls it */
    enum gauge_rc (*before[2])(struct rma *rma); /* [0]: end 0, [1]: a partner */
    enum gauge_rc (*act[2])(struct rma *rma);
    enum gauge_rc (*after[2])(struct rma *rma);
    /* Where bytes are made, and where they are found. */
    enum rma_bytes {
        RMA_NOTHING,
        RMA_PUT,   /* by end 0, into the partner's window */
        RMA_SWAP,  /* by each of two, into the other's window */
        RMA_SEND,  /* the same, by messages */
        RMA_GET,   /* from the partner's window, by end 0 */
        RMA_GATHER /* by all partners, into the window of end 0 */
    } bytes;
    enum rma_kind {
        RMA_SIZES,  /* a point for each message size, one operation in an epoch */
        RMA_BURSTS, /* the same with a burst of operations */
        RMA_WORK,   /* a point for each interval of work */
        RMA_COUNTS  /* a point for each number of partners */
    } kind;
    const char *key; /* condition of the points: "origins"; NULL for sizes */
    int divide;      /* epochs of an operation that is timed */
    bool is_single;  /* its samples are not batched */
};

extern const struct rma_test gauge_rma_tests[]; /* ends with an empty row */

/* The place of an operation, among those of a buffer or of the window's part for an end
 * that is `from` ends behind the first. */
static inline size_t rma_place(const struct rma *rma, int from, int i)
{
    return ((size_t)from * (size_t)rma->burst + (size_t)i) * rma->size;
}

#endif
