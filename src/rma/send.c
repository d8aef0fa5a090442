#include "rma/send.h"

#include "base/reserve.h"
#include "base/texts.h"
#include "engine/engine.h"
#include "rma/wait.h"

#include <string.h>

/* A packet that has found no room. */
struct kept {
    struct weft_retry retry; /* first */
    struct weft_peer *peer;
    struct weft_header header;
    int target; /* to which it counts as under way, or -1 */
    size_t len;
    uint8_t data[];
};

static struct weft_header header_of(const struct weft_win *win, enum weft_packet kind)
{
    return (struct weft_header){
        .kind = (uint8_t)kind,
        .context = win->comm->context | WEFT_PLANE_RMA,
        .source = (uint32_t)win->comm->rank,
    };
}

size_t weft_rma_packet_max(const struct weft_peer *peer)
{
    return weft_peer_eager_max(peer);
}

enum weft_rc weft_rma_try(const struct weft_win *win, struct weft_peer *peer,
                          enum weft_packet kind, const void *data, size_t len)
{
    struct weft_header header = header_of(win, kind);

    weft_assert_locked();
    assert(len <= weft_rma_packet_max(peer));
    if (weft_unlikely(peer->is_failed)) {
        return WEFT_ERR_PROC_FAILED;
    }
    return weft_engine_send(peer, &header, data, len, WEFT_SEND_URGENT);
}

/* The window is there until its packets are: an epoch ends behind them. */
static void uncount(const struct kept *kept)
{
    struct weft_win *win = weft_win_of_context(kept->header.context);
    struct weft_target *target =
        win != NULL ? weft_win_find_target(win, kept->target) : NULL;

    if (target != NULL) {
        weft_target_less(target);
        weft_rma_look(win);
    }
}

static enum weft_rc send_again(struct weft_retry *retry)
{
    struct kept *kept = (struct kept *)retry;
    const enum weft_rc rc = weft_engine_send(kept->peer, &kept->header, kept->data,
                                             kept->len, WEFT_SEND_URGENT);

    if (rc != WEFT_AGAIN) {
        if (kept->target >= 0) {
            uncount(kept);
        }
        weft_reserve_give(kept);
    }
    return rc;
}

/* Sends it: false: there is no room, or others wait for it. */
static bool has_sent(const struct weft_win *win, struct weft_peer *peer,
                     enum weft_packet kind, const void *data, size_t len)
{
    return !weft_peer_retries(peer, WEFT_RETRY_ORDERED) &&
           weft_rma_try(win, peer, kind, data, len) != WEFT_AGAIN;
}

static void keep(const struct weft_win *win, struct weft_peer *peer,
                 enum weft_packet kind, const void *data, size_t len, int target)
{
    struct kept *kept;

    kept = weft_reserve_take(sizeof(*kept) + len);
    if (kept == NULL) {
        weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_ANSWER);
    }
    *kept = (struct kept){
        .retry = {.again = send_again, .failed = weft_retry_free},
        .peer = peer,
        .header = header_of(win, kind),
        .target = target,
        .len = len,
    };
    memcpy(kept->data, data, len);
    weft_engine_retry_later(peer, WEFT_RETRY_ORDERED, &kept->retry);
}

void weft_rma_send(const struct weft_win *win, struct weft_peer *peer,
                   enum weft_packet kind, const void *data, size_t len)
{
    if (!has_sent(win, peer, kind, data, len)) {
        keep(win, peer, kind, data, len, -1);
    }
}

void weft_rma_send_copied(const struct weft_win *win, struct weft_target *target,
                          const void *data, size_t len)
{
    if (!has_sent(win, target->peer, WEFT_PKT_RMA, data, len)) {
        weft_target_more(target);
        keep(win, target->peer, WEFT_PKT_RMA, data, len, (int)target->rank);
    }
}

void weft_rma_sync(const struct weft_win *win, struct weft_peer *peer,
                   enum weft_rma_sync what, uint32_t number)
{
    const struct weft_pkt_rma_sync packet = {.what = what, .number = number};

    weft_rma_send(win, peer, WEFT_PKT_RMA_SYNC, &packet, sizeof(packet));
}

bool weft_rma_asks_at_once(const struct weft_win *win, const struct weft_target *target)
{
    return target->small_ones < WEFT_RMA_AT_ONCE && target->combined == NULL &&
           target->staged == 0 && (win->epoch.is_all || win->epoch.locks > 0);
}

uint32_t weft_rma_ask_at_once(struct weft_target *target)
{
    target->is_dirty = false;
    target->is_put = false; /* the packet arrives later */
    target->small_ones++;
    return ++target->asked;
}
