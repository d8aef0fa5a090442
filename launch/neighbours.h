/*
 * neighbours.h - the daemons next to us in the tree: what they are told, signs of life,
 * what all of them have done, and dropping them. Nothing here changes the state of the
 * job.
 */
#ifndef WEFT_LAUNCH_NEIGHBOURS_H
#define WEFT_LAUNCH_NEIGHBOURS_H

#include "tree.h"

/* Sends to all children. */
void tree_tell(struct job *job, enum frame_kind kind, int value);
/* Sends to all children, about a rank. */
void tree_tell_rank(struct job *job, enum frame_kind kind, int rank, int value);
/* Sends to wherever frame->to is, which is not this daemon. */
void tree_send(struct job *job, const struct frame *frame, const void *payload);
/* Sends to the root, from a daemon that is not the root. */
void tree_report(struct job *job, enum frame_kind kind, int rank, int value,
                 const void *payload, size_t bytes);
/* Sends to the parent, about the whole range. */
void tree_answer(struct job *job, enum frame_kind kind);

/* What all children have done. */
bool tree_is_ready(const struct job *job);
bool tree_has_arrived(const struct job *job);
bool tree_has_ended(const struct job *job);
bool tree_is_gone(const struct job *job);

/*
 * From now on, or no longer, we do something during which links are not looked after. In
 * the meantime tree_show_life() is to be called now and then: it sends the signs of life
 * that are due, and does nothing else.
 */
void tree_be_busy(struct job *job, bool is_busy);
void tree_show_life(struct job *job);

/* The job is to end: drops the children that have not answered yet. */
void tree_give_up_starting(struct job *job);

/* Sends a sign of life to a neighbour to which nothing was said for long. */
void tree_beat_if_due(struct job *job, struct link *link, uint64_t now);

/* Calls `act` for every neighbour that knows of the job. */
void tree_for_each_link(struct job *job, uint64_t now,
                        void (*act)(struct job *job, struct link *link, uint64_t now));

/* Closes the link to a child. */
void child_drop_link(struct child *child);

/* Closes the link, ends the process that leads to the child, and expects nothing more of
 * it. */
void child_drop(struct child *child);

/* Drops all that is left, at the end. */
void tree_fell(struct job *job);

#endif
