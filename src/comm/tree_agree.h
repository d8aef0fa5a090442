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
 * Messages go over the channel with processes for ranks. The caller fills in what is
 * above the line, owns the struct and the table, and keeps them until done() is called:
 * under the lock, at the end, perhaps from within weft_tree_agree_start().
 *
 * Failures. An error does not stop an agreement: other members would wait. What travels
 * up says whether a member has failed or refuses (below), the root decides, and what
 * travels down says the same to all, so that all members that live get one code from
 * done(). Only where the root, or a member with others below it, dies after it has begun,
 * some members may get an error and others not. With WEFT_AGREE_UP the code is this
 * process's own.
 *
 * A living member may have got an error elsewhere and never begin. So a member that sees
 * another one fail gives up what would come up from below, and a process that is asked by
 * a member below it, of a communicator with a failed member, for an answer to an
 * agreement that it has not begun, refuses. Agreements of only some members of a
 * communicator (WEFT_PLANE_MAKE) do neither: each member waits for its neighbours in the
 * tree, and their tag can be used again.
 *
 * A member that lacks the memory to take part refuses: it sends its parent and its
 * children what says so, and waits for nothing. All get its code.
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
    int tag; /* on WEFT_PLANE_COLL an even one: answers, which go down, have the next */
};

/* What travels of a number. A refusal is one whose number is 0. */
struct weft_agree_word {
    uint32_t number;
    uint32_t rc; /* enum weft_rc: WEFT_OK, or why there is nothing to agree on */
};
_Static_assert(sizeof(struct weft_agree_word) == 8, "it travels");

struct weft_tree_agree {
    enum weft_agree_kind kind;
    const struct weft_group *first;
    const struct weft_group *second; /* or NULL */
    int root;
    struct weft_channel channel;
    struct weft_agree_word word; /* WEFT_AGREE_NUMBER: mine, then the one agreed on */
    /* WEFT_AGREE_TABLE: `entry_bytes` for each member, by position; zero but for ours. An
     * entry begins with a word that is not 0, or is the refusal of a member. */
    char *table;
    size_t entry_bytes;
    void (*done)(struct weft_tree_agree *agree, enum weft_rc rc);
    void *owner; /* for done() */

    /* ---- */
    struct weft_sched sched;
    struct weft_graph graph;
    struct weft_data buffer; /* the receive buffer of the graph */
    struct weft_comm via;
    struct weft_tree_agree *next; /* among those under way */
};

/* The position of this process, which is a member. */
int weft_tree_agree_position(const struct weft_tree_agree *agree);

/* The number of members. */
int weft_tree_agree_members(const struct weft_tree_agree *agree);

/*
 * weft_tree_agree_make() takes the memory, weft_tree_agree_start() starts, and one that
 * is not started is given back by weft_tree_agree_unmake(). weft_tree_agree_refuse() is
 * called in place of starting; it needs neither memory nor the table, and does not call
 * done(). All under the lock.
 */
WEFT_MUST_CHECK enum weft_rc weft_tree_agree_make(struct weft_tree_agree *agree);
void weft_tree_agree_start(struct weft_tree_agree *agree);
void weft_tree_agree_unmake(struct weft_tree_agree *agree);
void weft_tree_agree_refuse(const struct weft_tree_agree *agree, enum weft_rc rc);

/* Once, when the engine is open. */
void weft_tree_agree_open(void);

#endif
