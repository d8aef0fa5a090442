/*
 * hints.h - what the user has promised about a communicator (MPI-5.0, 7.4.4).
 *
 * The assertions of the standard are kept as bits, all off by default; other keys, and
 * values that are neither "true" nor "false", are ignored. Weft uses none of
 * them; MPI_Comm_get_info() returns them. A duplicate copies the bits; one with its
 * own info object starts from 0. Calls with an info object need the library's lock.
 */
#ifndef WEFT_CORE_HINTS_H
#define WEFT_CORE_HINTS_H

#include "core/info.h"

enum weft_hint {
    WEFT_HINT_NO_ANY_TAG = 1,
    WEFT_HINT_NO_ANY_SOURCE = 2,
    WEFT_HINT_EXACT_LENGTH = 4,
    WEFT_HINT_ALLOW_OVERTAKING = 8,
    WEFT_HINT_STRICT_PERSISTENT_ORDER = 16,
};

/* Takes the assertions in `info`, where NULL is empty, over into *hints. */
void weft_hints_update(uint32_t *hints, const struct weft_info *info);

/* A new info object that tells them, and the kinds of memory that buffers may be. */
WEFT_MUST_CHECK enum weft_rc weft_hints_to_info(uint32_t hints, struct weft_info **out);

#endif
