/*
 * flags.h - blocking collectives of small data through slots (slots.h), without messages.
 *
 * A member writes what it gives to its line and shows it; whoever wants it awaits that
 * and reads. Reductions are of predefined operations only. Operands are combined in the
 * order of the ranks, from the last to the first, so that all members get the same bits.
 * flags_cost.c says which calls can be made so, and what they cost.
 */
#ifndef WEFT_COLL_FLAGS_H
#define WEFT_COLL_FLAGS_H

#include "coll/shape.h"
#include "coll/slots.h"

/* Takes the lock only if it has to wait for long. `word` is the call's (signature.h). */
WEFT_MUST_CHECK enum weft_rc weft_flags_run(const struct weft_coll *coll,
                                            const struct weft_shape *shape,
                                            struct weft_slots *slots, uint32_t word);

#endif
