#include "transport/ofi/common/index.h"

#include <assert.h>
#include <stdlib.h>

bool weft_ofi_index_grow(struct weft_ofi_index *index)
{
    const uint32_t room = index->room == 0 ? 16 : 2 * index->room;
    void **more;

    if (index->count < index->room) {
        return true;
    }
    more = realloc(index->at, room * sizeof(*more));
    if (more == NULL) {
        return false;
    }
    index->at = more;
    index->room = room;
    return true;
}

uint32_t weft_ofi_index_add(struct weft_ofi_index *index, void *peer)
{
    assert(index->count < index->room);
    index->at[index->count] = peer;
    return index->count++;
}

void weft_ofi_index_close(struct weft_ofi_index *index)
{
    free(index->at);
    *index = (struct weft_ofi_index){.at = NULL};
}
