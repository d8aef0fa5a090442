#include "transfer/late_sums.h"

#include <string.h>

void weft_sums_give(struct weft_transfer *send, uint64_t receive)
{
    struct weft_pkt_sums sums = {.request = receive};

    memcpy(sums.sums, send->sums, sizeof(sums.sums));
    weft_engine_control(send->peer, WEFT_PKT_SUMS, &sums, sizeof(sums));
    send->owes_sums = false;
}

const char *weft_sums_on_sums(struct weft_peer *from,
                              const union weft_pkt_control *packet)
{
    const struct weft_pkt_sums *came = &packet->sums;
    struct weft_transfer *recv;
    const char *fault = weft_transfer_find_incoming(from, came->request, &recv);

    if (recv == NULL || fault != NULL) {
        return fault;
    }
    if (weft_has_checksum() && !recv->awaits_sums &&
        memcmp(recv->sums, came->sums, sizeof(recv->sums)) == 0) {
        return NULL; /* a second time */
    }
    if (!weft_has_checksum() || !recv->awaits_sums) {
        return "it sends checksums that nobody waits for";
    }
    memcpy(recv->sums, came->sums, sizeof(recv->sums));
    recv->awaits_sums = false;
    return NULL;
}
