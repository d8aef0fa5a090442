/*
 * sweep.h - one pass over the members of a communicator in the making: up a tree and
 * down again. It is a schedule: it goes on when somebody polls.
 *
 * The members are those of `first` and then those of `second`, and have places from 0 at
 * the member number `root` of `first` on. The tree is wide, because most of a member's
 * cost is to be woken: a parent has up to WEFT_SWEEP_FAN children, and the places below
 * one are a row, so that what comes from there is one block. A member sends one message
 * up and gets one down.
 *
 *   WEFT_SWEEP_NUMBER  up goes the first number that is not 0, by place; everyone gets it
 *   WEFT_SWEEP_TABLE   up goes what everyone has put at its place in `table`; everyone
 *                      gets the whole
 *   WEFT_SWEEP_UP      nothing but the news that all have begun, which the root gets
 *
 * Messages go over `context` with processes for ranks. The caller fills in what is above
 * the line, owns the sweep and the table, and keeps them until done() is called: under
 * the lock, at the end, perhaps from within weft_sweep_start().
 */
#ifndef WEFT_COMM_SWEEP_H
#define WEFT_COMM_SWEEP_H

#include "core/comm.h"
#include "core/request.h"

enum { WEFT_SWEEP_FAN = 16 };

enum weft_sweep_kind { WEFT_SWEEP_NUMBER, WEFT_SWEEP_TABLE, WEFT_SWEEP_UP };

struct weft_sweep {
    struct weft_schedule schedule; /* first */
    enum weft_sweep_kind kind;
    const struct weft_group *first;
    const struct weft_group *second; /* or NULL */
    int root;
    uint32_t context;
    enum weft_plane plane;
    int tag;
    uint32_t number; /* WEFT_SWEEP_NUMBER: mine, then the one agreed on */
    char *table;     /* WEFT_SWEEP_TABLE: `entry_bytes` for each member, by place */
    size_t entry_bytes;
    void (*done)(struct weft_sweep *sweep, enum weft_rc rc);
    void *owner; /* for done() */

    /* ---- */
    int place;
    int length; /* places of the subtree that begins with mine */
    int parent; /* -1: none */
    struct weft_comm via;
    int phase;
    int heard; /* children that a receive has been posted for */
    uint32_t numbers[WEFT_SWEEP_FAN];
    enum weft_rc rc;
    int pending;
    struct weft_request *requests[WEFT_SWEEP_FAN + 1];
};

/* The place of this process, which is a member. */
int weft_sweep_place(const struct weft_sweep *sweep);

/* Under the lock. */
void weft_sweep_start(struct weft_sweep *sweep);

#endif
