/*
 * shown.h - a list of regions that its owner shows to other processes. The regions lie in
 * an extent of the segment's heap, the table; what is said about it lies in words that
 * are shared, too, and zero at first.
 *
 * One process changes them, one thread at a time. The version is odd while it does so.
 * Whoever reads takes the version, copies, and takes the version again: if that is
 * another one, the copy is worth nothing. A copy is as good as the table while the
 * version stays.
 *
 * Order. What belongs to a version is stored with release after the odd number, and
 * before the even one, which is stored with release, too. It is loaded with acquire
 * between both looks at the version. So whoever sees a word of a change sees that the
 * version has changed. The table itself never becomes less than its readers know: an
 * extent that was shown stays until the end.
 */
#ifndef WEFT_RMA_SHOWN_H
#define WEFT_RMA_SHOWN_H

#include "node/heap.h"
#include "rma/regions.h"

#include <stdatomic.h>

/* Instead of a count: the list is not shown, and never will be again. */
#define WEFT_SHOWN_NOTHING UINT64_MAX

struct weft_shown {
    _Atomic uint64_t version;
    _Atomic uint64_t count;
    _Atomic uint64_t table_at; /* the extent */
    _Atomic uint64_t table_bytes;
};

/* A word of the table: base and bytes of each region in turn. */
typedef _Atomic uint64_t weft_shown_word;

/* Bytes that a table of so many regions has. */
static inline uint64_t weft_shown_bytes(uint64_t count)
{
    return count * 2 * sizeof(weft_shown_word);
}

/* What one version says. */
struct weft_shown_head {
    uint64_t version;
    uint64_t count;
    struct weft_extent extent;
};

/* By the owner: shows the list, which has room in the table; the regions below the number
 * `from` are in it as they are. */
void weft_shown_change(struct weft_shown *shown, struct weft_extent extent,
                       weft_shown_word *table, const struct weft_regions *list,
                       size_t from);

/* By the owner: shows nothing from now on. */
void weft_shown_hide(struct weft_shown *shown);

static inline uint64_t weft_shown_version(struct weft_shown *shown)
{
    return atomic_load_explicit(&shown->version, memory_order_acquire);
}

/* By others: what the table is. False: it changes at this moment. */
WEFT_MUST_CHECK bool weft_shown_look(struct weft_shown *shown,
                                     struct weft_shown_head *head);

/* By others: copies the table of a version, for whose regions the list has room. False:
 * there is another version now. */
WEFT_MUST_CHECK bool weft_shown_copy(struct weft_shown *shown,
                                     const struct weft_shown_head *head,
                                     weft_shown_word *table, struct weft_regions *list);

#endif
