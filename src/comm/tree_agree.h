/*
 * tree_agree.h - an agreement of the members of a new communicator, by messages up a tree
 * of them and down again (sched/tree.h). It advances whenever a thread polls.
 *
 * The members are those of `first` and then those of `second`, and have positions from 0
 * at the member number `root` of `first` on.
 *
 *   WEFT_AGREE_NUMBER  up goes the first number that is not 0, by position; everyone gets
 *                      it
 *   WEFT_AGREE_TABLE   up goes what everyone has put at its position in `table`; everyone
 *                      gets the whole
 *   WEFT_AGREE_UP      nothing but the news that all have begun, which the root gets
 *
 * Messages go over the channel with processes for ranks. An error does not stop it: the
 * others would wait. The caller fills in what is above the line, owns the struct and the
 * table, and keeps them until done() is called: under the lock, at the end, perhaps from
 * within weft_tree_agree_start(), with WEFT_ERR_NOMEM if nothing could begin.
 */
#ifndef WEFT_COMM_TREE_AGREE_H
#define WEFT_COMM_TREE_AGREE_H

#include "core/comm.h"
#include "sched/sched.h"

enum weft_agree_kind { WEFT_AGREE_NUMBER, WEFT_AGREE_TABLE, WEFT_AGREE_UP };

/* What keeps the messages of one agreement apart from all others. */
struct weft_channel {
    uint32_t context;
    enum weft_plane plane;
    int tag;
};

struct weft_tree_agree {
    enum weft_agree_kind kind;
    const struct weft_group *first;
    const struct weft_group *second; /* or NULL */
    int root;
    struct weft_channel channel;
    uint32_t number; /* WEFT_AGREE_NUMBER: mine, then the one agreed on */
    char *table;     /* WEFT_AGREE_TABLE: `entry_bytes` for each member, by position */
    size_t entry_bytes;
    void (*done)(struct weft_tree_agree *agree, enum weft_rc rc);
    void *owner; /* for done() */

    /* ---- */
    struct weft_sched sched;
    struct weft_graph graph;
    struct weft_data buffer; /* the receive buffer of the graph */
    struct weft_comm via;
};

/* The position of this process, which is a member. */
int weft_tree_agree_position(const struct weft_tree_agree *agree);

/* Under the lock. */
void weft_tree_agree_start(struct weft_tree_agree *agree);

#endif
