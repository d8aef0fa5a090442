/*
 * accessible.c - buffers of the user's that cannot be read or written: a pointer that
 * leads nowhere, or memory of a device.
 *
 * Over a network the kernel or the hardware would find out, and end the connection with
 * an error that names no cause. So long buffers are looked at before they are handed down
 * (base/memory.h): one system call for a send, two for a receive, where the message takes
 * ten times as long. The call fails, and its peer is not harmed. Inside a node a look
 * costs too much beside the message. If bytes cannot be moved from memory to memory, the
 * owner looks whether its own buffer is the cause; then the job ends with a line, because
 * the other side waits in the middle of the message. What is small, or not contiguous, is
 * copied by the processor: there a bad pointer is a signal, as it is anywhere else.
 */
#include "p2p/internal.h"

#include "base/memory.h"

#include <stdio.h>

/* The last one that was found; with the lock. */
static struct {
    const void *at;
    size_t bytes;
} bad;

static bool note_bad(const void *at, size_t bytes)
{
    bad.at = at;
    bad.bytes = bytes;
    return true;
}

const char *weft_p2p_describe_buffer(char *text, size_t size)
{
    return weft_memory_describe(bad.at, bad.bytes, text, size);
}

bool weft_p2p_is_unreadable(const struct weft_peer *peer, const struct weft_data *data)
{
    return data->bytes > WEFT_EAGER_MAX && data->type == NULL && weft_p2p_is_far(peer) &&
           !weft_memory_is_readable(data->buffer, data->bytes) &&
           note_bad(data->buffer, data->bytes);
}

bool weft_p2p_is_unwritable(const struct weft_p2p_request *recv,
                            const struct weft_peer *peer, uint64_t length)
{
    return length > 0 && recv->type == NULL && weft_p2p_is_far(peer) &&
           !weft_memory_is_writable(recv->buffer, (size_t)length) &&
           note_bad(recv->buffer, (size_t)length);
}

void weft_p2p_end_if_inaccessible(const struct weft_p2p_request *request, uint64_t offset,
                                  uint64_t length)
{
    const bool is_send = request->base.kind == WEFT_REQUEST_SEND;
    const struct weft_peer *peer = is_send ? request->peer : request->from;
    const uint8_t *at = (const uint8_t *)request->buffer + offset;
    char what[WEFT_MEMORY_TEXT];
    char cause[WEFT_CAUSE_BYTES];

    if (request->type != NULL || !weft_p2p_is_near(peer) ||
        !peer->ep->ops->can_reach(peer->ep) ||
        weft_memory_is_all_readable(at, (size_t)length)) {
        return;
    }
    snprintf(cause, sizeof(cause),
             "MPI_ERR_BUFFER: a buffer given to a %s with tag %d: %s",
             is_send ? "send" : "receive", request->header.tag,
             weft_memory_describe(request->buffer, (size_t)request->capacity, what,
                                  sizeof(what)));
    weft_wireup_abort(weft_engine.job, MPI_ERR_BUFFER, cause);
}
