/*
 * finish.c - the end of a receive: what was received is filled in, and its request is
 * complete.
 */
#include "p2p/internal.h"

#include "engine/seal.h"
#include "p2p/truncated.h"

/* Fills in what was received and completes with `rc`, unless the message is too long. */
static inline void finish(struct weft_p2p_request *recv, const struct weft_header *header,
                          uint64_t length, enum weft_rc rc)
{
    recv->base.source = (int)header->source;
    recv->base.tag = header->tag;
    recv->base.bytes = length;
    if (weft_unlikely(length > recv->data.bytes)) {
        recv->base.bytes = recv->data.bytes;
        rc = WEFT_ERR_TRUNCATE;
        weft_truncated_note(header, length, recv->data.bytes);
    }
    if (weft_unlikely(recv->data.type != NULL)) {
        weft_p2p_release(recv);
    }
    weft_request_complete(&recv->base, rc);
}

/* Is a message that came in one packet, if it fits, where it lies what was sent? */
static __attribute__((noinline)) enum weft_rc
check_sum(const struct weft_p2p_request *recv, const struct weft_header *header,
          uint64_t length)
{
    uint32_t is;

    if (length > recv->data.bytes) {
        return WEFT_OK;
    }
    is = weft_seal_of(weft_data_crc(&recv->data, 0, length), header);
    return is == header->check
               ? WEFT_OK
               : weft_seal_report(header, length, 0, length, is, header->check);
}

void weft_p2p_finish_recv(struct weft_p2p_request *recv, const struct weft_header *header,
                          uint64_t length)
{
    enum weft_rc rc = WEFT_OK;

    if (weft_unlikely(weft_p2p.has_checksum)) {
        rc = check_sum(recv, header, length);
    }
    finish(recv, header, length, rc);
}

void weft_p2p_finish_long(struct weft_p2p_request *recv, const struct weft_header *header,
                          uint64_t length, enum weft_rc rc)
{
    finish(recv, header, length, rc);
}

void weft_p2p_fail_recv(struct weft_p2p_request *recv, int source)
{
    recv->base.source = source;
    recv->base.tag = MPI_ANY_TAG;
    recv->base.bytes = 0;
    weft_p2p_release(recv);
    weft_request_complete(&recv->base, WEFT_ERR_PROC_FAILED);
}

void weft_p2p_complete_cancelled(struct weft_p2p_request *recv)
{
    recv->base.is_cancelled = true;
    recv->base.source = MPI_ANY_SOURCE;
    recv->base.tag = MPI_ANY_TAG;
    weft_request_complete(&recv->base, WEFT_OK);
}
