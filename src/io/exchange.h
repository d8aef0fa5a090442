/*
 * exchange.h - one rank's part of an exchange between ranks and aggregators, pass by pass
 * (plan.h), as graphs for sched/.
 *
 * Before data move, each rank tells each aggregator what it has in the aggregator's
 * windows of the pass: a head, with as many runs as fit, then the other runs. The ranks
 * whose extents meet these windows do so, so both sides know who speaks to whom.
 *
 *   weft_exchange_prepare()  without the lock: cuts this rank's pieces
 *   weft_exchange_heads()    graph: heads. Spaces: SEND `out`, RECV `in`
 *   weft_exchange_lists()    graph: what did not fit. Space SEND: weft_exchange_list();
 *                            RECV `lists`
 *   weft_exchange_moves()    graph: data between this rank's memory (space SEND of a
 *                            write, RECV of a read) and aggregators (SCRATCH), and work
 * on windows, in steps of a kind that the caller chooses:
 *                            weft_exchange_work() with the step's `peer`
 *
 * An aggregator has two buffers: messages of one window go on while another one is
 * written or read. Its own data need none, they go straight between memory and file.
 *
 * Faults are collected in `moved`. A rank without memory for the graphs of a pass has a
 * fault when the pass is prepared, and no rank may begin it: the caller has them agree.
 * For what a rank finds out later it needs no memory: messages for which there is none
 * are received and lost, or sent empty, so that no rank waits for ever.
 */
#ifndef WEFT_IO_EXCHANGE_H
#define WEFT_IO_EXCHANGE_H

#include "io/cut.h"
#include "io/window.h"
#include "sched/graph.h"

enum { WEFT_IO_HEAD_RUNS = 28 };

struct weft_io_head {
    uint64_t runs[WEFT_IO_PASS_WINDOWS];
    uint64_t bytes[WEFT_IO_PASS_WINDOWS];
    struct weft_io_run run[WEFT_IO_HEAD_RUNS];
};
_Static_assert(sizeof(struct weft_io_head) == 1408, "travels");

struct weft_exchange {
    /* Filled in by the caller. */
    const struct weft_io_plan *plan;
    const struct weft_io_extent *extents; /* of all ranks */
    int ranks;
    int rank;
    struct weft_access access;
    const struct weft_view *view;
    uint64_t position;     /* in the view, of the first byte of `data` */
    struct weft_data data; /* all of it is accessed */

    /* ---- */
    struct weft_io_cut cut;
    uint64_t pass;
    int mine; /* number of this rank as an aggregator, or -1 */
    int sources;
    int *source;                /* ranks that send heads to this one */
    struct weft_io_head *out;   /* one for each aggregator */
    struct weft_io_head *in;    /* one for each source */
    struct weft_io_run *lists;  /* runs that did not fit into heads */
    size_t list_runs;           /* all of them */
    struct weft_io_run **run;   /* all runs of each source, in one piece */
    struct weft_io_supply *use; /* of the window that is worked on */
    char *scratch;
    uint64_t half;                     /* bytes of one of the two buffers */
    int half_of[WEFT_IO_PASS_WINDOWS]; /* which of the two each window has */
    struct weft_moved moved;
};

/* Takes memory. On failure there is nothing to free. */
WEFT_MUST_CHECK enum weft_rc weft_exchange_make(struct weft_exchange *x);
void weft_exchange_free(struct weft_exchange *x);

/* The largest graph of a pass that is prepared has no more steps and edges. */
struct weft_exchange_need {
    uint32_t steps;
    uint32_t edges;
};

void weft_exchange_prepare(struct weft_exchange *x, uint64_t pass);
struct weft_exchange_need weft_exchange_need(const struct weft_exchange *x);

/* Notes that this rank has no memory for the pass. */
void weft_exchange_give_up(struct weft_exchange *x);

enum weft_rc weft_exchange_heads(struct weft_exchange *x, struct weft_graph *graph);
enum weft_rc weft_exchange_lists(struct weft_exchange *x, struct weft_graph *graph);
enum weft_rc weft_exchange_moves(struct weft_exchange *x, struct weft_graph *graph,
                                 uint8_t kind);

/* The runs that a span of weft_exchange_lists() sends. */
struct weft_data weft_exchange_list(const struct weft_exchange *x,
                                    const struct weft_span *span);

/* Without the lock: works on this rank's window number k of the pass, whose data have
 * arrived, or are to be sent. */
void weft_exchange_work(struct weft_exchange *x, int k);

#endif
