/*
 * between.h - collectives between two groups: what each group gives, the other gets.
 *
 * Peers from n on are the ranks of the other group (struct weft_shape). In rooted
 * operations the root is in one group and takes part alone there; the shape says
 * WEFT_ROOT_ME at the root, and the root's rank in the other group.
 */
#ifndef WEFT_COLL_BETWEEN_H
#define WEFT_COLL_BETWEEN_H

#include "coll/coll.h"

/* The builder for an operation between two groups; there is one for each kind but scans
 * and neighbourhoods. */
weft_builder *weft_between_builder(enum weft_coll_kind kind);

#endif
