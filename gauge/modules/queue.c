/*
 * queue.c - see queue.h.
 */
#include "gauge/modules/queue.h"

#include <stdlib.h>

enum gauge_rc queues_open(struct queues *queues, int ends,
                          enum gauge_rc (*move)(void *owner, struct transfer *transfer),
                          void *owner, const char *who)
{
    *queues = (struct queues){.ends = ends, .move = move, .owner = owner};
    queues->sends = calloc((size_t)ends, sizeof(*queues->sends));
    queues->receives = calloc((size_t)ends, sizeof(*queues->receives));
    if (queues->sends == NULL || queues->receives == NULL) {
        queues_close(queues);
        return gauge_fail("%s: no memory for %d ends", who, ends);
    }
    queues_forget(queues);
    return GAUGE_OK;
}

void queues_close(struct queues *queues)
{
    free(queues->sends);
    free(queues->receives);
    *queues = (struct queues){0};
}

void queues_forget(struct queues *queues)
{
    for (int i = 0; i < queues->ends; i++) {
        queues->sends[i] = (struct queue){NULL, &queues->sends[i].first};
        queues->receives[i] = (struct queue){NULL, &queues->receives[i].first};
    }
    queues->under_way = 0;
}

static enum gauge_rc advance(struct queues *queues, struct queue *queue)
{
    while (queue->first != NULL) {
        struct gauge_request *request = queue->first;
        struct transfer *transfer = transfer_of(request);
        enum gauge_rc rc = queues->move(queues->owner, transfer);

        if (rc != GAUGE_OK || !transfer->is_over) {
            return rc;
        }
        queue->first = transfer->next;
        if (queue->first == NULL) {
            queue->last = &queue->first;
        }
        queues->under_way--;
        request->is_done = true;
    }
    return GAUGE_OK;
}

enum gauge_rc queues_progress(struct queues *queues)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && queues->under_way > 0 && i < queues->ends; i++) {
        rc = advance(queues, &queues->receives[i]);
        if (rc == GAUGE_OK) {
            rc = advance(queues, &queues->sends[i]);
        }
    }
    return rc;
}

enum gauge_rc queues_start(struct queues *queues, const struct transfer *transfer,
                           struct gauge_request *request)
{
    struct queue *queue = transfer->is_send ? &queues->sends[transfer->peer]
                                            : &queues->receives[transfer->peer];

    *transfer_of(request) = *transfer;
    *queue->last = request;
    queue->last = &transfer_of(request)->next;
    queues->under_way++;
    return advance(queues, queue);
}
