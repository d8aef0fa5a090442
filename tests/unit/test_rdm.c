/*
 * test_rdm.c - the transport without connections, over an endpoint of the test's that
 * keeps no order: packets come in theirs, strangers get nowhere.
 */
#include "unit.h"

#include "failed_job.h"

#include "transport/ofi/quirks/layers.h"
#include "transport/ofi/rdm/greet.h"
#include "transport/ofi/rdm/flush.h"
#include "transport/ofi/rdm/peer.h"
#include "transport/ofi/rdm/poll.h"
#include "transport/ofi/rdm/send.h"
#include "transport/ofi/sodium.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENDS = 2,
    JOB = 7,
    LARGEST = 1024,
    WINDOW = 4 * LARGEST,
    FLYING_MOST = 512,
    INJECT = 128,
    SENDS = 8,
    BUDGET = 5,
    MANY = 2000,
};

/* Bytes on their way to an end. */
struct flying {
    uint32_t to;
    size_t length;
    uint8_t bytes[LARGEST + sizeof(struct weft_rdm_frame)];
};

/* One process. */
struct end {
    struct weft_transport tp;
    struct weft_upcalls up;
    struct fid_ep endpoint;
    struct fid_cq cq;
    struct weft_ofi_slot receive;
    struct weft_ofi_slot sends[SENDS];
    uint8_t buffers[SENDS][LARGEST + sizeof(struct weft_rdm_frame)];
    struct weft_ofi_slot *done[SENDS];
    int done_count;
    uint32_t next_sent[2]; /* ordered, control */
    uint32_t next_come[2];
    uint32_t lost;
    bool is_full; /* takes no ordered packet */
};

static struct end ends[ENDS];
static struct flying flying[FLYING_MOST];
static int flying_count;
static struct flying arriving; /* what a completion points at */
static unsigned randomness;
static jmp_buf ended;
static const char *cause;
static const uint8_t secret[WEFT_HANDSHAKE_SECRET_BYTES] = {1, 2, 3};
static const uint8_t other_secret[WEFT_HANDSHAKE_SECRET_BYTES] = {1, 2, 4};

_Noreturn void __wrap_weft_wireup_abort(struct weft_job *job, int code, const char *why);

_Noreturn void __wrap_weft_wireup_abort(struct weft_job *job, int code, const char *why)
{
    (void)job;
    (void)code;
    cause = strdup(why);
    longjmp(ended, 1);
}

static unsigned draw(unsigned below)
{
    randomness = randomness * 1103515245 + 12345;
    return (randomness >> 16) % below;
}

/* ---- the endpoint ---- */

static struct end *end_of_endpoint(struct fid_ep *ep)
{
    return (struct end *)(void *)((char *)ep - offsetof(struct end, endpoint));
}

static ssize_t fake_inject(struct fid_ep *ep, const void *bytes, size_t length,
                           fi_addr_t to)
{
    struct flying *one = &flying[flying_count];

    (void)ep;
    if (flying_count == FLYING_MOST) {
        return -FI_EAGAIN;
    }
    assert_true(length <= sizeof(one->bytes));
    one->to = (uint32_t)to;
    one->length = length;
    memcpy(one->bytes, bytes, length);
    flying_count++;
    return 0;
}

static ssize_t fake_send(struct fid_ep *ep, const void *bytes, size_t length,
                         void *descriptor, fi_addr_t to, void *context)
{
    struct end *from = end_of_endpoint(ep);
    const ssize_t code = fake_inject(ep, bytes, length, to);

    (void)descriptor;
    if (code == 0) {
        assert_true(from->done_count < SENDS);
        from->done[from->done_count++] = context;
    }
    return code;
}

/* One completion at a time: of a send, or any of what flies. */
static ssize_t fake_read(struct fid_cq *cq, void *buffer, size_t count)
{
    struct end *end = (struct end *)(void *)((char *)cq - offsetof(struct end, cq));
    struct fi_cq_data_entry *entry = buffer;
    const int first = flying_count > 0 ? (int)draw((unsigned)flying_count) : 0;

    (void)count;
    if (end->done_count > 0) {
        *entry = (struct fi_cq_data_entry){.op_context = end->done[--end->done_count],
                                           .flags = FI_SEND};
        return 1;
    }
    for (int i = 0; i < flying_count; i++) {
        const int at = (first + i) % flying_count;

        if (flying[at].to == (uint32_t)(end - ends)) {
            arriving = flying[at];
            flying[at] = flying[--flying_count];
            *entry = (struct fi_cq_data_entry){.op_context = &end->receive,
                                               .flags = FI_RECV,
                                               .len = arriving.length,
                                               .buf = arriving.bytes};
            return 1;
        }
    }
    return -FI_EAGAIN;
}

static struct fi_ops_msg message_ops = {
    .size = sizeof(message_ops), .inject = fake_inject, .send = fake_send};
static struct fi_ops_cq cq_ops = {.size = sizeof(cq_ops), .read = fake_read};

/* ---- the layer above ---- */

static struct weft_peer *on_meet(void *owner, uint64_t process)
{
    (void)process;
    return owner;
}

static void check_number(struct end *end, const void *header, int kind)
{
    uint32_t number;

    memcpy(&number, header, sizeof(number));
    assert_int_equal(number, end->next_come[kind]);
    end->next_come[kind]++;
}

static enum weft_taken on_arrived(void *owner, struct weft_peer *from, const void *header,
                                  const void *data, size_t len, unsigned flags)
{
    struct end *end = owner;

    (void)flags;
    assert_ptr_equal(from, owner);
    if (end->is_full || draw(4) == 0) {
        return WEFT_KEEP;
    }
    check_number(end, header, 0);
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(((const uint8_t *)data)[i], (uint8_t)len);
    }
    return WEFT_TAKEN;
}

static bool on_may_take(void *owner, const struct weft_peer *from, const void *header,
                        unsigned flags)
{
    (void)from;
    (void)header;
    (void)flags;
    return !((struct end *)owner)->is_full;
}

static void on_control(void *owner, struct weft_peer *from, const void *header,
                       const void *data, size_t len)
{
    (void)from;
    (void)data;
    (void)len;
    check_number(owner, header, 1);
}

static void on_lost(void *owner, uint64_t process, bool has_left, const char *why)
{
    (void)process;
    (void)has_left;
    (void)why;
    ((struct end *)owner)->lost++;
}

/* ---- two processes ---- */

static uint64_t process_of(uint32_t rank)
{
    return weft_process(JOB, rank);
}

static void open_end(uint32_t rank)
{
    struct end *end = &ends[rank];

    memset(end, 0, sizeof(*end));
    end->up = (struct weft_upcalls){
        .owner = end,
        .meet = on_meet,
        .arrived = on_arrived,
        .may_take = on_may_take,
        .control = on_control,
        .lost = on_lost,
    };
    end->endpoint.msg = &message_ops;
    end->cq.ops = &cq_ops;
    end->tp = (struct weft_transport){
        .packets = &weft_rdm_ops,
        .up = &end->up,
        .job = &failed_job,
        .window = WINDOW,
        .packet_max = LARGEST,
        .inject_max = INJECT,
        .has_put_order = true,
        .ofi = {.endpoint = &end->endpoint, .cq = &end->cq},
        .slots =
            {
                .receives = &end->receive,
                .receive_count = 1,
                .is_multiple = true,
                .sends = end->sends,
                .send_count = SENDS,
            },
        .self = {secret, process_of(rank), ENDS, 1, 4},
    };
    for (int i = 0; i < SENDS; i++) {
        end->sends[i].buffer = end->buffers[i];
        end->sends[i].next = end->tp.slots.free_sends;
        end->tp.slots.free_sends = &end->sends[i];
    }
    weft_table_open(&end->tp.peers);
}

static void close_end(struct end *end)
{
    weft_rdm_peers_close(&end->tp);
}

/* The other end, whose address is known. */
static struct weft_rdm_peer *peer_of(struct end *end)
{
    const uint32_t other = end == ends ? 1 : 0;
    struct weft_rdm_peer *peer =
        weft_rdm_peer_get(&end->tp, process_of(other), on_meet(end, 0));

    assert_non_null(peer);
    peer->has_address = true;
    peer->address = other;
    return peer;
}

static int open_both(void **state)
{
    (void)state;
    randomness = 5;
    flying_count = 0;
    for (uint32_t i = 0; i < ENDS; i++) {
        open_end(i);
        (void)peer_of(&ends[i]);
    }
    return weft_sodium_open() == WEFT_OK ? 0 : -1;
}

static int close_both(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < ENDS; i++) {
        close_end(&ends[i]);
    }
    return 0;
}

/* A packet with the next number; its bytes say how many they are. */
static enum weft_rc send_one(struct end *end, int kind, size_t len)
{
    uint8_t header[WEFT_HEADER_BYTES] = {0};
    uint8_t data[LARGEST];
    enum weft_rc rc;

    memcpy(header, &end->next_sent[kind], sizeof(end->next_sent[kind]));
    memset(data, (uint8_t)len, len);
    rc = weft_rdm_send(&peer_of(end)->base, header, data, len,
                       kind == 1 ? WEFT_SEND_CONTROL : 0);
    end->next_sent[kind] += rc == WEFT_OK ? 1 : 0;
    return rc;
}

static void poll_both(void)
{
    for (int i = 0; i < ENDS; i++) {
        const int count = weft_rdm_poll(&ends[i].tp, BUDGET);

        assert_true(count >= 0 && count <= BUDGET);
    }
}

static void poll_all(void)
{
    for (int i = 0; i < 10 * FLYING_MOST; i++) {
        poll_both();
    }
    assert_int_equal(flying_count, 0);
}

/* What is under way, without taking it. */
static struct flying steal(void)
{
    assert_int_equal(flying_count, 1);
    return flying[--flying_count];
}

static void deliver(const struct flying *what)
{
    flying[flying_count++] = *what;
}

/* Until the first packet of end 0 has come. */
static void meet(void)
{
    while (send_one(&ends[0], 0, 1) != WEFT_OK) {
        poll_both();
    }
    poll_all();
    assert_int_equal(ends[1].next_come[0], 1);
}

static void nothing_is_lost_and_nothing_overtakes(void **state)
{
    (void)state;
    while (ends[0].next_sent[0] < MANY || ends[1].next_sent[0] < MANY / 2) {
        if (ends[0].next_sent[0] < MANY) {
            (void)send_one(&ends[0], (int)draw(5) == 0, draw(LARGEST + 1));
        }
        if (ends[1].next_sent[0] < MANY / 2) {
            (void)send_one(&ends[1], (int)draw(3) == 0, draw(100));
        }
        poll_both();
    }
    poll_all();
    for (int kind = 0; kind < 2; kind++) {
        assert_int_equal(ends[0].next_come[kind], ends[1].next_sent[kind]);
        assert_int_equal(ends[1].next_come[kind], ends[0].next_sent[kind]);
        assert_true(ends[0].next_sent[kind] > 0);
    }
    assert_int_equal(ends[0].tp.rejected + ends[1].tp.rejected, 0);
}

/* Who only receives returns credits all the same, and asks for a pass to do so. */
static void one_way_goes_on_for_ever(void **state)
{
    (void)state;
    for (int i = 0; i < 100 * MANY && ends[0].next_sent[0] < MANY; i++) {
        (void)send_one(&ends[0], 0, LARGEST);
        poll_both();
    }
    poll_all();
    assert_int_equal(ends[1].next_come[0], MANY);
}

static void a_full_receiver_holds_up_no_control_packet(void **state)
{
    (void)state;
    meet();
    ends[1].is_full = true;
    while (send_one(&ends[0], 0, LARGEST) == WEFT_OK) {
        poll_both();
    }
    poll_all();
    assert_int_equal(send_one(&ends[0], 0, LARGEST), WEFT_AGAIN);
    assert_int_equal(ends[1].next_come[0], 1);
    for (int i = 0; i < 3 * WEFT_CONTROL_CREDITS; i++) {
        while (send_one(&ends[0], 1, 10) != WEFT_OK) {
            poll_both();
        }
    }
    poll_all();
    assert_int_equal(ends[1].next_come[1], 3 * WEFT_CONTROL_CREDITS);
    assert_int_equal(ends[1].next_come[0], 1);
    assert_false(weft_rdm_may_take_kept(&ends[1].tp));
    ends[1].is_full = false;
    assert_true(weft_rdm_may_take_kept(&ends[1].tp));
    poll_all();
    assert_int_equal(ends[1].next_come[0], ends[0].next_sent[0]);
}

/* ---- strangers ---- */

static void expect_rejected(const void *bytes, size_t length)
{
    struct flying one = {.to = 1, .length = length};
    const uint64_t before = ends[1].tp.rejected;

    memcpy(one.bytes, bytes, length);
    deliver(&one);
    poll_all();
    assert_int_equal(ends[1].tp.rejected, before + 1);
}

static void who_has_no_pass_is_dropped_and_counted(void **state)
{
    struct weft_rdm_frame frame = {.version = WEFT_RDM_VERSION};
    uint8_t bytes[LARGEST] = {0};

    (void)state;
    for (uint8_t kind = 0; kind < 10; kind++) { /* before anybody has asked */
        frame.kind = kind;
        expect_rejected(&frame, sizeof(frame));
    }
    meet();
    for (uint8_t kind = 0; kind < 10; kind++) {
        frame.kind = kind;
        expect_rejected(&frame, sizeof(frame));
        frame.from = UINT32_MAX;
        expect_rejected(&frame, sizeof(frame));
        frame.from = 0;
    }
    expect_rejected(bytes, 1);
    expect_rejected(bytes, sizeof(frame) - 1);
    expect_rejected(bytes, LARGEST);
    for (size_t i = 0; i < WEFT_PASS_BYTES; i++) { /* almost right */
        frame.kind = WEFT_RDM_CONTROL;
        memcpy(frame.pass, peer_of(&ends[0])->pass, sizeof(frame.pass));
        frame.pass[i] ^= 1;
        expect_rejected(&frame, sizeof(frame));
    }
    memcpy(frame.pass, peer_of(&ends[0])->pass, sizeof(frame.pass));
    frame.version++;
    expect_rejected(&frame, sizeof(frame));
    assert_int_equal(ends[1].tp.index.count, 1); /* nobody new takes memory */
    assert_int_equal(ends[1].next_come[1], 0);
}

static void an_ask_without_the_secret_is_not_answered(void **state)
{
    (void)state;
    ends[0].tp.self.secret = other_secret;
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_AGAIN);
    poll_all();
    assert_int_equal(ends[1].tp.rejected, 1);
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_AGAIN);
    assert_int_equal(flying_count, 0);
}

static void an_answer_without_the_secret_opens_nothing(void **state)
{
    struct flying ask;

    (void)state;
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_AGAIN);
    ask = steal();
    ask.to = 0; /* to its maker: an ask that is not for it */
    deliver(&ask);
    poll_all();
    assert_int_equal(ends[0].tp.rejected, 1);
    ask.bytes[offsetof(struct weft_rdm_frame, kind)] = WEFT_RDM_ANSWER;
    deliver(&ask);
    poll_all();
    assert_int_equal(ends[0].tp.rejected, 2);
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_AGAIN);
}

/* The first ask is of an earlier opening: it gives way, and does no harm afterwards. */
static void an_ask_that_was_recorded_keeps_nobody_out(void **state)
{
    struct flying old;

    (void)state;
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_AGAIN);
    old = steal();
    close_end(&ends[0]);
    open_end(0);
    (void)peer_of(&ends[0]);
    deliver(&old);
    poll_all(); /* the answer to it is nothing that the new one asked for */
    assert_int_equal(ends[0].tp.rejected, 1);
    meet();
    deliver(&old);
    poll_all();
    assert_int_equal(ends[1].tp.rejected, 1);
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_OK);
    poll_all();
    assert_int_equal(ends[1].next_come[0], 2);
}

static void an_ask_that_comes_twice_changes_nothing(void **state)
{
    struct flying ask;

    (void)state;
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_AGAIN);
    ask = steal();
    deliver(&ask);
    deliver(&ask);
    poll_all(); /* of two answers the second is of no use */
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_OK);
    deliver(&ask);
    poll_all();
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_OK);
    poll_all();
    assert_int_equal(ends[1].next_come[0], 2);
}

static void a_packet_that_comes_twice_ends_the_job(void **state)
{
    struct flying packet;

    (void)state;
    meet();
    assert_int_equal(send_one(&ends[0], 1, 1), WEFT_OK);
    packet = steal();
    deliver(&packet);
    poll_all();
    deliver(&packet);
    if (setjmp(ended) == 0) {
        poll_all();
        fail();
    }
    assert_non_null(strstr(cause, "a control packet has come twice"));
    free((void *)(uintptr_t)cause);
}

/* ---- leaving, puts, loss ---- */

static void who_has_left_has_left_until_it_sends_again(void **state)
{
    struct weft_rdm_peer *there;
    struct flying leave;
    struct flying packet;

    (void)state;
    meet();
    there = peer_of(&ends[1]);
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_OK);
    packet = steal();
    assert_true(weft_rdm_send_leave(&ends[0].tp, peer_of(&ends[0])));
    poll_all();
    assert_true(there->has_left);
    deliver(&packet); /* sent before it, comes later */
    poll_all();
    assert_true(there->has_left);
    assert_int_equal(send_one(&ends[0], 1, 1), WEFT_OK);
    poll_all();
    assert_false(there->has_left);

    assert_true(weft_rdm_send_leave(&ends[0].tp, peer_of(&ends[0])));
    leave = steal();
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_OK);
    poll_all();
    deliver(&leave); /* and something was sent after it */
    poll_all();
    assert_false(there->has_left);
}

/* A provider refuses for ever what goes to an endpoint that was closed. */
static void who_has_left_and_takes_nothing_is_lost_once(void **state)
{
    struct weft_rdm_peer *there;

    (void)state;
    meet();
    while (send_one(&ends[1], 0, 1) != WEFT_OK) {
        poll_both();
    }
    poll_all();
    there = peer_of(&ends[1]);
    flying_count = FLYING_MOST; /* nothing more can be sent */
    assert_int_equal(send_one(&ends[1], 0, 1), WEFT_AGAIN);
    there->refused_since_ns = 1; /* since the clock began: it may be slow */
    assert_int_equal(send_one(&ends[1], 0, 1), WEFT_AGAIN);
    assert_int_equal(there->state, WEFT_RDM_OPEN);
    there->has_left = true;
    there->refused_since_ns = 1;
    assert_int_equal(send_one(&ends[1], 0, 1), WEFT_AGAIN);
    assert_int_equal(there->state, WEFT_RDM_LOST);
    flying_count = 0;
    assert_int_equal(send_one(&ends[1], 0, 1), WEFT_AGAIN); /* until it is told */
    assert_int_equal(ends[1].lost, 0);
    there->report_at_ns = 1;
    poll_both();
    poll_both();
    assert_int_equal(ends[1].lost, 1);
    assert_int_equal(send_one(&ends[1], 0, 1), WEFT_ERR_PROC_FAILED);
}

/* Else ofi_rxm would try to connect for ever, in each poll, to return credits. */
static void who_has_failed_and_takes_nothing_is_lost_at_once(void **state)
{
    const struct weft_rdm_peer *there;

    (void)state;
    meet();
    while (send_one(&ends[1], 0, 1) != WEFT_OK) {
        poll_both();
    }
    poll_all();
    there = peer_of(&ends[1]);
    flying_count = FLYING_MOST; /* nothing more can be sent */
    assert_int_equal(send_one(&ends[1], 0, 1), WEFT_AGAIN);
    assert_int_equal(there->state, WEFT_RDM_OPEN);
    weft_segment_fail(&failed_job.segment, 0);
    assert_int_equal(send_one(&ends[1], 0, 1), WEFT_AGAIN);
    assert_int_equal(there->state, WEFT_RDM_LOST);
    flying_count = 0;
    atomic_store(&failed_area.count, 0);
}

static void packets_wait_for_puts_unless_the_provider_has_order(void **state)
{
    struct weft_rdm_peer *peer = peer_of(&ends[0]);

    (void)state;
    meet();
    ends[0].tp.has_put_order = false;
    ends[0].tp.flush = WEFT_RDM_BY_DELIVERY;
    peer->under_way = 2;
    assert_int_equal(send_one(&ends[0], 1, 1), WEFT_AGAIN);
    assert_int_equal(send_one(&ends[0], 0, 1), WEFT_AGAIN);
    weft_rdm_flush_step(peer);
    assert_int_equal(send_one(&ends[0], 1, 1), WEFT_AGAIN);
    weft_rdm_flush_step(peer);
    assert_int_equal(send_one(&ends[0], 1, 1), WEFT_OK);
    poll_all();
}

/* What the environment has of ofi_rxm's limit, given a provider and a limit. */
static const char *eager_limit_over(const char *provider, const char *limit)
{
    setenv("FI_PROVIDER", provider, 1);
    unsetenv("FI_OFI_RXM_EAGER_LIMIT");
    if (limit != NULL) {
        setenv("FI_OFI_RXM_EAGER_LIMIT", limit, 1);
    }
    weft_layers_prepare_packets();
    unsetenv("FI_PROVIDER");
    return getenv("FI_OFI_RXM_EAGER_LIMIT");
}

/* Over verbs the limit has to be the size of its buffers. */
static void over_tcp_the_layer_takes_our_longest_packet_in_one_piece(void **state)
{
    const char *limit = eager_limit_over("tcp;ofi_rxm", NULL);

    (void)state;
    assert_non_null(limit);
    assert_true(strtoul(limit, NULL, 10) >=
                WEFT_RDM_ZCOPY_MAX + sizeof(struct weft_rdm_frame));
    assert_string_equal(eager_limit_over("tcp;ofi_rxm", "4096"), "4096");
    assert_null(eager_limit_over("verbs;ofi_rxm", NULL));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_both, close_both)
    const struct CMUnitTest tests[] = {
        CASE(nothing_is_lost_and_nothing_overtakes),
        CASE(one_way_goes_on_for_ever),
        CASE(a_full_receiver_holds_up_no_control_packet),
        CASE(who_has_no_pass_is_dropped_and_counted),
        CASE(an_ask_without_the_secret_is_not_answered),
        CASE(an_answer_without_the_secret_opens_nothing),
        CASE(an_ask_that_was_recorded_keeps_nobody_out),
        CASE(an_ask_that_comes_twice_changes_nothing),
        CASE(a_packet_that_comes_twice_ends_the_job),
        CASE(who_has_left_has_left_until_it_sends_again),
        CASE(who_has_left_and_takes_nothing_is_lost_once),
        CASE(who_has_failed_and_takes_nothing_is_lost_at_once),
        CASE(packets_wait_for_puts_unless_the_provider_has_order),
        cmocka_unit_test(over_tcp_the_layer_takes_our_longest_packet_in_one_piece),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
