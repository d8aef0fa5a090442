#include "rma/queue.h"

#include "base/reserve.h"

enum weft_rc weft_lock_queue_ask(struct weft_lock_queue *queue, int rank,
                                 bool is_exclusive)
{
    struct weft_lock_request *request = weft_reserve_take(sizeof(*request));
    struct weft_lock_request **at = &queue->waiting;

    if (request == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *request = (struct weft_lock_request){.rank = rank, .is_exclusive = is_exclusive};
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = request;
    return WEFT_OK;
}

int weft_lock_queue_grant(struct weft_lock_queue *queue)
{
    struct weft_lock_request *first = queue->waiting;

    if (first == NULL || (queue->holders != NULL &&
                          (first->is_exclusive || queue->holders->is_exclusive))) {
        return -1;
    }
    queue->waiting = first->next;
    first->next = queue->holders;
    queue->holders = first;
    return first->rank;
}

static bool remove_from(struct weft_lock_request **at, int rank)
{
    for (; *at != NULL; at = &(*at)->next) {
        struct weft_lock_request *request = *at;

        if (request->rank == rank) {
            *at = request->next;
            weft_reserve_give(request);
            return true;
        }
    }
    return false;
}

bool weft_lock_queue_leave(struct weft_lock_queue *queue, int rank)
{
    return remove_from(&queue->holders, rank) || remove_from(&queue->waiting, rank);
}

bool weft_lock_queue_is_free(const struct weft_lock_queue *queue)
{
    return queue->holders == NULL && queue->waiting == NULL;
}

static void free_all(struct weft_lock_request *request)
{
    while (request != NULL) {
        struct weft_lock_request *next = request->next;

        weft_reserve_give(request);
        request = next;
    }
}

void weft_lock_queue_close(struct weft_lock_queue *queue)
{
    free_all(queue->holders);
    free_all(queue->waiting);
    *queue = (struct weft_lock_queue){NULL, NULL};
}
