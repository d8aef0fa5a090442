/*
 * agree.h - the members of a new communicator agree on its context; for the files of this
 * room. The rest of the communicator is filled in before. All calls need the lock.
 */
#ifndef WEFT_COMM_AGREE_H
#define WEFT_COMM_AGREE_H

#include "comm/tree_agree.h"

/* The channel of a call that all members of `comm` make, in the same order. */
struct weft_channel weft_channel_of_all(struct weft_comm *comm);

/* The channel of a call that only a string tells from others: without a parent. */
struct weft_channel weft_channel_of_string(const char *stringtag);

/* Who agrees, and over what. */
struct weft_agree_ask {
    struct weft_comm *parent; /* or NULL; lives until the request is freed */
    struct weft_group
        *group;     /* the members; of an intercommunicator, those of our side */
    bool is_inter;  /* both sides of `parent` agree, and each side once more */
    bool is_merged; /* both sides of `parent` agree, once */
    struct weft_channel channel;
    struct weft_channel local_channel; /* of the latter */
};

/*
 * Begins to agree on the context of `made`, whose members are among those that agree,
 * and, if `is_inter`, of its local one. A member that cannot begin refuses by itself.
 * When the request is complete without an error `made` has its context; otherwise it has
 * none, on all members that live.
 */
WEFT_MUST_CHECK enum weft_rc weft_agree_begin(const struct weft_agree_ask *ask,
                                              struct weft_comm *made,
                                              struct weft_request **out);

/* Starts an agreement, and waits until it is complete. */
WEFT_MUST_CHECK enum weft_rc
weft_agree(const char *call, const struct weft_agree_ask *ask, struct weft_comm *made);

/* In place of these: this member has nothing to agree on. All members get `rc`. */
void weft_agree_refuse(const struct weft_agree_ask *ask, enum weft_rc rc);

/*
 * Agrees with the members of a group on whether all of them have succeeded. The memory is
 * taken by weft_outcome_make(); one that is not agreed on is given back by
 * weft_outcome_unmake(). weft_outcome_wait() sends what this member has to say, and
 * returns the same on all members: WEFT_OK, or the failure of one of them. Where
 * weft_outcome_make() has failed, it says so to the others and returns at once.
 */
struct weft_outcome {
    struct weft_tree_agree tree;
    struct weft_request *request;
    enum weft_rc rc; /* of making it */
};
WEFT_MUST_CHECK enum weft_rc weft_outcome_make(struct weft_outcome *outcome,
                                               const struct weft_group *group,
                                               struct weft_channel channel);
WEFT_MUST_CHECK enum weft_rc
weft_outcome_wait(const char *call, struct weft_outcome *outcome, enum weft_rc rc);
void weft_outcome_unmake(struct weft_outcome *outcome);

/* Waits for a request of this room and frees it. */
WEFT_MUST_CHECK enum weft_rc weft_agree_wait(const char *call,
                                             struct weft_request *request);

/* The members of an intercommunicator in the order that both sides see; those of an
 * intracommunicator are one side, whoever owns its context: that of MPI_COMM_SELF is the
 * same in all processes. */
void weft_agree_sides(const struct weft_comm *comm, struct weft_tree_agree *tree);

/*
 * A communicator of `group` and perhaps `remote`, with an error handler: no context yet.
 * What it is made from may be NULL where that is given.
 */
WEFT_MUST_CHECK enum weft_rc weft_make_empty(struct weft_group *group,
                                             struct weft_group *remote,
                                             struct weft_errhandler *errhandler,
                                             struct weft_comm **out);

/* The end of one that got no context, and of its local one. */
void weft_make_undo(struct weft_comm *made);

void weft_agree_open(void);
void weft_agree_close(void);

/* unmake.c: what becomes of a communicator without references. */
void weft_unmake(struct weft_comm *comm);
void weft_unmake_open(void);
void weft_unmake_close(void);

#endif
