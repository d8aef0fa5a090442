#include "transport/ofi/msg/queue.h"

#include <stdlib.h>
#include <string.h>

struct weft_msg_held *weft_msg_copy(const struct weft_frame *frame, size_t len)
{
    struct weft_msg_held *held = malloc(sizeof(*held) + len);

    if (held == NULL) {
        return NULL;
    }
    held->number = weft_frame_number(frame);
    held->length = (uint32_t)len;
    memcpy(held->header, frame->header, WEFT_HEADER_BYTES);
    memcpy(held->data, frame + 1, len);
    return held;
}

void weft_msg_enqueue(struct weft_msg_queue *queue, struct weft_msg_held *held)
{
    held->next = NULL;
    if (queue->first == NULL) {
        queue->first = held;
    } else {
        queue->last->next = held;
    }
    queue->last = held;
}

struct weft_msg_held *weft_msg_dequeue(struct weft_msg_queue *queue)
{
    struct weft_msg_held *held = queue->first;

    queue->first = held->next;
    return held;
}

void weft_msg_empty(struct weft_msg_queue *queue)
{
    while (queue->first != NULL) {
        free(weft_msg_dequeue(queue));
    }
}
