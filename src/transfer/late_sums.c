#include "transfer/late_sums.h"

#include <string.h>

void weft_sums_give(struct weft_transfer *send, uint64_t receive)
{
    struct weft_sums sums = {.request = receive};
    struct weft_answer answer;

    memcpy(sums.sums, send->sums, sizeof(sums.sums));
    memcpy(&answer, &sums, sizeof(answer));
    weft_engine_control(send->peer, WEFT_PKT_SUMS, &answer);
    send->owes_sums = false;
}

const char *weft_sums_on_sums(struct weft_peer *from, const struct weft_answer *answer)
{
    struct weft_transfer *recv;
    struct weft_sums sums;
    const char *fault = weft_transfer_find_incoming(from, answer->request, &recv);

    if (recv == NULL || fault != NULL) {
        return fault;
    }
    memcpy(&sums, answer, sizeof(sums));
    if (weft_has_checksum() && !recv->awaits_sums &&
        memcmp(recv->sums, sums.sums, sizeof(recv->sums)) == 0) {
        return NULL; /* a second time */
    }
    if (!weft_has_checksum() || !recv->awaits_sums) {
        return "it sends checksums that nobody waits for";
    }
    memcpy(recv->sums, sums.sums, sizeof(recv->sums));
    recv->awaits_sums = false;
    return NULL;
}
