#include "rma/gets.h"

#include "base/copy.h"

#include <assert.h>
#include <stdlib.h>

/* Bytes of a run, from `skip` on: as many of `len` as it has, which is returned. */
static size_t fill(const struct weft_rma_run *run, uint64_t skip, const uint8_t *from,
                   size_t len)
{
    size_t done = 0;

    for (uint64_t k = skip / run->length; k < run->count && done < len; k++) {
        const uint64_t first = done == 0 ? skip % run->length : 0;
        const size_t left = len - done;
        const size_t block = (size_t)(run->length - first);
        const size_t some = block < left ? block : left;
        const uint64_t to = run->at + (uint64_t)run->stride * k + first;

        weft_copy((void *)(uintptr_t)to, from + done, (uint32_t)some);
        done += some;
    }
    return done;
}

void weft_gets_scatter(const struct weft_gets *gets, uint64_t offset, const void *from,
                       size_t len)
{
    const uint8_t *bytes = from;

    assert(offset <= gets->here.bytes && len <= gets->here.bytes - offset);
    for (size_t i = 0; i < gets->here.n && len > 0; i++) {
        const struct weft_rma_run *run = &gets->here.at[i];
        const uint64_t all = (uint64_t)run->length * run->count;

        if (offset < all) {
            const size_t some = fill(run, offset, bytes, len);

            bytes += some;
            len -= some;
            offset += some;
        }
        offset -= all;
    }
}

void weft_gets_end(struct weft_gets *gets, enum weft_rc rc)
{
    for (uint32_t i = 0; i < gets->request_count; i++) {
        weft_request_complete(gets->requests[i], rc);
    }
    free(gets);
}
