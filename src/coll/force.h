/*
 * force.h - algorithms that the user has chosen, by WEFT_COLL.
 *
 * The text is a list of "collective=algorithm", with commas between them. It is read
 * once, before any collective, and is the same on all ranks (wireup/same.h). A forced
 * algorithm is taken for every call that it fits; the others get what is chosen without
 * it. Whether it fits is the same on all members (algorithm.h).
 */
#ifndef WEFT_COLL_FORCE_H
#define WEFT_COLL_FORCE_H

#include "coll/algorithm.h"

#include <stddef.h>

/*
 * Reads the list, and keeps what it says in place of what was said before. On
 * WEFT_ERR_ARGUMENT nothing is forced, and `why` names the mistake and what could be
 * there instead.
 */
WEFT_MUST_CHECK enum weft_rc weft_force_read(const char *text, char *why, size_t room);

/* The algorithm for a call inside one group. */
const struct weft_algorithm *weft_force_choose(enum weft_coll_kind kind,
                                               const struct weft_shape *shape);

#endif
