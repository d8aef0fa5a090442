/*
 * stage.h - memory in which noncontiguous data are packed, or listed, for a peer.
 *
 * Stages of the node (node/stage.h) are read by peers without a copy; when they are all
 * taken a private one does, which peers fetch. A few private ones are kept until the end.
 * Needs the lock, unless a function says otherwise.
 */
#ifndef WEFT_TRANSFER_STAGE_H
#define WEFT_TRANSFER_STAGE_H

#include "engine/hot.h"
#include "node/stage.h"
#include "transfer/iov_list.h"
#include "transfer/packets.h"

/* Memory for WEFT_STAGE_BYTES bytes, and what a peer is told: an address or a stage. */
struct weft_stage {
    void *at; /* NULL: there is none */
    uint64_t name;
};

/* A stage of the node, or none; or a private one, if there is none. */
struct weft_stage weft_stage_take_shared(void);
struct weft_stage weft_stage_take_any(void);
void weft_stage_return(struct weft_stage stage);
void weft_stages_free(void);

/* The list of data in long blocks, in a stage that peers see; none if the blocks are
 * short. */
struct weft_stage weft_stage_list(const struct weft_data *data);

static inline bool weft_place_is_list(uint64_t place)
{
    return (place & WEFT_IN_STAGE) != 0 && (place & WEFT_IS_LIST) != 0;
}

static inline bool weft_place_is_packed(uint64_t place)
{
    return (place & WEFT_IN_STAGE) != 0 && (place & WEFT_IS_LIST) == 0;
}

/* Can `length` bytes be where a peer says that they are: an address of its, or a stage
 * that we see? */
bool weft_place_is_sound(const struct weft_peer *peer, uint64_t place, uint64_t length);

/* Where we see bytes that a peer has packed; NULL: they are not in a stage. */
const void *weft_place_see(const struct weft_peer *peer, uint64_t place);

/* What is there: an address, or a list. */
struct weft_remote_data weft_place_open(const struct weft_peer *peer, uint64_t place);

#endif
