/*
 * tree.h - the daemons of a job: starting them, speaking with them, missing them.
 *
 * mpiexec starts up to FAN_OUT daemons, and each of them the daemons of its own range, so
 * that a thousand hosts are three steps away and nobody holds more than two descriptors
 * for each of 16 children. Every link carries a sign of life at least four times in the
 * time after which silence means death (WEFT_HEARTBEAT). A daemon that loses its parent
 * ends all it has; one that loses a child tells the root, which ends the job.
 *
 * Silence counts only while we listen: the time for which we ourselves were stopped, had
 * no processor or did something else is subtracted. A daemon that is about to do
 * something that may take long says so (tree_be_busy), and may then be silent for
 * TREE_START_NS.
 *
 * All functions concern the tree in `job`; without children and parent they do nothing.
 */
#ifndef WEFT_LAUNCH_TREE_H
#define WEFT_LAUNCH_TREE_H

#include "bytes.h"
#include "link.h"
#include "rsh.h"
#include "shipping.h"

#include <stdint.h>

struct job;

struct child {
    struct link link;
    struct rsh rsh;
    struct bytes said; /* what came from its standard error, as much as is of use */
    uint64_t said_at;
    int number;           /* of the daemon, the first of its range */
    int count;            /* daemons of the range */
    int status;           /* of the way, once it has ended */
    uint64_t begun;       /* when it was started */
    uint64_t cut;         /* when the link ended; 0: it has not */
    struct shipment feed; /* what is shipped to it */
    bool is_booted;       /* its shell has got the daemon */
    bool is_waiting_said; /* the user knows that we wait for its greeting */
    bool is_reaped;
    bool is_ready;
    bool has_arrived; /* in the barrier */
    bool has_ended;   /* its ranks have */
    bool has_closed;
    bool is_gone; /* nothing more is expected of it */
};

struct tree {
    int me;    /* our number */
    int count; /* daemons in our range, with us */
    struct link up;
    bool has_up;
    bool is_cut_off; /* our parent is gone */
    struct child *children;
    int child_count;
    struct bytes setup; /* what children are told first */
    uint64_t looked;    /* when links were last looked after */
    bool is_busy;       /* we have told our neighbours that we may be silent */
    frame_fn *on_frame; /* what is done with a frame; set before anything is read */
};

/* How long starting a process may take, here or on another host. */
#define TREE_START_NS UINT64_C(60000000000)

/* Starts the daemons of our range; `setup` has been packed. */
void tree_grow(struct job *job);

/* Descriptors, processes and the clock. */
void tree_on_up(struct job *job);
void tree_on_child(struct job *job, int child);
void tree_on_child_error(struct job *job, int child);
bool tree_reap(struct job *job, pid_t pid, int status); /* was it one of ours? */
void tree_tend(struct job *job, uint64_t now);
/* Before the loop sleeps: it wakes up when a link takes more of the frames that wait. */
void tree_watch(struct job *job);
int tree_patience_ms(const struct job *job); /* -1: for ever */

/* We have lost our parent: ends all that we have. */
void tree_cut_off(struct job *job, const char *why);

#endif
