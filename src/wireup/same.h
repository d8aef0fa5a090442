/*
 * same.h - settings that must be the same on all ranks, because they choose what two
 * ranks do with each other: the transports, and the algorithms of collectives.
 *
 * In a node, a rank says its values in its slice, and the first to do so is noted in the
 * header of the segment: all others compare with it. Between nodes values go through the
 * launcher, as one word: checksum and beginning of each value.
 */
#ifndef WEFT_WIREUP_SAME_H
#define WEFT_WIREUP_SAME_H

#include "wireup/kvs.h"

#include <stddef.h>

#define WEFT_SAME_KEY "settings"

/*
 * Says this rank's values, and compares them with those of who was first on this node.
 * WEFT_ERR_ARGUMENT: they differ, and `why` says in what.
 */
WEFT_MUST_CHECK enum weft_rc weft_same_in_node(const struct weft_segment *segment,
                                               uint32_t local_rank, char *why,
                                               size_t room);

/* Has this process nothing but defaults? */
bool weft_same_is_default(void);

/* What was said, as a word for the launcher, of at most WEFT_KVS_VALUE_MAX characters. */
void weft_same_write(const struct weft_said *said, char *value);

/* Compares what `rank` has said with such a word of another rank, as above. A word that
 * is none says nothing. */
WEFT_MUST_CHECK enum weft_rc weft_same_compare(const struct weft_said *said, int rank,
                                               const char *value, int other, char *why,
                                               size_t room);

/* Leaves the word of rank 0 with the launcher. */
WEFT_MUST_CHECK enum weft_rc weft_same_leave(const struct weft_kvs_ops *kvs);

#endif
