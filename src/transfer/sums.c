#include "transfer/sums.h"

#include "engine/seal.h"

#include <string.h>

enum { PAGE = 4096 };

static uint64_t block_bytes(uint64_t length)
{
    uint64_t part = length / WEFT_SUM_BLOCKS + (length % WEFT_SUM_BLOCKS != 0);

    return part / PAGE * PAGE + (part % PAGE != 0 ? PAGE : 0);
}

static void sum_blocks(uint32_t sums[WEFT_SUM_BLOCKS], const struct weft_data *data,
                       uint64_t length)
{
    const uint64_t block = block_bytes(length);

    memset(sums, 0, WEFT_SUM_BLOCKS * sizeof(sums[0]));
    for (uint64_t at = 0; at < length; at += block) {
        const uint64_t n = length - at < block ? length - at : block;

        sums[at / block] = weft_data_crc(data, at, n);
    }
}

void weft_sums_make(struct weft_transfer *send)
{
    sum_blocks(send->sums, &send->data, send->data.bytes);
}

void weft_sums_begin(struct weft_transfer *send, bool is_blocking)
{
    send->owes_sums =
        is_blocking && send->data.type == NULL && weft_peer_is_on_node(send->peer);
    if (!send->owes_sums) {
        weft_sums_make(send);
    }
}

bool weft_sums_are_there(struct weft_transfer *recv)
{
    if (!recv->is_summed && recv->message_length <= recv->data.bytes) {
        sum_blocks(recv->arrived, &recv->data, recv->message_length);
    }
    recv->is_summed = true;
    return !recv->awaits_sums;
}

enum weft_rc weft_sums_check(const struct weft_transfer *recv)
{
    const uint64_t length = recv->message_length;
    const uint64_t block = block_bytes(length);

    for (uint64_t i = 0;
         length <= recv->data.bytes && i < WEFT_SUM_BLOCKS && i * block < length; i++) {
        if (recv->arrived[i] != recv->sums[i]) {
            return weft_seal_report(&recv->header, length, i * block, block,
                                    recv->arrived[i], recv->sums[i]);
        }
    }
    return WEFT_OK;
}
