#include "p2p/checksum.h"

#include "base/crc32c.h"
#include "base/log.h"

#include <string.h>

enum { PAGE = 4096 };

static uint64_t block_bytes(uint64_t length)
{
    uint64_t part = length / WEFT_SUM_BLOCKS + (length % WEFT_SUM_BLOCKS != 0);

    return part / PAGE * PAGE + (part % PAGE != 0 ? PAGE : 0);
}

static void sum_blocks(uint32_t sums[WEFT_SUM_BLOCKS],
                       const struct weft_p2p_request *request, uint64_t length)
{
    const uint64_t block = block_bytes(length);

    memset(sums, 0, WEFT_SUM_BLOCKS * sizeof(sums[0]));
    for (uint64_t at = 0; at < length; at += block) {
        uint64_t n = length - at < block ? length - at : block;

        sums[at / block] = weft_data_crc(&request->data, at, n);
    }
}

void weft_checksum_set(struct weft_p2p_request *send)
{
    sum_blocks(send->sums, send, send->data.bytes);
}

void weft_checksum_begin(struct weft_p2p_request *send, bool is_blocking)
{
    send->owes_sums =
        is_blocking && send->data.type == NULL && weft_p2p_is_near(send->peer);
    if (!send->owes_sums) {
        weft_checksum_set(send);
    }
}

void weft_checksum_give(struct weft_p2p_request *send, uint64_t receive)
{
    struct weft_sums sums = {.request = receive};
    struct weft_answer answer;

    memcpy(sums.sums, send->sums, sizeof(sums.sums));
    memcpy(&answer, &sums, sizeof(answer));
    weft_engine_control(send->peer, WEFT_PKT_SUMS, &answer);
    send->owes_sums = false;
}

const char *weft_checksum_on_sums(struct weft_peer *from,
                                  const struct weft_answer *answer)
{
    struct weft_p2p_request *recv;
    struct weft_sums sums;
    const char *fault = weft_p2p_find_incoming(from, answer->request, &recv);

    if (recv == NULL || fault != NULL) {
        return fault;
    }
    memcpy(&sums, answer, sizeof(sums));
    if (weft_p2p.has_checksum && !recv->awaits_sums &&
        memcmp(recv->sums, sums.sums, sizeof(recv->sums)) == 0) {
        return NULL; /* a second time */
    }
    if (!weft_p2p.has_checksum || !recv->awaits_sums) {
        return "it sends checksums that nobody waits for";
    }
    memcpy(recv->sums, sums.sums, sizeof(recv->sums));
    recv->awaits_sums = false;
    return NULL;
}

bool weft_checksum_is_ready(struct weft_p2p_request *recv)
{
    if (!recv->is_summed && recv->message_length <= recv->data.bytes) {
        sum_blocks(recv->arrived, recv, recv->message_length);
    }
    recv->is_summed = true;
    return !recv->awaits_sums;
}

static uint32_t add_header(uint32_t crc, const struct weft_header *header)
{
    return weft_crc32c_more(crc, header, offsetof(struct weft_header, check));
}

void weft_checksum_seal(struct weft_header *header, const void *bytes, size_t len)
{
    header->check = add_header(weft_crc32c(bytes, len), header);
}

bool weft_checksum_is_intact(const struct weft_header *header, const void *bytes,
                             size_t len)
{
    return header->check == add_header(weft_crc32c(bytes, len), header);
}

static enum weft_rc report(const struct weft_header *header, uint64_t length, uint64_t at,
                           uint64_t block, uint32_t is, uint32_t was)
{
    uint64_t end = length - at < block ? length : at + block;

    weft_log_error("a message of %llu bytes from rank %u of its communicator with tag "
                   "%d, sequence %u, changed on its way: the block at offset %llu, up to "
                   "%llu, arrived with checksum %08x instead of %08x",
                   (unsigned long long)length, header->source, header->tag,
                   header->sequence, (unsigned long long)at, (unsigned long long)end, is,
                   was);
    return WEFT_ERR_CHECKSUM;
}

static enum weft_rc check_blocks(const struct weft_p2p_request *recv,
                                 const struct weft_header *header, uint64_t length)
{
    const uint64_t block = block_bytes(length);

    for (uint64_t i = 0; i < WEFT_SUM_BLOCKS && i * block < length; i++) {
        if (recv->arrived[i] != recv->sums[i]) {
            return report(header, length, i * block, block, recv->arrived[i],
                          recv->sums[i]);
        }
    }
    return WEFT_OK;
}

enum weft_rc weft_checksum_check(const struct weft_p2p_request *recv,
                                 const struct weft_header *header, uint64_t length)
{
    uint32_t is;

    if (header->kind == WEFT_PKT_ANNOUNCE) {
        return check_blocks(recv, header, length);
    }
    is = add_header(weft_data_crc(&recv->data, 0, length), header);
    return is == header->check ? WEFT_OK
                               : report(header, length, 0, length, is, header->check);
}
