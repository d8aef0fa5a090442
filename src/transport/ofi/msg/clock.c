#include "transport/ofi/msg/clock.h"

#include "base/clock.h"
#include "transport/ofi/msg/connect.h"
#include "transport/ofi/msg/lost.h"
#include "transport/ofi/quirks/silence.h"

static void check_peer(struct weft_transport *tp, struct weft_msg_peer *peer)
{
    for (uint32_t i = 0; i < WEFT_STREAMS_MAX; i++) {
        struct weft_msg_stream *stream = peer->streams[i];

        if (stream != NULL && stream->socket != 0 && stream->state != WEFT_MSG_LOST &&
            weft_silence_is(stream->socket)) {
            weft_msg_on_silence(tp, stream);
        }
    }
}

static uint64_t check_all(struct weft_transport *tp, uint64_t now)
{
    struct weft_msg_peer *peer;
    uint32_t at = 0;

    if (now >= tp->check_at_ns) {
        tp->check_at_ns = now + weft_silence_check_ns();
        while ((peer = weft_table_next(&tp->peers, &at)) != NULL) {
            check_peer(tp, peer);
        }
    }
    return tp->check_at_ns;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

void weft_msg_look_at_clock(struct weft_transport *tp)
{
    uint64_t next = 0;

    if (tp->connections + tp->pending > 0) {
        next = check_all(tp, weft_clock_ns());
    }
    if (tp->losing != NULL) {
        next = earlier(next, weft_msg_report_losses(tp));
    }
    tp->deadline = next;
}
