#include "transport/ofi/rdm/greet.h"

#include "transport/ofi/common/version.h"
#include "transport/ofi/rdm/address.h"
#include "transport/ofi/rdm/lost.h"
#include "transport/ofi/rdm/peer.h"
#include "transport/ofi/rdm/post.h"

#include <string.h>

static struct weft_rdm_frame frame_of(enum weft_rdm_kind kind, uint32_t from)
{
    return (struct weft_rdm_frame){
        .version = WEFT_RDM_VERSION,
        .kind = (uint8_t)kind,
        .from = from,
    };
}

/* ---- asking ---- */

static void ask(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    const struct weft_rdm_frame frame = frame_of(WEFT_RDM_ASK, peer->index);
    uint8_t data[WEFT_ASK_BYTES];

    peer->ours = (struct weft_handshake){
        .caller = tp->self.process,
        .listener = peer->process,
    };
    if (weft_handshake_ask(&tp->self, &peer->ours, data) != WEFT_OK) {
        weft_rdm_lose(tp, peer, "no random numbers");
    } else if (weft_rdm_post(tp, peer, &frame, data, sizeof(data)) == WEFT_OK) {
        peer->state = WEFT_RDM_ASKING;
    }
}

void weft_rdm_greet(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    enum weft_rc rc;

    if (peer->state != WEFT_RDM_NONE) {
        return;
    }
    rc = weft_rdm_find(tp, peer);
    if (rc == WEFT_OK) {
        ask(tp, peer);
    } else if (rc == WEFT_AGAIN) { /* it has not called MPI_Init: nothing tells when */
        tp->needs_retry = true;
    } else {
        weft_rdm_lose(tp, peer, "its address is not known");
    }
}

bool weft_rdm_on_answer(struct weft_transport *tp, const struct weft_rdm_frame *frame,
                        const void *data, size_t len)
{
    struct weft_rdm_peer *peer = weft_rdm_peer_at(tp, frame->from);
    enum weft_refusal refusal;

    if (peer == NULL || peer->state != WEFT_RDM_ASKING) {
        return false;
    }
    refusal = weft_handshake_check_answer(&tp->self, data, len, &peer->ours);
    if (refusal == WEFT_REFUSED_PACKETS) {
        char name[WEFT_RDM_NAME_BYTES];

        weft_rdm_name_peer(peer, name, sizeof(name));
        weft_ofi_end_by_version(tp->job, name, weft_handshake_packets_of(data),
                                tp->self.packets);
    }
    if (refusal != WEFT_WELCOME) {
        return false;
    }
    weft_handshake_pass(&tp->self, &peer->ours, peer->pass);
    peer->state = WEFT_RDM_OPEN;
    return true;
}

/* ---- answering ---- */

/* False: not now. */
static bool try_to_answer(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    const struct weft_rdm_frame frame = frame_of(WEFT_RDM_ANSWER, peer->index_there);
    const enum weft_rc rc = weft_rdm_find(tp, peer);

    return rc == WEFT_OK ? weft_rdm_post(tp, peer, &frame, peer->answer,
                                         sizeof(peer->answer)) != WEFT_AGAIN
                         : rc != WEFT_AGAIN;
}

static void answer(struct weft_transport *tp, struct weft_rdm_peer *peer)
{
    if (!peer->is_answer_due && !try_to_answer(tp, peer)) {
        peer->is_answer_due = true;
        peer->next_answer = tp->answers;
        tp->answers = peer;
    }
}

void weft_rdm_answer_all(struct weft_transport *tp)
{
    struct weft_rdm_peer *list = tp->answers;

    tp->answers = NULL;
    while (list != NULL) {
        struct weft_rdm_peer *next = list->next_answer;

        list->is_answer_due = false;
        answer(tp, list);
        list = next;
    }
}

static bool is_same_ask(const struct weft_handshake *a, const struct weft_handshake *b)
{
    return memcmp(a->nonce_a, b->nonce_a, sizeof(a->nonce_a)) == 0;
}

bool weft_rdm_on_ask(struct weft_transport *tp, const struct weft_rdm_frame *frame,
                     const void *data, size_t len)
{
    struct weft_handshake shake;
    struct weft_rdm_peer *peer;

    if (weft_handshake_check_ask(&tp->self, data, len, &shake) != WEFT_WELCOME) {
        return false;
    }
    peer = weft_rdm_peer_get(tp, shake.caller, NULL);
    if (peer == NULL || peer->state == WEFT_RDM_LOST) {
        return true;
    }
    if (peer->has_asked && is_same_ask(&peer->theirs, &shake)) {
        answer(tp, peer); /* once more */
        return true;
    }
    if (peer->has_proved) {
        return false;
    }
    shake.caller_index = peer->index;
    if (weft_handshake_answer(&tp->self, &shake, peer->answer) != WEFT_OK) {
        return true;
    }
    peer->theirs = shake;
    peer->index_there = frame->from;
    peer->has_asked = true;
    weft_handshake_pass(&tp->self, &shake, peer->pass_here);
    answer(tp, peer);
    return true;
}
