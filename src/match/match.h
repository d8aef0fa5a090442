/*
 * match.h - Portals' matching: which receive takes which message.
 *
 * A message has a context, a source and a tag; a receive names a context and may leave
 * source or tag open. The first match in posting order wins, and among waiting messages
 * the first that arrived. Cost does not grow with depth, wildcards included:
 *
 *     class        key
 *     exact        context, source, tag
 *     any tag      context, source
 *     any source   context, tag
 *     any both     context
 *
 * A posted receive is in one of the four, by what it leaves open; a waiting message is
 * linked into every class that receives have asked for.
 *
 * Each class is a hash of keys, each key a first-in first-out list. An arrival looks at
 * up to four heads, and the smallest running number wins; a receive looks at one head.
 *
 * The caller owns all entries: they are embedded in its objects and stay where they are
 * while they are in the matcher. All calls need the library's lock, so that looking for a
 * waiting message and posting is one step and no arrival falls between.
 */
#ifndef WEFT_MATCH_MATCH_H
#define WEFT_MATCH_MATCH_H

#include "base/rc.h"
#include "node/copy_share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_ANY_SOURCE = -1, WEFT_ANY_TAG = -2 }; /* as in the ABI */

enum weft_match_class {
    WEFT_MATCH_EXACT,
    WEFT_MATCH_ANY_TAG,
    WEFT_MATCH_ANY_SOURCE,
    WEFT_MATCH_ANY_BOTH,
    WEFT_MATCH_CLASSES,
};

struct weft_link {
    struct weft_link *next;
    struct weft_link *previous;
};

/* One key of one class. */
struct weft_match_node {
    struct weft_link head; /* first: a link's list leads back to its node */
    struct weft_match_node *next;
    uint32_t context;
    int32_t source;
    int32_t tag;
};

/*
 * The life of a posted receive. All of it happens under the lock but for one step: the
 * sender that was offered a receive claims it from another process. So an offered receive
 * is taken by an arrival or MPI_Cancel only if its offer can be taken back, in one
 * compare-and-swap on the word that the sender claims (copy_share.h).
 */
enum weft_posted_state {
    WEFT_POSTED_FREE,
    WEFT_POSTED,
    WEFT_POSTED_CLAIMED, /* by a sender that stores into it: no longer linked */
    WEFT_POSTED_MATCHED,
    WEFT_POSTED_CANCELLED,
    WEFT_POSTED_AWAY, /* the network matches it, and nobody here (p2p/tagged.h) */
};

struct weft_posted {
    struct weft_link link;
    uint64_t number; /* in posting order */
    uint32_t context;
    int32_t source;                /* or WEFT_ANY_SOURCE */
    int32_t tag;                   /* or WEFT_ANY_TAG */
    uint32_t state;                /* enum weft_posted_state */
    struct weft_copy_share *offer; /* NULL: not offered */
    uint32_t offer_generation;
};

struct weft_waiting {
    struct weft_link link[WEFT_MATCH_CLASSES];
    struct weft_link all; /* in order of arrival */
    uint64_t number;
    uint32_t context;
    int32_t source;
    int32_t tag;
};

struct weft_match_index {
    struct weft_match_node **buckets;
    uint32_t bucket_count; /* a power of two, or 0 */
    uint32_t node_count;
    struct weft_match_node *last; /* found last: the next one is often the same */
};

struct weft_match {
    struct weft_match_index posted[WEFT_MATCH_CLASSES];
    struct weft_match_index waiting[WEFT_MATCH_CLASSES];
    bool is_indexed[WEFT_MATCH_CLASSES]; /* waiting messages are linked into this class */
    bool is_indexed_wild;                /* into any but the exact one */
    uint32_t posted_wild;                /* receives that leave something open */
    uint32_t posted_count[WEFT_MATCH_CLASSES];
    uint32_t waiting_count;
    struct weft_link all; /* of waiting messages */
    uint64_t next_posted;
    uint64_t next_waiting;
};

void weft_match_init(struct weft_match *match);
void weft_match_fini(struct weft_match *match);

/* Posts a receive behind all others. WEFT_ERR_NOMEM: nothing was posted. */
WEFT_MUST_CHECK enum weft_rc weft_match_post(struct weft_match *match,
                                             struct weft_posted *entry);

/* Is any receive posted? If not, a caller need not ask weft_match_arrive(). */
static inline bool weft_match_has_posted(const struct weft_match *match)
{
    return (match->posted_count[WEFT_MATCH_EXACT] | match->posted_wild) != 0;
}

/* Takes a posted receive out of the indexes; false if a sender has claimed its offer. */
bool weft_match_cancel(struct weft_match *match, struct weft_posted *entry);

/*
 * May a posted receive with named source and tag be offered to its sender? Only if every
 * older receive that could take the same message has itself been offered to that sender
 * (`offer` and `offer_generation` are set then).
 */
bool weft_match_may_offer(struct weft_match *match, const struct weft_posted *entry);

/* A sender has claimed the offer of this receive: takes the receive out of the indexes,
 * unless an arrival has noticed the claim before. */
void weft_match_claimed(struct weft_match *match, struct weft_posted *entry);

/* The receive that takes this arrival, taken out, or NULL. */
struct weft_posted *weft_match_arrive(struct weft_match *match, uint32_t context,
                                      int32_t source, int32_t tag);

/* Keeps a message that found no receive, behind all others. */
WEFT_MUST_CHECK enum weft_rc weft_match_keep(struct weft_match *match,
                                             struct weft_waiting *entry);

/* The waiting message that a receive with these (or wild) values takes, or NULL. */
struct weft_waiting *weft_match_find(struct weft_match *match, uint32_t context,
                                     int32_t source, int32_t tag);

/* The oldest waiting message for which `is_it` is true, or NULL. */
struct weft_waiting *weft_match_find_if(const struct weft_match *match,
                                        bool (*is_it)(const struct weft_waiting *entry));

/* The oldest waiting message of a context whose tag is below `limit`, or NULL. Looks at
 * all waiting messages. */
struct weft_waiting *weft_match_find_below(const struct weft_match *match,
                                           uint32_t context, int32_t limit);

/* `to` is a copy of the waiting message `from` and takes its place. */
void weft_match_move(struct weft_match *match, struct weft_waiting *from,
                     struct weft_waiting *to);

/* Takes a waiting message out. */
void weft_match_take(struct weft_match *match, struct weft_waiting *entry);

#endif
