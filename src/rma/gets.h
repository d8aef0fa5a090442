/*
 * gets.h - several small gets from one member, as one operation.
 *
 * Their bytes lie one behind the other in the answer, in the order of the calls: `there`
 * says where each of them is in the member's memory, `here` where it goes, by address.
 * Needs the lock; nothing here fails.
 */
#ifndef WEFT_RMA_GETS_H
#define WEFT_RMA_GETS_H

#include "core/request.h"
#include "rma/runs.h"

enum { WEFT_GETS_REQUESTS = 64 }; /* of those that have one */

struct weft_gets {
    struct weft_rma_runs there;
    struct weft_rma_runs here;
    struct weft_request *requests[WEFT_GETS_REQUESTS];
    uint32_t request_count;
};

/* Some bytes have come, from `offset` on: no more than were asked for. */
void weft_gets_scatter(const struct weft_gets *gets, uint64_t offset, const void *from,
                       size_t len);

/* They are over: completes their requests, and frees them. */
void weft_gets_end(struct weft_gets *gets, enum weft_rc rc);

#endif
