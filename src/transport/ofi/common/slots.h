/*
 * slots.h - buffers of packets on their way out, and of the pool for packets that come,
 * as many as the provider has room for.
 *
 * A slot out carries a packet, or the frame in front of a zero-copy send, or stands for a
 * put or get; `op` and `mr` are set while it works on the user's memory. That memory is
 * registered for as long as the operation takes, where the provider wants it, or longer
 * if its life is known (mr_cache.h). What a put or get moves is copied instead if it is
 * short: the slot's own buffer is registered.
 *
 * A peer has at most a quarter of the slots out, so that one that does not read leaves
 * room for others. Where the provider puts several packets into a buffer
 * (FI_MULTI_RECV), the pool has few buffers, each for many packets.
 *
 * The owner of the slots opens them once `ofi` is open, and closes them after whatever
 * they are posted to. All functions are called with the library's lock held.
 */
#ifndef WEFT_OFI_SLOTS_H
#define WEFT_OFI_SLOTS_H

#include "transport/ofi/common/mr_cache.h"
#include "transport/transport.h"

/* Why a peer is given up whose message cannot be registered. */
#define WEFT_SLOTS_NO_MEMORY                                                             \
    "the message's memory cannot be registered; is the limit of locked memory too low "  \
    "(ulimit -l)?"

enum {
    WEFT_SLOTS_RECEIVES = 32, /* buffers in the pool, unless more are wanted */
    WEFT_SLOTS_SENDS = 128,   /* packets on their way, at most */
};

/* One packet on its way out, or a buffer of the pool: found by its context. */
struct weft_ofi_slot {
    struct fi_context2 context; /* first; the provider's while it is under way */
    struct weft_ofi_slot *next; /* of those that are free, or to be posted again */
    void *owner;                /* of a packet: as its sender says */
    uint32_t *share;            /* of a packet: counts those that its peer has */
    uint8_t *buffer;
    struct weft_op *op; /* of an operation on the user's memory, or NULL */
    uint64_t access;    /* what that is: FI_SEND, FI_WRITE, FI_READ; else its owner's */
    struct weft_mr *mr; /* of that memory, or NULL */
    void *copied;       /* the memory itself, if the buffer stands for it; or NULL */
    size_t copied_bytes;
};

struct weft_ofi_slots {
    struct weft_ofi *ofi;
    struct fid_ep *receiver; /* where the pool is posted */
    struct weft_ofi_slot *sends;
    struct weft_ofi_slot *free_sends;
    uint32_t send_count;
    struct weft_mr_cache cache;
    uint32_t registered; /* chunks of the user's memory, by us or for peers */
    size_t send_bytes;   /* of each buffer */
    uint8_t *send_memory;
    struct fid_mr *send_mr;
    struct weft_ofi_slot *receives;
    uint32_t receive_count;
    size_t receive_bytes;
    uint8_t *receive_memory;
    struct fid_mr *receive_mr;
    struct weft_ofi_slot *to_post; /* could not be posted yet */
    uint32_t receive_most;         /* buffers in the pool; 0: WEFT_SLOTS_RECEIVES */
    bool is_multiple;              /* a buffer of the pool takes several packets */
    bool has_results;              /* buffers of packets out also take results */
};

/* What the tests make small, before a transport is opened; 0: as there is room. */
struct weft_ofi_slots_limits {
    uint32_t receives; /* at least 1 */
    uint32_t window;   /* of credits; at least two of the longest packets */
};
void weft_ofi_slots_limit(struct weft_ofi_slots_limits limits);

/* Bytes of ordered packets that may be under way to a peer: less for each where there are
 * many, so that all together stay bounded; more for several streams, of which each has
 * packets under way. */
uint32_t weft_ofi_slots_window(uint32_t ranks, uint32_t streams);

/* Makes all slots, and posts the pool to `receiver`. The caller has set nothing, or
 * `receive_most`, `is_multiple` and `has_results`; the bytes are those of the longest
 * packets, with all that precedes them. What was made stays until weft_ofi_slots_close(),
 * also after a failure. */
WEFT_MUST_CHECK enum weft_rc weft_ofi_slots_open(struct weft_ofi_slots *slots,
                                                 struct weft_ofi *ofi,
                                                 struct fid_ep *receiver,
                                                 size_t send_bytes, size_t receive_bytes);
void weft_ofi_slots_close(struct weft_ofi_slots *slots);

/* A slot for a packet of `owner`; NULL: none is free, or the peer has its share. */
struct weft_ofi_slot *weft_ofi_slots_take(struct weft_ofi_slots *slots, void *owner,
                                          uint32_t *share);
/* Registers the user's memory for the operation of a slot that was taken. If it fails,
 * the slot is free again. WEFT_AGAIN: some memory will be given back, try later. */
WEFT_MUST_CHECK enum weft_rc weft_ofi_slots_attach(struct weft_ofi_slots *slots,
                                                   struct weft_ofi_slot *slot,
                                                   const void *data, size_t len,
                                                   uint64_t access, struct weft_op *op);
/* The memory that an attached put or get works on, in place of the user's. */
static inline void *weft_ofi_slot_memory(const struct weft_ofi_slot *slot, void *ours)
{
    return slot->copied != NULL ? slot->buffer : ours;
}
void *weft_ofi_slot_descriptor(const struct weft_ofi_slots *slots,
                               const struct weft_ofi_slot *slot);
/* Frees a slot whose post was refused. */
void weft_ofi_slots_give(struct weft_ofi_slots *slots, struct weft_ofi_slot *slot);
/* The provider is through with a slot: frees it and completes its operation. */
void weft_ofi_slots_done(struct weft_ofi_slots *slots, struct weft_ofi_slot *slot,
                         enum weft_rc rc);

/* Registers memory that peers write to, or read (WEFT_MR_*), and takes it back. */
WEFT_MUST_CHECK enum weft_rc weft_ofi_slots_register(struct weft_ofi_slots *slots,
                                                     void *memory, size_t bytes,
                                                     unsigned rights,
                                                     struct weft_key *key, void **mr);
void weft_ofi_slots_deregister(struct weft_ofi_slots *slots, void *mr);

/* Is it a buffer of the pool? */
static inline bool weft_ofi_slots_is_receive(const struct weft_ofi_slots *slots,
                                             const struct weft_ofi_slot *slot)
{
    return slot >= slots->receives && slot < slots->receives + slots->receive_count;
}

/* Gives a buffer of the pool to the provider, now or in weft_ofi_slots_post_again(). */
void weft_ofi_slots_post(struct weft_ofi_slots *slots, struct weft_ofi_slot *slot);
void weft_ofi_slots_post_again(struct weft_ofi_slots *slots);

#endif
