/*
 * sched.h - running a graph: the one engine behind every operation of several steps.
 *
 * A schedule is a graph (graph.h), the buffers that its spaces are, and the communicator
 * that its messages go over. Blocking operations start a schedule and wait for its
 * request; nonblocking ones start it and return; persistent ones start the same schedule
 * again and again. All of it happens under the library's lock, except for the work that
 * is listed below.
 *
 *   owner                                    here
 *   fills in the first part of the struct
 *   weft_sched_make()                        takes memory for the steps and the scratch
 *   weft_sched_start()                       starts all steps that wait for nothing
 *                                            a step is over: those behind it start
 *                                            all are over: done(), the request completes
 *   weft_sched_start() again, or
 *   weft_sched_free()                        gives the memory back
 *
 * A step that is over inside weft_sched_start() is nothing special: done() may be called
 * before weft_sched_start() returns. Steps are started from a queue, never from within
 * the end of another, so a long chain of steps does not grow the stack.
 *
 * Messages. Peers of the graph are ranks of `comm`, unless `route` says otherwise; the
 * tag is the sum of the schedule's and the step's. The schedule advances when whoever
 * polls runs the followers of requests (core/request.h), so also on the progress thread.
 *
 * Work outside the lock (engine/work.h). Copies and reductions of more than
 * WEFT_SCHED_LOCKED_BYTES are short work, for any thread that polls. Work that may block
 * has threads of its own. A user function runs only on a thread that the user has inside
 * MPI: while a schedule waits for such a thread, `needs_caller` is set.
 *
 * Words. A step may wait for a word in memory that processes share. Whoever polls looks
 * at it. The process that changes the word calls weft_node_notice() with
 * WEFT_WAKE_ANYTHING, which wakes this process if it sleeps.
 *
 * Errors. The first step that fails decides the code. By default no further step starts,
 * receives that have met no message are cancelled, and the schedule is over when the
 * steps under way are. With `goes_on` a step that failed counts as over: the others run,
 * so that no peer waits for a message that does not come. With `goes_on_truncated` that
 * is so for messages that were too long. With `is_exact` a message that is shorter than
 * its receive ends the step as one that is too long does. An owner that learns that
 * messages may never come gives up the receives (weft_sched_give_up_receives); the other
 * steps run.
 */
#ifndef WEFT_SCHED_SCHED_H
#define WEFT_SCHED_SCHED_H

#include "core/request.h"
#include "engine/work.h"
#include "p2p/p2p.h"
#include "sched/graph.h"

enum {
    WEFT_SCHED_LOCKED_BYTES = 4096,
    WEFT_SCHED_PIECE_BYTES = 4 << 20, /* of a copy, before the thread polls again */
};

struct weft_sched;

/* A rank in a communicator, and the tag of messages there, to which that of a step is
 * added. */
struct weft_route {
    struct weft_comm *comm;
    int rank;
    int tag;
};

/* What the owner does for a schedule; NULL where no step, or nobody, needs it. */
struct weft_sched_ops {
    /* Under the lock. How a peer is reached. NULL: it is a rank of sched->comm. */
    struct weft_route (*route)(const struct weft_sched *sched, int peer);
    /* A message is over: its request is still there. A send may show the shared one. */
    void (*heard)(struct weft_sched *sched, uint32_t step,
                  const struct weft_request *request);
    /* A message could not begin; the step is over, with this error. */
    void (*unbegun)(struct weft_sched *sched, uint32_t step, enum weft_rc rc);
    /* Looks at the word of this step. WEFT_AGAIN: it has not its value yet. Another code
     * ends the step: WEFT_OK, or why the word will never have it. */
    enum weft_rc (*word)(struct weft_sched *sched, const struct weft_step *step);
    /* The end; the schedule may be started again, or freed with its owner. */
    void (*done)(struct weft_sched *sched, enum weft_rc rc);

    /* With or without the lock. What a span is, in a space that is not given. */
    struct weft_data (*block)(const struct weft_sched *sched,
                              const struct weft_span *span);
    /* With or without the lock. Combines `from` into `to`. */
    void (*reduce)(const struct weft_sched *sched, const struct weft_data *from,
                   const struct weft_data *to);

    /* Without the lock. */
    enum weft_rc (*call)(struct weft_sched *sched, const struct weft_step *step);
    enum weft_rc (*work)(struct weft_sched *sched, const struct weft_step *step);
};

/* A step of a schedule that was started. */
struct weft_run {
    union {                            /* first */
        struct weft_schedule follower; /* of the request below */
        struct weft_work work;         /* outside the lock */
        struct weft_run *next;         /* in the queue of ready steps, or of words */
    };
    struct weft_sched *sched;
    const struct weft_step *step;
    struct weft_request *request; /* of a message that is under way, or NULL */
    uint32_t left;                /* releases that it still waits for */
    uint8_t state;                /* enum weft_run_state */
    uint8_t rc;                   /* enum weft_rc: of a call or work that has run */
    uint16_t pieces;              /* of a large copy, that are done; UINT16_MAX: all */
};
_Static_assert(sizeof(struct weft_run) == 64, "a step costs one cache line");

enum weft_run_state { WEFT_RUN_WAITS, WEFT_RUN_READY, WEFT_RUN_RUNS, WEFT_RUN_OVER };

struct weft_runs {
    struct weft_run *first;
    struct weft_run *last;
};

struct weft_sched {
    /* Filled in by the owner, and the owner's. */
    const struct weft_graph *graph;
    const struct weft_sched_ops *ops;
    struct weft_comm *comm; /* NULL: no step is a message */
    enum weft_plane plane;
    int tag;
    const struct weft_data *spaces[WEFT_SPACES]; /* the scratch is made, if it is NULL */
    struct weft_request *request; /* that is completed after done(), or NULL */
    struct weft_run *runs;        /* one for each step; NULL: they are made */
    bool goes_on;                 /* after an error */
    bool goes_on_truncated;       /* after a message that was too long for its buffer */
    bool is_exact; /* a message that is shorter than its receive is an error as well */
    bool reduces_by_call;      /* reduce() calls a function of the user */
    enum weft_rc receives_end; /* WEFT_OK, or the reason with which receives end that
                                * weft_sched_give_up_receives() gives up */
    int given_up_from;         /* these are the receives from this peer on */
    bool is_patient; /* nobody is woken for it: it waits until somebody polls anyway */

    /* ---- */
    struct weft_runs ready;
    uint32_t left;    /* steps that are not over */
    uint32_t running; /* of them, those under way */
    uint32_t calls;   /* of those, calls: a thread of the user's is needed */
    enum weft_rc rc;
    bool needs_caller;
    bool is_advancing; /* a thread starts what is ready */
    bool has_own_runs;
    struct weft_data scratch; /* that was made; no buffer: none was */
};

/* Once, when the engine is open: registers what it is to call. */
void weft_sched_open(void);

/* Takes the memory that the owner has not provided; on failure there is nothing to free.
 */
WEFT_MUST_CHECK enum weft_rc weft_sched_make(struct weft_sched *sched);
void weft_sched_free(struct weft_sched *sched);

/* With the lock. No step of an earlier start is under way. */
void weft_sched_start(struct weft_sched *sched);

/*
 * With the lock, of a schedule with `goes_on` that is under way: receives from the peers
 * `from` and above that have met no message end with `rc`, which is not WEFT_OK, and so
 * do later ones whose message is not there when they start. The schedule goes on from
 * there when a thread polls. An owner may set the same before it starts.
 */
void weft_sched_give_up_receives(struct weft_sched *sched, int from, enum weft_rc rc);

/* With the lock, of a schedule under way: no further step starts, and receives that have
 * met no message end. It is over with `rc` when what else is under way has ended. */
void weft_sched_fail(struct weft_sched *sched, enum weft_rc rc);

/* With the lock, of a schedule under way: calls visit() for the peers of messages that
 * are not complete, from step `first` on. Returns the step for which visit() has returned
 * false, or 0. */
int weft_sched_each_peer(const struct weft_sched *sched, int first,
                         bool (*visit)(void *argument, int peer), void *argument);

/* With the lock: a step that also waits for somebody outside is released once by them. */
void weft_sched_release(struct weft_sched *sched, uint32_t step);

/* With the lock. */
static inline bool weft_sched_is_over(const struct weft_sched *sched, uint32_t step)
{
    return sched->runs[step].state == WEFT_RUN_OVER;
}

#endif
