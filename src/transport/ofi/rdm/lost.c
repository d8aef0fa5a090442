#include "transport/ofi/rdm/lost.h"

#include "base/clock.h"
#include "base/log.h"
#include "transport/ofi/rdm/peer.h"

#include <stdio.h>
#include <unistd.h>

enum { GRACE_NS = 1000 * 1000 * 1000, WHY_BYTES = 384 };

void weft_rdm_lose(struct weft_transport *tp, struct weft_rdm_peer *peer,
                   const char *cause)
{
    if (peer->state == WEFT_RDM_LOST || tp->is_closing) {
        return;
    }
    peer->state = WEFT_RDM_LOST;
    weft_mr_cache_forget_peers(&tp->slots.cache);
    snprintf(peer->cause, sizeof(peer->cause), "%s", cause);
    peer->report_at_ns = weft_clock_ns() + GRACE_NS;
    peer->next_losing = tp->losing;
    tp->losing = peer;
}

static void report(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    char own[WEFT_RDM_HOST_BYTES] = "this host";
    char name[WEFT_RDM_NAME_BYTES];
    char why[WHY_BYTES];

    (void)gethostname(own, sizeof(own) - 1);
    weft_rdm_name_peer(peer, name, sizeof(name));
    snprintf(why, sizeof(why), "%snothing can be sent from %s to %s: %s",
             peer->has_left ? "that process has ended its use of MPI; " : "", own, name,
             peer->cause);
    weft_log_info("%s", why);
    peer->is_reported_lost = true;
    tp->up->lost(tp->up->owner, peer->process, peer->has_left, why);
}

void weft_rdm_report_losses(struct weft_transport *tp)
{
    struct weft_rdm_peer **at = &tp->losing;
    const uint64_t now = weft_clock_ns();

    while (*at != NULL) {
        struct weft_rdm_peer *peer = *at;

        if (now >= peer->report_at_ns) {
            *at = peer->next_losing;
            report(tp, peer);
        } else {
            at = &peer->next_losing;
        }
    }
}

uint64_t weft_rdm_next_loss(const struct weft_transport *tp)
{
    uint64_t next = 0;

    for (const struct weft_rdm_peer *p = tp->losing; p != NULL; p = p->next_losing) {
        next = next == 0 || p->report_at_ns < next ? p->report_at_ns : next;
    }
    return next;
}
