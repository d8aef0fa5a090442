/*
 * handover.h - how the ranks of a node come to share a segment that no launcher made.
 *
 * The node's first rank, the leader, makes the segment. The others get its descriptor, in
 * this order:
 *
 *   1. over an abstract socket of random name, whose two ends check that the other is the
 *      same user (such names can be listed by anyone);
 *   2. where a rank cannot reach that socket (a network namespace of its own), all of the
 *      node take a file in /dev/shm instead, of another random name, which is unlinked
 *      once all have mapped it or a deadline has passed; one that another user owns, may
 *      write to or has linked is not taken;
 *   3. where that fails too, the rank gets a segment of its own and counts as a node of
 *      its own.
 *
 * Rank 0 draws the job's secret, and leaves its settings (same.h). The leaders of other
 * nodes take the secret from the key-value store (secret.h), before the last fence.
 *
 * Attaching proves that two ranks share a node; what the launcher says is only a hint.
 */
#ifndef WEFT_WIREUP_HANDOVER_H
#define WEFT_WIREUP_HANDOVER_H

#include "wireup/kvs.h"

/* Collective over the job. On success `out` is a segment, shared or not. */
WEFT_MUST_CHECK enum weft_rc weft_handover(const struct weft_kvs_ops *kvs,
                                           struct weft_who *who,
                                           struct weft_segment *out);

/* Makes a segment for one process alone; `who` says its rank in the job. */
WEFT_MUST_CHECK enum weft_rc weft_handover_alone(struct weft_who *who,
                                                 struct weft_segment *out);

#endif
