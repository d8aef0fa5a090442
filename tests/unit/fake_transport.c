#include "fake_transport.h"

#include "engine/hot.h"
#include "engine/lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct weft_transport {
    struct weft_upcalls *up;
};

struct queue {
    struct fake_packet *first;
    struct fake_packet **end;
};

struct fake fake;

static struct weft_transport transport;
static struct queue ordered;
static struct queue control;
static struct weft_path *paths[FAKE_PEERS]; /* that are connected */
static bool is_reachable;
static size_t sent_room;
static size_t move_room;
static uint32_t numbers[FAKE_PEERS]; /* of the next ordered packet from each */

static void note_fault(bool is_fault, const char *what)
{
    if (is_fault && fake.fault == NULL) {
        fake.fault = what;
    }
}

/* Counts one of so many times; false if none is left. */
static bool use_up(int *times)
{
    if (*times == 0) {
        return false;
    }
    if (*times > 0) {
        (*times)--;
    }
    return true;
}

/* Has this thread the lock? Without assertions nobody notes whose it is: then anybody's
 * counts for those who need it, and nobody's for those who must not have it. */
static bool lacks_lock(void)
{
#ifdef NDEBUG
    return atomic_load_explicit(&weft_the_lock.state, memory_order_relaxed) == 0;
#else
    return !weft_lock_is_mine;
#endif
}

static bool has_lock(void)
{
#ifdef NDEBUG
    return false;
#else
    return weft_lock_is_mine;
#endif
}

static void *must(void *memory)
{
    if (memory == NULL) {
        fprintf(stderr, "fake transport: no memory\n");
        abort();
    }
    return memory;
}

static void empty(struct queue *q)
{
    while (q->first != NULL) {
        struct fake_packet *next = q->first->next;

        free(q->first);
        q->first = next;
    }
    q->end = &q->first;
}

void fake_forget(void)
{
    for (size_t i = 0; i < fake.sent_count; i++) {
        free(fake.sent[i]);
    }
    fake.sent_count = 0;
    fake.move_count = 0;
    fake.wakes = 0;
}

void fake_reset(void)
{
    fake_forget();
    free(fake.sent);
    free(fake.moves);
    sent_room = 0;
    move_room = 0;
    empty(&ordered);
    empty(&control);
    is_reachable = true;
    memset(numbers, 0, sizeof(numbers));
    fake = (struct fake){
        .packet_max = FAKE_SHORT_MAX,
        .gets = FAKE_ENDLESS,
        .puts = FAKE_ENDLESS,
    };
}

static struct fake_packet *make(uint32_t peer, const struct weft_header *header,
                                const void *data, size_t len, unsigned flags)
{
    struct fake_packet *packet = must(malloc(sizeof(*packet)));

    packet->peer = peer;
    packet->flags = flags;
    packet->header = *header;
    packet->len = len;
    packet->next = NULL;
    if (len > 0) {
        memcpy(packet->data, data, len);
    }
    return packet;
}

/* ---- the test's side ---- */

void fake_arrive(uint32_t from, struct weft_header header, const void *data, size_t len,
                 unsigned flags)
{
    struct queue *q = (flags & WEFT_SEND_CONTROL) != 0 ? &control : &ordered;
    int copies = 1;

    header.length = (uint32_t)len;
    if (q == &ordered) {
        header.sequence = numbers[from]++;
    } else {
        copies += use_up(&fake.repeat_control) ? 1 : 0;
        copies = use_up(&fake.drop_control) ? 0 : copies;
    }
    while (copies-- > 0) {
        *q->end = make(from, &header, data, len, flags);
        q->end = &(*q->end)->next;
    }
}

uint32_t fake_number(uint32_t from)
{
    return numbers[from];
}

static size_t length_of(const struct queue *q)
{
    size_t n = 0;

    for (const struct fake_packet *p = q->first; p != NULL; p = p->next) {
        n++;
    }
    return n;
}

size_t fake_pending(void)
{
    return length_of(&ordered) + length_of(&control);
}

const struct fake_packet *fake_nth(enum weft_packet kind, size_t n)
{
    for (size_t i = 0; i < fake.sent_count; i++) {
        if (fake.sent[i]->header.kind == (uint8_t)kind && n-- == 0) {
            return fake.sent[i];
        }
    }
    return NULL;
}

size_t fake_count(enum weft_packet kind)
{
    size_t n = 0;

    while (fake_nth(kind, n) != NULL) {
        n++;
    }
    return n;
}

/* ---- opening and closing ---- */

static enum weft_rc fake_open(struct weft_upcalls *up, struct weft_node *node,
                              struct weft_transport **out)
{
    note_fault(fake.is_open, "opened twice");
    fake.is_open = true;
    transport.up = up;
    fake.node = node;
    *out = &transport;
    return WEFT_OK;
}

static void fake_close(struct weft_transport *tp)
{
    (void)tp;
    note_fault(!fake.is_open, "closed without being open");
    note_fault(fake.paths != 0, "closed with paths");
    fake.is_open = false;
}

static enum weft_rc fake_connect(struct weft_transport *tp, struct weft_peer *peer,
                                 uint64_t process, struct weft_path **out)
{
    const uint32_t rank = weft_process_rank(process);
    struct weft_path *path;

    note_fault(lacks_lock(), "connect without the lock");
    if (rank >= FAKE_PEERS) {
        return WEFT_ERR_UNSUPPORTED;
    }
    path = must(malloc(sizeof(*path)));
    *path = (struct weft_path){
        .packets = &fake_ops,
        .transport = tp,
        .peer = peer,
        .process = process,
        .packet_max = fake.packet_max,
    };
    fake.paths++;
    paths[rank] = path;
    *out = path;
    return WEFT_OK;
}

static void fake_disconnect(struct weft_path *path)
{
    fake.paths--;
    paths[weft_process_rank(path->process)] = NULL;
    free(path);
}

/* ---- packets ---- */

static bool is_control(const struct weft_header *header)
{
    return header->kind == WEFT_PKT_PULL || header->kind == WEFT_PKT_FETCHED ||
           header->kind == WEFT_PKT_STAGE || header->kind == WEFT_PKT_STAGED ||
           header->kind == WEFT_PKT_OFFER;
}

static void watch_send(const struct weft_header *header, size_t len, unsigned flags)
{
    note_fault(lacks_lock(), "send without the lock");
    note_fault(len > fake.packet_max, "send of more than fits");
    note_fault(header->channel != 0, "send on another channel");
    note_fault(header->length != len, "a header that is wrong about its length");
    note_fault(is_control(header) != ((flags & WEFT_SEND_CONTROL) != 0),
               "a kind of packet that went the wrong way");
}

static enum weft_rc fake_send(struct weft_path *path, const void *header,
                              const void *data, size_t len, unsigned flags)
{
    struct weft_header copy;
    bool is_refused;

    memcpy(&copy, header, sizeof(copy));
    watch_send(&copy, len, flags);
    is_refused = (flags & WEFT_SEND_CONTROL) != 0 ? use_up(&fake.refuse_control)
                                                  : use_up(&fake.refuse_ordered);
    if (is_refused) {
        return WEFT_AGAIN;
    }
    if (fake.send_error != WEFT_OK) {
        return fake.send_error;
    }
    if (fake.sent_count == sent_room) {
        sent_room = sent_room == 0 ? 64 : 2 * sent_room;
        fake.sent = must(realloc(fake.sent, sent_room * sizeof(*fake.sent)));
    }
    fake.sent[fake.sent_count++] =
        make(weft_process_rank(path->process), &copy, data, len, flags);
    return WEFT_OK;
}

static struct weft_peer *sender_of(const struct weft_transport *tp,
                                   const struct fake_packet *packet)
{
    return tp->up->meet(tp->up->owner, weft_engine_process(packet->peer));
}

/* Would this packet be taken? For a last look, which offers nothing. */
static bool is_ready(const struct weft_transport *tp, const struct queue *q,
                     const struct fake_packet *packet)
{
    struct weft_upcalls *up = tp->up;

    return q == &control ||
           up->may_take(up->owner, sender_of(tp, packet), &packet->header, 0);
}

static bool has_ready(const struct weft_transport *tp, const struct queue *q)
{
    bool is_behind[FAKE_PEERS] = {false}; /* an older one of that peer waits */

    for (const struct fake_packet *p = q->first; p != NULL; p = p->next) {
        if (!is_behind[p->peer] && !fake.is_held[p->peer] && is_ready(tp, q, p)) {
            return true;
        }
        is_behind[p->peer] = true;
    }
    return false;
}

static enum weft_taken offer(struct weft_transport *tp, const struct queue *q,
                             const struct fake_packet *packet)
{
    struct weft_upcalls *up = tp->up;
    struct weft_peer *from = sender_of(tp, packet);

    if (q == &control) {
        up->control(up->owner, from, &packet->header, packet->data, packet->len);
        return WEFT_TAKEN;
    }
    return up->arrived(up->owner, from, &packet->header, packet->data, packet->len, 0);
}

/* What is not taken stays, and holds up what is behind it of the same peer. */
static int poll_queue(struct weft_transport *tp, struct queue *q, int budget)
{
    bool is_behind[FAKE_PEERS] = {false};
    struct fake_packet **at = &q->first;
    int done = 0;

    while (*at != NULL && done < budget) {
        struct fake_packet *packet = *at;

        if (is_behind[packet->peer] || fake.is_held[packet->peer] ||
            offer(tp, q, packet) != WEFT_TAKEN) {
            is_behind[packet->peer] = true;
            at = &packet->next;
            continue;
        }
        *at = packet->next;
        if (q->end == &packet->next) {
            q->end = at;
        }
        free(packet);
        done++;
    }
    return done;
}

static int fake_poll(struct weft_transport *tp, int budget)
{
    int done;

    note_fault(lacks_lock(), "poll without the lock");
    fake.polls++;
    if (fake.polling != NULL) {
        fake.polling();
    }
    done = poll_queue(tp, &control, budget);
    return done + poll_queue(tp, &ordered, budget - done);
}

/* ---- memory ---- */

static void note_move(bool is_put, uint64_t address, uint64_t length, bool is_done)
{
    note_fault(has_lock(), "put or get under the lock");
    note_fault(length == 0, "put or get of nothing");
    if (fake.move_count == move_room) {
        move_room = move_room == 0 ? 64 : 2 * move_room;
        fake.moves = must(realloc(fake.moves, move_room * sizeof(*fake.moves)));
    }
    fake.moves[fake.move_count++] = (struct fake_move){address, length, is_put, is_done};
}

static size_t bytes_in(const struct iovec *blocks, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++) {
        bytes += blocks[i].iov_len;
    }
    return bytes;
}

/* As many bytes of `to` as of `from`. If it failed, nothing is promised about what
 * arrived. */
static void copy_blocks(const struct iovec *to, const struct iovec *from, size_t bytes,
                        bool is_done)
{
    size_t to_at = 0;
    size_t from_at = 0;

    while (bytes > 0) {
        const size_t to_left = to->iov_len - to_at;
        const size_t from_left = from->iov_len - from_at;
        size_t n = to_left < from_left ? to_left : from_left;

        if (is_done) {
            memcpy((char *)to->iov_base + to_at, (char *)from->iov_base + from_at, n);
        } else {
            memset((char *)to->iov_base + to_at, 0xee, n);
        }
        bytes -= n;
        to_at = n == to_left ? 0 : to_at + n;
        to += n == to_left ? 1 : 0;
        from_at = n == from_left ? 0 : from_at + n;
        from += n == from_left ? 1 : 0;
    }
}

static enum weft_rc move_bytes(bool is_put, const struct weft_move *move)
{
    const bool is_done = is_reachable && use_up(is_put ? &fake.puts : &fake.gets);
    const size_t bytes = bytes_in(move->ours, move->our_count);
    const uint64_t address = (uint64_t)(uintptr_t)move->theirs->iov_base;
    void (*hook)(uint64_t address, uint64_t length) =
        is_put ? fake.putting : fake.getting;

    note_fault(move->their_count > WEFT_IOV_MAX || move->our_count > WEFT_IOV_MAX,
               "too many blocks");
    note_fault(bytes != bytes_in(move->theirs, move->their_count),
               "not as many bytes there as here");
    note_move(is_put, address, bytes, is_done);
    if (hook != NULL) {
        hook(address, bytes);
    }
    if (!fake.is_dry) {
        copy_blocks(is_put ? move->theirs : move->ours,
                    is_put ? move->ours : move->theirs, bytes, is_done);
    }
    return is_done ? WEFT_OK : WEFT_ERR_SYSTEM;
}

static enum weft_rc fake_put(struct weft_path *path, const struct weft_move *move,
                             struct weft_op *op)
{
    (void)path;
    (void)op;
    return move_bytes(true, move);
}

static enum weft_rc fake_get(struct weft_path *path, const struct weft_move *move,
                             struct weft_op *op)
{
    (void)path;
    (void)op;
    return move_bytes(false, move);
}

static const struct weft_memory_ops memory_ops = {
    .is_unlocked = true,
    .iov_max = WEFT_IOV_MAX,
    .put = fake_put,
    .get = fake_get,
};

static void fake_try_memory(struct weft_path *path)
{
    path->memory = is_reachable ? &memory_ops : NULL;
}

void fake_reach(bool can_be)
{
    is_reachable = can_be;
    for (int i = 0; i < FAKE_PEERS; i++) {
        if (paths[i] != NULL) {
            fake_try_memory(paths[i]);
        }
    }
}

/* ---- sleeping: the last look is the transport's, the rest stands for the node ---- */

static enum weft_rc fake_arm(struct weft_transport *tp)
{
    note_fault(lacks_lock(), "arm without the lock");
    note_fault(!fake_is_armed(), "a last look before a wake level was published");
    if (has_ready(tp, &control) || has_ready(tp, &ordered)) {
        return WEFT_AGAIN;
    }
    if (fake.arming != NULL) {
        fake.arming();
    }
    return WEFT_OK;
}

bool fake_is_armed(void)
{
    return atomic_load_explicit(&fake.node->area->wake_level, memory_order_relaxed) !=
           WEFT_WAKE_NONE;
}

void __real_weft_node_ring(struct weft_node *node);
void __wrap_weft_node_sleep(struct weft_node *node, uint32_t bell, _Atomic uint32_t *word,
                            uint32_t old, uint64_t ns);
void __wrap_weft_node_ring(struct weft_node *node);
void __wrap_weft_node_wake(struct weft_node_area *area, enum weft_wake_level needed);

void __wrap_weft_node_sleep(struct weft_node *node, uint32_t bell, _Atomic uint32_t *word,
                            uint32_t old, uint64_t ns)
{
    (void)node;
    (void)bell;
    (void)word;
    (void)old;
    note_fault(has_lock(), "sleep under the lock");
    note_fault(!fake_is_armed(), "sleep without being armed");
    note_fault(fake.sleeping == NULL && ns == 0, "a sleep without end");
    fake.sleeps++;
    if (fake.sleeping != NULL) {
        fake.sleeping();
    }
}

void __wrap_weft_node_ring(struct weft_node *node)
{
    fake.rings++;
    if (fake.ringing != NULL) {
        fake.ringing();
    } else {
        __real_weft_node_ring(node);
    }
}

void __wrap_weft_node_wake(struct weft_node_area *area, enum weft_wake_level needed)
{
    note_fault(needed == WEFT_WAKE_NONE, "a peer woken that wants nothing");
    fake.wakes++;
    fake.woken = area;
    fake.wake_level = needed;
}

static bool fake_may_be_queued(struct weft_path *path,
                               bool (*is_it)(const void *header, const void *argument),
                               const void *argument)
{
    (void)path;
    (void)is_it;
    (void)argument;
    return fake.may_be_queued;
}

static bool fake_needs_retry(struct weft_transport *tp)
{
    (void)tp;
    return true;
}

static void fake_count_rest(const struct weft_transport *tp, struct weft_traffic *traffic)
{
    (void)tp;
    (void)traffic;
}

const struct weft_packet_ops fake_ops = {
    .name = "fake",
    .is_node_local = true,
    .open = fake_open,
    .close = fake_close,
    .connect = fake_connect,
    .disconnect = fake_disconnect,
    .send = fake_send,
    .poll = fake_poll,
    .arm = fake_arm,
    .count = fake_count_rest,
    .try_memory = fake_try_memory,
    .may_be_queued = fake_may_be_queued,
    .needs_retry = fake_needs_retry,
};
