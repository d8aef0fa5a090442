/*
 * index.h - the peers of a transport in the order in which they were met. Frames name a
 * peer by its number there. The peers are the transport's.
 */
#ifndef WEFT_OFI_INDEX_H
#define WEFT_OFI_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct weft_ofi_index {
    void **at;
    uint32_t count;
    uint32_t room;
};

/* Makes room for one more; false: no memory. */
bool weft_ofi_index_grow(struct weft_ofi_index *index);

/* Adds a peer, for which there is room, and returns its number. */
uint32_t weft_ofi_index_add(struct weft_ofi_index *index, void *peer);

void weft_ofi_index_close(struct weft_ofi_index *index);

#endif
