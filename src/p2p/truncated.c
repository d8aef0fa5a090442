#include "p2p/truncated.h"

#include "base/texts.h"

#include <stdio.h>

static struct {
    bool is_set;
    struct weft_header header;
    uint64_t length;
    uint64_t capacity;
} last;

void weft_truncated_note(const struct weft_header *header, uint64_t length,
                         uint64_t capacity)
{
    last.is_set = true;
    last.header = *header;
    last.length = length;
    last.capacity = capacity;
}

bool weft_truncated_describe(const struct weft_comm *comm, char *text, size_t size)
{
    const uint32_t plane = last.header.context % WEFT_PLANES;
    char tag[32] = "";

    if (!last.is_set || comm == NULL || last.header.context - plane != comm->context) {
        return false;
    }
    if (plane == WEFT_PLANE_P2P) { /* elsewhere it is none of the user's */
        snprintf(tag, sizeof(tag), " with tag %d", (int)last.header.tag);
    }
    if (last.length < last.capacity) {
        snprintf(text, size, WEFT_S_SHORT, (int)last.header.source,
                 (unsigned long long)last.length, (unsigned long long)last.capacity);
    } else {
        snprintf(text, size, WEFT_S_TRUNCATED, (int)last.header.source,
                 (unsigned long long)last.length, tag, (unsigned long long)last.capacity);
    }
    last.is_set = false;
    return true;
}
