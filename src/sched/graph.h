/*
 * graph.h - an operation of several steps, written down: what is done, and what waits for
 * what.
 *
 * A graph is one rank's part of a collective operation. Its steps name peers by number
 * (0 to n - 1) and data by spans: ranges of bytes in the user's send buffer, the user's
 * receive buffer, or scratch memory that whoever runs the graph provides. An edge says
 * that one step waits until another is over; steps without a path of edges between them
 * may run at the same time and must not write what the other reads or writes.
 *
 * A builder makes a graph from a shape and nothing else: it knows no communicator, no
 * address and no state of the process. So the same builder serves the library, which runs
 * the graph (sched.h), the tests, which run the graphs of all ranks against each other,
 * and a program that counts or predicts. Two ranks that call the same builder with the
 * same shape, except for the rank, get graphs that fit together. Messages to one peer
 * with one tag match in the order in which their steps start, so such steps are in an
 * order, or have different tags. Steps that wait for nothing start in the order of their
 * numbers.
 *
 * A graph does not change when it is run, so it can be run many times. There is no lock:
 * a graph belongs to whoever builds it. If memory runs out while it is built, it
 * remembers that (`rc`) and ignores what is added; a builder returns that code at its
 * end.
 */
#ifndef WEFT_SCHED_GRAPH_H
#define WEFT_SCHED_GRAPH_H

#include "base/rc.h"

#include <stdbool.h>
#include <stdint.h>

enum weft_step_kind {
    WEFT_STEP_SEND,   /* `from` to the peer */
    WEFT_STEP_RECV,   /* from the peer into `to` */
    WEFT_STEP_COPY,   /* `from` into `to` */
    WEFT_STEP_REDUCE, /* `from` is combined into `to`, which has the other operand */
    WEFT_STEP_CALL,   /* a function of the user: only on a thread of the user's in MPI */
    WEFT_STEP_WORD,   /* until a word in memory that processes share has a value */
    WEFT_STEP_WORK,   /* something that may block for long, such as work on a file */
    WEFT_STEP_KINDS,
};

enum weft_space {
    WEFT_SPACE_SEND, /* the user's send buffer: is not written */
    WEFT_SPACE_RECV,
    WEFT_SPACE_SCRATCH,
    WEFT_SPACES,
};

/*
 * Bytes of one block of a space. In a buffer with a datatype, offsets count packed bytes.
 * A space is one block, number 0, unless the operation gives every peer a block of its
 * own size and place. In scratch memory, the block is the number of the call of
 * weft_graph_scratch() that the span comes from; offsets count from the start of the
 * space.
 */
struct weft_span {
    uint8_t space; /* enum weft_space */
    uint32_t block;
    uint64_t offset;
    uint64_t bytes;
};

#define WEFT_NO_STEP UINT32_MAX
#define WEFT_NO_EDGE UINT32_MAX

struct weft_step {
    uint8_t kind;        /* enum weft_step_kind */
    uint32_t needs;      /* how often it is released before it starts: once by each edge
                          * that leads to it, and perhaps by somebody outside the graph */
    uint32_t first_edge; /* to the steps that wait for it, in the order of the edges */
    uint32_t last_edge;
    int32_t peer; /* SEND, RECV; else a number for whoever runs it */
    int32_t tag;  /* SEND, RECV: added to the schedule's tag */
    struct weft_span from;
    struct weft_span to;
};

struct weft_edge {
    uint32_t to; /* the step that waits */
    uint32_t next;
};

struct weft_graph {
    struct weft_step *steps;
    struct weft_edge *edges;
    uint32_t step_count;
    uint32_t edge_count;
    uint32_t step_room;
    uint32_t edge_room;
    uint64_t scratch; /* bytes of scratch memory that it needs */
    uint64_t unit; /* packed bytes of an element of a reduction: spans of scratch memory
                    * begin at a multiple of it; 0: of 16 */
    uint32_t scratch_blocks; /* calls of weft_graph_scratch() */
    enum weft_rc rc;
    bool is_truncated; /* a copy has less room than data: the caller is to be told */
};

/* Those with whom a rank exchanges data in a neighbourhood; the same rank may be there
 * more than once, and a negative one is nobody. */
struct weft_neighbourhood {
    int in;  /* how many send to this rank */
    int out; /* to how many it sends */
    const int *sources;
    const int *destinations;
    bool is_grid; /* neighbours are pairs, one in each direction: what goes to the first
                   * of a pair is the second's for whoever gets it */
};

struct weft_spread;

/* How the roots of an operation between two groups are told, in place of a rank. */
enum { WEFT_ROOT_ME = -1, WEFT_ROOT_NONE = -2 };

/*
 * All that a builder may look at. Peers 0 to n - 1 are the ranks of this rank's own
 * group; in an operation between two groups, n to n + remote - 1 are those of the other
 * one.
 */
struct weft_shape {
    int n;
    int rank;
    int root;
    int remote;           /* ranks of the other group; 0: there is none */
    uint64_t bytes;       /* of one rank's data; of the block that each rank gets */
    uint64_t given;       /* of the block that this rank gives, where that may differ */
    uint64_t unit;        /* bytes of the smallest part that can be reduced by itself */
    bool commutes;        /* the operation of a reduction does */
    bool is_in_place;     /* this rank's input is where its result goes */
    const uint64_t *to;   /* bytes of the block for each peer, where they differ */
    const uint64_t *from; /* bytes of the block of each peer, where they differ */
    const struct weft_neighbourhood *around;
    /* The call is blocking and its members share slots (coll/slots.h), in which they look
     * at each other's flags or meet. */
    bool has_slots;
    bool has_meetings;
    bool is_reached; /* and by all that is known, reach each other's memory */
    bool is_plain;   /* the reduction is predefined, and its elements have no gaps */
    int nodes;       /* that the ranks of this group are on; 0: one */
    int processors;  /* that all of them can use at the same time; 0: one each */
    const struct weft_spread *spread; /* spread.h; NULL: all ranks are on one node */
};

/* Fills an empty graph. On failure the caller frees it, as on success. */
typedef enum weft_rc weft_builder(const struct weft_shape *shape,
                                  struct weft_graph *graph);

/* Makes an empty graph; frees what a graph has. */
void weft_graph_init(struct weft_graph *graph);
void weft_graph_free(struct weft_graph *graph);

/* Allocates memory for this many steps and edges at once; more can be added later. */
void weft_graph_reserve(struct weft_graph *graph, uint32_t steps, uint32_t edges);

static inline struct weft_span weft_span(enum weft_space space, uint64_t offset,
                                         uint64_t bytes)
{
    return (struct weft_span){.space = (uint8_t)space, .offset = offset, .bytes = bytes};
}

/* The first bytes of one block. */
static inline struct weft_span weft_span_block(enum weft_space space, int block,
                                               uint64_t bytes)
{
    return (struct weft_span){
        .space = (uint8_t)space, .block = (uint32_t)block, .bytes = bytes};
}

/* Some bytes of a span. */
static inline struct weft_span weft_span_part(struct weft_span span, uint64_t offset,
                                              uint64_t bytes)
{
    span.offset += offset;
    span.bytes = bytes;
    return span;
}

/*
 * Scratch memory that no other span has: a block of its own. If the graph has a unit, the
 * runner of the graph must provide the memory, because the distance between elements may
 * be smaller than an element, and then two blocks cannot be one row of elements.
 */
struct weft_span weft_graph_scratch(struct weft_graph *graph, uint64_t bytes);

/* Adds a step that waits for nothing. Returns its number, or WEFT_NO_STEP. */
uint32_t weft_graph_add(struct weft_graph *graph, const struct weft_step *step);
uint32_t weft_graph_send(struct weft_graph *graph, int peer, struct weft_span from);
uint32_t weft_graph_recv(struct weft_graph *graph, int peer, struct weft_span to);
uint32_t weft_graph_copy(struct weft_graph *graph, struct weft_span from,
                         struct weft_span to);
uint32_t weft_graph_reduce(struct weft_graph *graph, struct weft_span from,
                           struct weft_span to);

/* `step` waits until `before` is over; WEFT_NO_STEP as either means: no edge. */
void weft_graph_after(struct weft_graph *graph, uint32_t step, uint32_t before);

/*
 * Is something wrong with the graph of one rank? Returns NULL, or what: kinds, peers,
 * spans outside the spaces, whose sizes are given, sizes that do not fit together, edges,
 * cycles. A step may need more releases than edges lead to it, but not fewer.
 */
const char *weft_graph_check(const struct weft_graph *graph, int n,
                             const uint64_t space_bytes[WEFT_SPACES]);

#endif
