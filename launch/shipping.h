/*
 * shipping.h - a list (ship.h) on its way through the tree: what each daemon wants, and
 * pieces of contents.
 *
 * A daemon answers FRAME_WANT for itself and all below it, once these have answered. Then
 * the pieces come, content by content in the order of the list. It stores them in its
 * folder, for those below too, and sends them on from there, so that a slow child costs
 * no memory: at most AHEAD bytes wait for a link. The root reads the user's files.
 *
 * All functions concern `job`; without --ship they do nothing.
 */
#ifndef WEFT_LAUNCH_SHIPPING_H
#define WEFT_LAUNCH_SHIPPING_H

#include "link.h"

#include <stdbool.h>
#include <stdint.h>

struct job;
struct child;
struct shipping;

/* What a child still gets. */
struct shipment {
    uint8_t *want; /* by content; NULL: it has not said it */
    int content;
    uint64_t at;
};

/* Looks at what this host has. False after telling the root why it cannot be used. */
bool shipping_begin(struct job *job);

/* Is all there that our ranks need? */
bool shipping_is_done(const struct job *job);

/* Tells our parent what we want, once all below us have. */
void shipping_tell_want(struct job *job);

/* Frames: what a child wants, and a piece. */
void shipping_on_want(struct job *job, struct child *child, const struct frame *frame,
                      const char *payload);
void shipping_on_piece(struct job *job, const struct frame *frame, const char *payload);

/* Has all come that was to come, and is not put in its place yet? */
bool shipping_has_come(const struct job *job);

/* Sends on what is there and what links take; for the loop. */
void shipping_tend(struct job *job);

/* Puts files where they belong, and makes the plan of it; false after a line. */
bool shipping_unload(struct job *job);

#endif
