/*
 * mr_cache.h - registrations of the program's memory, of which those of lasting memory
 * (transport/lasting.h) are kept for the next operation.
 *
 * A registration is taken for an operation, or for a window, and given back. Of memory
 * that does not last, and where the cache is off, it is made for what was asked and ends
 * when it is given back. Of lasting memory it stays, for the whole range if that is short
 * enough, until its range ends, or others need its place: at most WEFT_MR_CACHE_COUNT are
 * kept, of WEFT_MR_CACHE_BYTES together. The one that was used longest ago goes first,
 * and never one in use. A registration that the provider refuses for want of memory is
 * tried again with kept ones given up for it.
 *
 * The cache is on where the provider demands registrations that cost something
 * (FI_MR_LOCAL, FI_MR_ALLOCATED) and keeps none itself.
 *
 * Peers. A kept registration for peers lets a peer that has its key reach the memory
 * after its operation. No protocol of ours does so; a peer that was given up may still
 * be at it, so then all that are for peers end (weft_mr_cache_forget_peers).
 *
 * Fork. The child uses and releases none: both would change what the parent has at the
 * device. In the parent, those that are kept end at the next use after a fork: where the
 * kernel shares pages of a registration with a child, the first who writes gets another
 * page, which the device does not know.
 *
 * All functions are called with the library's lock held.
 */
#ifndef WEFT_OFI_MR_CACHE_H
#define WEFT_OFI_MR_CACHE_H

#include "transport/lasting.h"
#include "transport/ofi/common/fabric.h"

enum {
    WEFT_MR_CACHE_COUNT = 256,
    WEFT_MR_CACHE_BYTES = 256 * 1024 * 1024,
    WEFT_MR_CACHE_WHOLE = 16 * 1024 * 1024, /* longer ranges are registered in pieces */
};

/* A registration; it belongs to the cache. */
struct weft_mr {
    struct weft_mr *next; /* of those that are kept; the last used is the first */
    struct weft_mr **link;
    struct fid_mr *mr;
    uintptr_t base;
    size_t bytes;
    uint64_t access;
    uint32_t users;
    bool is_kept;
};

struct weft_mr_cache {
    struct weft_lasting_watch watch; /* first */
    struct weft_ofi *ofi;            /* NULL: it is not open */
    struct weft_mr *kept;
    size_t count; /* of those that are kept */
    size_t bytes;
    size_t count_most;
    size_t bytes_most;
    uint64_t forks; /* that were looked at */
    uint64_t made;  /* registrations, of all memory */
    uint64_t found; /* uses of one that was there */
    bool is_on;
};

/* The caller has opened the domain. */
void weft_mr_cache_open(struct weft_mr_cache *cache, struct weft_ofi *ofi);

/* Ends what is kept and not in use. */
void weft_mr_cache_close(struct weft_mr_cache *cache);

/* Memory for FI_SEND, FI_RECV, FI_READ, FI_WRITE and the REMOTE ones. *out goes back by
 * weft_mr_cache_give(). WEFT_AGAIN: not now. */
WEFT_MUST_CHECK enum weft_rc weft_mr_cache_take(struct weft_mr_cache *cache,
                                                const void *memory, size_t bytes,
                                                uint64_t access, struct weft_mr **out);

/* The same for memory that no peer reads or writes; *out is NULL where the provider does
 * not need it. */
WEFT_MUST_CHECK enum weft_rc weft_mr_cache_take_local(struct weft_mr_cache *cache,
                                                      const void *memory, size_t bytes,
                                                      uint64_t access,
                                                      struct weft_mr **out);

/* NULL is allowed. */
void weft_mr_cache_give(struct weft_mr_cache *cache, struct weft_mr *mr);

/* A peer was given up: no registration for peers is kept. */
void weft_mr_cache_forget_peers(struct weft_mr_cache *cache);

static inline void *weft_mr_descriptor(const struct weft_mr *mr)
{
    return mr != NULL ? fi_mr_desc(mr->mr) : NULL;
}

#endif
