/*
 * staged.c - long messages that are not contiguous where they come from, to a receiver
 * that can reach the sender's memory.
 *
 *   sender                                  receiver
 *   ANNOUNCE length, no address        -->  matched, now or later
 *   packs a piece into a window        <--  STAGE piece, STAGE piece
 *   STAGED where it is                 -->  fetches it to its place
 *   packs the next into the other      <--  STAGE piece
 *   ...                                     and so on, until all bytes are counted
 *   FETCHED                            <--
 *
 * The sender packs one window while the receiver empties the other; the memory is two
 * windows, however long the message. The receiver asks for pieces in order and for a
 * third only when it has the first, so a window is never written while it is read. Pieces
 * are packed and fetched outside the lock, by threads that wait in MPI. When one cannot
 * be fetched, the rest is asked for as DATA (rendezvous.c).
 */
#include "p2p/p2p.h"

#include "progress/lock.h"

#include <stdlib.h>

enum { SPARE_WINDOWS = 4 };

struct weft_staging {
    uint64_t next;   /* send: to be packed; receive: to be asked for */
    uint64_t end;    /* send: of what was asked for; receive: of all */
    bool is_working; /* in the list of work, or out of it and at work */
    bool is_failed;  /* receive: the rest comes as DATA */
    unsigned first;  /* receive: of the pieces that can be fetched */
    unsigned count;
    struct {
        uint64_t offset;
        uint64_t length;
        uint64_t address;
    } piece[2];
    void *window[2];
    void *copy; /* send: of all of a short one */
};

/* ---- windows: taken and given with the lock ---- */

static void *spare[SPARE_WINDOWS];
static int spares;

void *weft_p2p_take_window(void)
{
    return spares > 0 ? spare[--spares] : malloc(WEFT_WINDOW);
}

void weft_p2p_give_window(void *window)
{
    if (window != NULL && spares < SPARE_WINDOWS) {
        spare[spares++] = window;
    } else {
        free(window);
    }
}

void weft_p2p_free_windows(void)
{
    while (spares > 0) {
        free(spare[--spares]);
    }
}

void weft_p2p_free_staging(struct weft_p2p_request *request)
{
    struct weft_staging *s = request->staging;

    weft_p2p_give_window(s->window[0]);
    weft_p2p_give_window(s->window[1]);
    free(s->copy);
    free(s);
    request->staging = NULL;
}

static struct weft_staging *new_staging(struct weft_p2p_request *request)
{
    request->staging = calloc(1, sizeof(*request->staging));
    if (request->staging == NULL) {
        weft_wireup_abort(weft_p2p.job, 1, "no memory for a message in pieces");
    }
    return request->staging;
}

void weft_p2p_hang_copy(struct weft_p2p_request *send, void *copy)
{
    new_staging(send)->copy = copy;
}

static void *window_of(struct weft_staging *s, int i)
{
    if (s->window[i] == NULL) {
        s->window[i] = weft_p2p_take_window();
        if (s->window[i] == NULL) {
            weft_wireup_abort(weft_p2p.job, 1, "no memory to pack a message");
        }
    }
    return s->window[i];
}

static void start_work(struct weft_p2p_request *request, enum weft_work work)
{
    if (!request->staging->is_working) {
        request->staging->is_working = true;
        weft_p2p_add_work(request, work);
    }
}

/* ---- the sender's half ---- */

void weft_p2p_on_stage(const struct weft_answer *answer)
{
    struct weft_p2p_request *send = weft_p2p_find(answer->request, WEFT_REQUEST_SEND);
    struct weft_staging *s;

    if (send == NULL || send->type == NULL) {
        return;
    }
    s = send->staging != NULL ? send->staging : new_staging(send);
    if (answer->offset == s->end && answer->length <= send->capacity - s->end) {
        s->end += answer->length;
        send->other = answer->other;
        start_work(send, WEFT_WORK_PACK);
    }
}

void weft_p2p_pack_pieces(struct weft_p2p_request *send)
{
    struct weft_staging *s = send->staging;

    while (s->next < s->end) {
        const uint64_t left = s->end - s->next;
        const uint64_t length = left < WEFT_WINDOW ? left : WEFT_WINDOW;
        void *window = window_of(s, (int)(s->next / WEFT_WINDOW % 2));
        const struct weft_answer answer = {
            .request = send->other,
            .other = (uint64_t)(uintptr_t)window,
            .offset = s->next,
            .length = length,
        };

        weft_unlock();
        weft_p2p_gather(send, answer.offset, window, (size_t)length);
        weft_lock();
        s->next += length;
        weft_p2p_send_control(send->peer, WEFT_PKT_STAGED, &answer);
    }
    s->is_working = false;
}

/* ---- the receiver's half ---- */

static void ask(struct weft_p2p_request *recv)
{
    struct weft_staging *s = recv->staging;
    const uint64_t left = s->end - s->next;
    const struct weft_answer answer = {
        .request = recv->other,
        .other = (uint64_t)(uintptr_t)recv->base.handle,
        .offset = s->next,
        .length = left < WEFT_WINDOW ? left : WEFT_WINDOW,
    };

    if (left > 0 && !s->is_failed) {
        s->next += answer.length;
        weft_p2p_send_control(recv->from, WEFT_PKT_STAGE, &answer);
    }
}

void weft_p2p_start_staged(struct weft_p2p_request *recv, uint64_t length)
{
    struct weft_staging *s = new_staging(recv);

    s->end = length;
    ask(recv);
    ask(recv);
}

void weft_p2p_on_staged(const struct weft_answer *answer)
{
    struct weft_p2p_request *recv = weft_p2p_find(answer->request, WEFT_REQUEST_RECV);
    struct weft_staging *s = recv != NULL ? recv->staging : NULL;
    unsigned at;

    if (s == NULL || s->is_failed || s->count == 2 || answer->length > WEFT_WINDOW ||
        answer->offset > s->end || answer->length > s->end - answer->offset) {
        return;
    }
    at = (s->first + s->count) % 2;
    s->piece[at].offset = answer->offset;
    s->piece[at].length = answer->length;
    s->piece[at].address = answer->other;
    s->count++;
    start_work(recv, WEFT_WORK_TAKE);
}

/* Of one piece. Drops the lock. */
static enum weft_rc fetch(struct weft_p2p_request *recv, unsigned at)
{
    struct weft_staging *s = recv->staging;
    struct weft_endpoint *ep = recv->from->ep;
    const struct weft_key key = {.address = s->piece[at].address};
    const uint64_t offset = s->piece[at].offset;
    const size_t length = (size_t)s->piece[at].length;
    void *to = recv->type == NULL ? (uint8_t *)recv->buffer + offset : window_of(s, 0);
    enum weft_rc rc;

    weft_unlock();
    rc = ep->ops->fetch(ep, &key, 0, to, length, NULL);
    if (rc == WEFT_OK && recv->type != NULL) {
        weft_p2p_scatter(recv, offset, to, length);
    }
    weft_lock();
    return rc;
}

void weft_p2p_take_pieces(struct weft_p2p_request *recv)
{
    struct weft_staging *s = recv->staging;

    while (s->count > 0) {
        const unsigned at = s->first;

        if (fetch(recv, at) != WEFT_OK) {
            s->is_failed = true; /* what is staged meanwhile comes once more */
            s->count = 0;
            weft_p2p_pull(recv, s->piece[at].offset, s->end - s->piece[at].offset);
            weft_p2p_add_finishing(recv);
            return;
        }
        weft_p2p_count_copied(recv->joint, s->piece[at].length);
        s->first = (at + 1) % 2;
        s->count--;
        ask(recv);
        if (s->next == s->end && s->piece[at].offset + s->piece[at].length == s->end) {
            weft_p2p_add_finishing(recv);
        }
    }
    s->is_working = false;
}
