/*
 * same.h - settings that must be the same on all ranks, because they choose what two
 * ranks do with each other: the transports, and the algorithms of collectives.
 *
 * Inside a node, a rank writes its values to its slice. The header of the segment names
 * the first rank that did so, and all others compare their values with its values.
 * Between nodes, values travel through the launcher as one word: the checksum and the
 * beginning of each value.
 */
#ifndef WEFT_WIREUP_SAME_H
#define WEFT_WIREUP_SAME_H

#include "wireup/kvs.h"

#include <stddef.h>

#define WEFT_SAME_KEY "settings"

/*
 * Writes this rank's values to its slice, and compares them with those of the first rank
 * of this node. WEFT_ERR_ARGUMENT: they differ, and `why` names setting, ranks and
 * values.
 */
WEFT_MUST_CHECK enum weft_rc weft_same_in_node(const struct weft_segment *segment,
                                               uint32_t local_rank, char *why,
                                               size_t room);

/* Are all these settings of this process at their defaults? */
bool weft_same_is_default(void);

/* Writes values as a word for the launcher, of at most WEFT_KVS_VALUE_MAX characters. */
void weft_same_write(const struct weft_said *said, char *value);

/* Compares the values of `rank` with such a word of another rank. WEFT_ERR_ARGUMENT is as
 * above; a word that cannot be read is not compared. */
WEFT_MUST_CHECK enum weft_rc weft_same_compare(const struct weft_said *said, int rank,
                                               const char *value, int other, char *why,
                                               size_t room);

/* Leaves the word of rank 0 with the launcher. */
WEFT_MUST_CHECK enum weft_rc weft_same_leave(const struct weft_kvs_ops *kvs);

#endif
