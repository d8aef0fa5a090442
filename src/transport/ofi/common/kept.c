#include "transport/ofi/common/kept.h"

#include <stdlib.h>
#include <string.h>

struct weft_kept *weft_kept_copy(uint32_t sequence, const void *header, const void *data,
                                 size_t len)
{
    struct weft_kept *kept = malloc(sizeof(*kept) + len);

    if (kept == NULL) {
        return NULL;
    }
    kept->sequence = sequence;
    kept->length = (uint32_t)len;
    memcpy(kept->header, header, WEFT_HEADER_BYTES);
    if (len > 0) { /* else there may be no data to point at */
        memcpy(kept->data, data, len);
    }
    return kept;
}

static bool is_before(const struct weft_kept *a, const struct weft_kept *b)
{
    return (int32_t)(a->sequence - b->sequence) < 0;
}

/* Most come in their order, and go to the end at once. */
void weft_kept_insert(struct weft_kept_queue *queue, struct weft_kept *kept)
{
    struct weft_kept **at = &queue->first;

    if (queue->first != NULL && !is_before(kept, queue->last)) {
        at = &queue->last->next;
    }
    while (*at != NULL && !is_before(kept, *at)) {
        at = &(*at)->next;
    }
    kept->next = *at;
    *at = kept;
    if (kept->next == NULL) {
        queue->last = kept;
    }
}

struct weft_kept *weft_kept_take(struct weft_kept_queue *queue)
{
    struct weft_kept *kept = queue->first;

    queue->first = kept->next;
    return kept;
}

void weft_kept_empty(struct weft_kept_queue *queue)
{
    while (queue->first != NULL) {
        free(weft_kept_take(queue));
    }
}
