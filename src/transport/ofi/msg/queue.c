#include "transport/ofi/msg/queue.h"

#include <stdlib.h>
#include <string.h>

struct weft_msg_kept *weft_msg_copy(const struct weft_frame *frame, size_t len)
{
    struct weft_msg_kept *kept = malloc(sizeof(*kept) + len);

    if (kept == NULL) {
        return NULL;
    }
    kept->length = (uint32_t)len;
    memcpy(kept->header, frame->header, WEFT_HEADER_BYTES);
    memcpy(kept->data, frame + 1, len);
    return kept;
}

void weft_msg_enqueue(struct weft_msg_queue *queue, struct weft_msg_kept *kept)
{
    kept->next = NULL;
    if (queue->first == NULL) {
        queue->first = kept;
    } else {
        queue->last->next = kept;
    }
    queue->last = kept;
}

struct weft_msg_kept *weft_msg_dequeue(struct weft_msg_queue *queue)
{
    struct weft_msg_kept *kept = queue->first;

    queue->first = kept->next;
    return kept;
}

void weft_msg_empty(struct weft_msg_queue *queue)
{
    while (queue->first != NULL) {
        free(weft_msg_dequeue(queue));
    }
}
