/*
 * stage.h - memory in which noncontiguous data are packed, or listed, for a peer.
 *
 * Peers read a stage of the node (node/stage.h) without a copy. When all of them are
 * taken, a private one is used, and peers fetch its bytes. A few private ones are kept
 * until the end. All functions need the lock, unless they say otherwise.
 */
#ifndef WEFT_TRANSFER_STAGE_H
#define WEFT_TRANSFER_STAGE_H

#include "engine/hot.h"
#include "node/stage.h"
#include "transfer/iov_list.h"
#include "transfer/packets.h"

/* Memory for WEFT_STAGE_BYTES bytes, and the name under which a peer reaches it: an
 * address, or the number of a stage. */
struct weft_stage {
    void *at; /* NULL: there is none */
    uint64_t name;
};

/* The first takes a stage of the node, or none; the second takes a private one if the
 * node has none left. */
struct weft_stage weft_stage_take_shared(void);
struct weft_stage weft_stage_take_any(void);
void weft_stage_return(struct weft_stage stage);
void weft_stages_free(void);

/* Takes a stage that peers see, and writes the list of the data's blocks into it. Returns
 * none if the blocks are short. */
struct weft_stage weft_stage_list(const struct weft_data *data);

static inline bool weft_remote_is_list(uint64_t address)
{
    return (address & WEFT_IN_STAGE) != 0 && (address & WEFT_IS_LIST) != 0;
}

static inline bool weft_remote_is_packed(uint64_t address)
{
    return (address & WEFT_IN_STAGE) != 0 && (address & WEFT_IS_LIST) == 0;
}

/* Is what a peer says of its data possible? `address` is an address of its, or a stage
 * that this process sees and that has room for `length` bytes. */
bool weft_remote_is_sound(const struct weft_peer *peer, uint64_t address,
                          uint64_t length);

/* The stage in which a peer has packed its data; NULL: they are not in a stage. */
const void *weft_remote_stage(const struct weft_peer *peer, uint64_t address);

/* What `address` names: memory of the peer, or a list of its blocks. */
struct weft_remote_data weft_remote_open(const struct weft_peer *peer, uint64_t address);

#endif
