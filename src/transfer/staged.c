#include "transfer/staged.h"

#include "base/texts.h"
#include "transfer/stage.h"

static const struct weft_transfer_ops staged;

static void give_stages(struct weft_transfer *t)
{
    weft_stage_return(t->staged.stage[0]);
    weft_stage_return(t->staged.stage[1]);
}

/* From now on the transfer goes this way. */
static struct weft_staged *use(struct weft_transfer *t)
{
    t->ops = &staged;
    t->staged = (struct weft_staged){.next = 0};
    return &t->staged;
}

static struct weft_stage stage_of(struct weft_staged *s, int i)
{
    if (s->stage[i].at == NULL) {
        s->stage[i] = weft_stage_take_any();
        if (s->stage[i].at == NULL) {
            weft_wireup_abort(weft_engine.job, 1, WEFT_S_OOM_PACK);
        }
    }
    return s->stage[i];
}

/* What is at work sees by itself that there is more. */
static void start_work(struct weft_transfer *transfer)
{
    if (transfer->work.state == WEFT_WORK_NONE) {
        weft_transfer_add_work(transfer);
    }
}

/* ---- the sender's half ---- */

const char *weft_staged_on_stage(struct weft_peer *from,
                                 const union weft_pkt_control *packet)
{
    const struct weft_pkt_stage *stage = &packet->stage;
    struct weft_transfer *send;
    const char *fault = weft_transfer_find_announced(from, stage->request, &send);
    struct weft_staged *s;

    if (send == NULL || fault != NULL) {
        return fault;
    }
    /* A share with chunks is the receiver's other way; no message goes both. */
    if (send->data.type == NULL || send->is_share_ours || weft_peer_is_on_net(from) ||
        stage->length > WEFT_STAGED_CHUNK) {
        return "it asks for stages that this message does not go through";
    }
    s = send->ops == &staged ? &send->staged : use(send);
    if (stage->offset < s->end) {
        return NULL; /* a second time */
    }
    if (stage->offset != s->end || stage->length > send->data.bytes - s->end) {
        return "it asks for bytes outside the message";
    }
    s->end += stage->length;
    send->other = stage->receiver;
    start_work(send);
    return NULL;
}

static void pack_chunks(struct weft_transfer *send)
{
    struct weft_staged *s = &send->staged;

    while (s->next < s->end) {
        const uint64_t left = s->end - s->next;
        const uint64_t length = left < WEFT_STAGED_CHUNK ? left : WEFT_STAGED_CHUNK;
        const struct weft_stage stage =
            stage_of(s, (int)(s->next / WEFT_STAGED_CHUNK % 2));
        const struct weft_pkt_staged chunk = {
            .request = send->other,
            .address = stage.name,
            .offset = s->next,
            .length = length,
        };
        const bool is_progress_thread = weft_engine_drop_lock();

        weft_data_gather(&send->data, chunk.offset, stage.at, (size_t)length);
        weft_engine_retake_lock(is_progress_thread);
        s->next += length;
        weft_engine_control(send->peer, WEFT_PKT_STAGED, &chunk, sizeof(chunk));
    }
}

/* ---- the receiver's half ---- */

static void ask(struct weft_transfer *recv)
{
    struct weft_staged *s = &recv->staged;
    const uint64_t left = s->end - s->next;
    const struct weft_pkt_stage stage = {
        .request = recv->other,
        .receiver = recv->name,
        .offset = s->next,
        .length = left < WEFT_STAGED_CHUNK ? left : WEFT_STAGED_CHUNK,
    };

    if (left > 0 && !s->is_failed) {
        s->next += stage.length;
        weft_engine_control(recv->peer, WEFT_PKT_STAGE, &stage, sizeof(stage));
    }
}

void weft_staged_begin(struct weft_transfer *recv, uint64_t source, uint64_t length)
{
    const struct weft_peer *peer = recv->peer;
    struct weft_staged *s;

    if (source == 0 && !weft_peer_is_on_node(peer)) {
        weft_transfer_pull(recv, 0, length);
        return;
    }
    s = use(recv);
    s->end = length;
    if (source == 0) {
        ask(recv);
        ask(recv);
        return;
    }
    s->next = length;
    s->staged = length;
    s->chunk[0].length = length;
    s->chunk[0].address = source;
    s->count = 1;
    start_work(recv);
}

/* A chunk could not be fetched: the rest goes another way. */
static void fall_back(struct weft_transfer *recv)
{
    const struct weft_staged *s = &recv->staged;

    if (s->staged == s->next) {
        weft_transfer_pull(recv, s->failed, s->end - s->failed);
    }
}

/* Is there room for a chunk, and are its bytes the next that were asked for? */
static bool is_next_chunk(const struct weft_transfer *recv,
                          const struct weft_pkt_staged *chunk)
{
    const struct weft_staged *s = &recv->staged;

    return recv->ops == &staged && chunk->offset == s->staged && chunk->length > 0 &&
           chunk->length <= s->next - s->staged && chunk->length <= WEFT_STAGED_CHUNK &&
           s->count < 2 &&
           weft_remote_is_sound(recv->peer, chunk->address, chunk->length);
}

const char *weft_staged_on_staged(struct weft_peer *from,
                                  const union weft_pkt_control *packet)
{
    const struct weft_pkt_staged *chunk = &packet->staged;
    struct weft_transfer *recv;
    const char *fault = weft_transfer_find_incoming(from, chunk->request, &recv);
    struct weft_staged *s;
    unsigned at;

    if (recv == NULL || fault != NULL) {
        return fault;
    }
    s = &recv->staged;
    if (recv->ops == &staged && chunk->offset < s->staged) {
        return NULL; /* a second time */
    }
    if (!is_next_chunk(recv, chunk)) {
        return "it has packed bytes that nobody asked for";
    }
    s->staged += chunk->length;
    if (s->is_failed) {
        fall_back(recv);
        return NULL;
    }
    at = (s->first + s->count) % 2;
    s->chunk[at].offset = chunk->offset;
    s->chunk[at].length = chunk->length;
    s->chunk[at].address = chunk->address;
    s->count++;
    start_work(recv);
    return NULL;
}

/* Stage by stage where it is to be unpacked. Without the lock. */
static enum weft_rc fetch(const struct weft_transfer *recv, uint64_t address,
                          uint64_t offset, uint64_t length, void *stage)
{
    struct weft_path *path = recv->peer->path;
    const struct weft_key key = {.address = address};
    const struct weft_remote_data theirs = weft_remote_open(recv->peer, address);
    const struct weft_data flat = {.buffer = stage};
    enum weft_rc rc = WEFT_OK;

    if (stage == NULL) {
        return weft_path_get(path, &key, 0, weft_data_at(&recv->data, offset),
                             (size_t)length, NULL);
    }
    for (uint64_t done = 0; done < length && rc == WEFT_OK; done += WEFT_STAGE_BYTES) {
        const uint64_t left = length - done;
        const size_t part = (size_t)(left < WEFT_STAGE_BYTES ? left : WEFT_STAGE_BYTES);

        rc = weft_remote_is_list(address)
                 ? weft_iov_list_move(path, WEFT_FETCH, &flat, 0, &theirs, done, part)
                 : weft_path_get(path, &key, done, stage, part, NULL);
        if (rc == WEFT_OK) {
            weft_data_scatter(&recv->data, offset + done, stage, part);
        }
    }
    return rc;
}

/* One chunk to its place. Drops the lock. */
static enum weft_rc take_chunk(struct weft_transfer *recv, unsigned at)
{
    struct weft_staged *s = &recv->staged;
    const uint64_t address = s->chunk[at].address;
    const uint64_t offset = s->chunk[at].offset;
    const uint64_t length = s->chunk[at].length;
    const struct weft_peer *peer = recv->peer;
    const void *seen = peer->is_self ? (const void *)(uintptr_t)address
                                     : weft_remote_stage(peer, address);
    void *stage = NULL;
    enum weft_rc rc = WEFT_OK;
    bool is_progress_thread;

    if (seen == NULL) {
        if (!weft_peer_can_reach(peer)) {
            return WEFT_ERR_UNSUPPORTED;
        }
        stage = recv->data.type == NULL ? NULL : stage_of(s, 0).at;
    }
    is_progress_thread = weft_engine_drop_lock();
    if (seen != NULL) {
        weft_data_scatter(&recv->data, offset, seen, (size_t)length);
    } else {
        rc = fetch(recv, address, offset, length, stage);
    }
    weft_engine_retake_lock(is_progress_thread);
    return rc;
}

static void take_chunks(struct weft_transfer *recv)
{
    struct weft_staged *s = &recv->staged;

    while (s->count > 0) {
        const unsigned at = s->first;

        if (take_chunk(recv, at) != WEFT_OK) {
            s->is_failed = true; /* what was staged meanwhile comes once more */
            s->failed = s->chunk[at].offset;
            s->count = 0;
            fall_back(recv);
            return;
        }
        weft_transfer_count(recv, s->chunk[at].length);
        s->first = (uint8_t)((at + 1) % 2);
        s->count--;
        ask(recv);
    }
}

static void work(struct weft_transfer *t)
{
    if (t->is_send) {
        pack_chunks(t);
    } else {
        take_chunks(t);
    }
}

static const struct weft_transfer_ops staged = {
    .work = work,
    .close = give_stages,
};
