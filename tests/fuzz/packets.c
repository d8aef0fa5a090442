/*
 * packets.c - packets of a peer that has gone wrong: any header and any bytes, against
 * the matcher and the rendezvous over the fake transport of the unit tests.
 *
 * An input is a row of steps: post a receive, start a send, let a packet arrive. Names of
 * transfers, which no search finds, are filled in on request. A packet either is taken or
 * ends the job (weft_engine_reject); both are right, and what a sanitizer sees is not.
 * Peers' memory is this process's own here, so addresses are left out, as are offers,
 * which are addresses.
 */
#include "fuzz.h"

#include "p2p_fixture.h"

#include "engine/lock.h"

enum { MOST = 8, TAG = 5, BYTES = 70000 };

static uint8_t buffers[MOST][BYTES];
static uint8_t message[BYTES];

struct requests {
    struct weft_request *recv;
    struct weft_request *send;
    int count;
};

static void post(struct requests *r, struct input *in)
{
    static const size_t sizes[] = {0, 8, 4096, BYTES};

    r->recv = start_recv(1, TAG, buffers[r->count++], sizes[input_number(in, 1) % 4]);
}

static void name(uint8_t *bytes, const struct weft_request *request)
{
    if (request != NULL) {
        const uint64_t transfer = transfer_name(request);

        memcpy(bytes, &transfer, sizeof(transfer));
    }
}

static struct weft_header draw_header(struct input *in, size_t len)
{
    struct weft_header header = fixture_header(
        (enum weft_packet)(input_number(in, 1) % (WEFT_PKT_KINDS + 1)), 1, TAG);
    const uint64_t how = input_number(in, 1);

    header.length = (how & 1) != 0 ? (uint32_t)input_number(in, 4) : (uint32_t)len;
    header.flags = (how & 2) != 0 ? (uint8_t)input_number(in, 1) : 0;
    header.channel = (how & 4) != 0 ? (uint8_t)input_number(in, 1) : 0;
    if (header.kind == WEFT_PKT_OFFER) {
        header.kind = WEFT_PKT_DATA;
    }
    return header;
}

/* As the next of its peer, mostly; or a few before or behind that one. */
static void hand_over(struct weft_peer *from, struct weft_header header,
                      const uint8_t *bytes, size_t len, uint64_t how)
{
    if ((how & 16) != 0) {
        weft_engine_control_arrived(NULL, from, &header, bytes, len);
        return;
    }
    header.sequence =
        from->in_sequence + ((how & 32) != 0 ? (uint32_t)(how >> 6) - 2 : 0);
    (void)weft_engine_arrived(NULL, from, &header, bytes, len, 0);
}

static void arrive(struct requests *r, struct input *in)
{
    const size_t len = (size_t)input_number(in, 1);
    const uint64_t how = input_number(in, 1);
    const struct weft_header header = draw_header(in, len);
    uint8_t *bytes = input_block(in, len);

    if (len >= 8 && (how & 3) != 0) {
        name(bytes, (how & 1) != 0 ? r->recv : r->send);
    }
    if (header.kind == WEFT_PKT_ANNOUNCE && len >= sizeof(struct weft_pkt_announce) &&
        (how & 4) == 0) {
        memset(bytes + offsetof(struct weft_pkt_announce, address), 0, 8);
        memset(bytes + offsetof(struct weft_pkt_announce, share), 0xff, 8);
    }
    weft_lock();
    hand_over(weft_engine_meet(NULL, weft_engine_process((how & 8) != 0 ? 2 : 1)), header,
              bytes, len, how);
    weft_unlock();
    free(bytes); /* unless it has ended the job */
}

static void take_steps(void *argument)
{
    struct input *in = argument;
    struct requests r = {NULL, NULL, 0};

    while (in->left > 0) {
        const uint64_t step = input_number(in, 1) % 4;

        if (step == 0 && r.count < MOST) {
            post(&r, in);
        } else if (step == 1 && r.count < MOST) {
            r.send = start_send(1, TAG, message, BYTES, WEFT_SEND_STANDARD);
            r.count++;
        } else {
            arrive(&r, in);
        }
        weft_progress();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    void *state = NULL;

    demand(fixture_open(&state) == 0, "no fixture");
    fake_reach(false);
    fake.is_dry = true;
    limit_shares(2);
    (void)rejection_in(take_steps, &in);
    weft_engine.node.shares_used = weft_engine.node.stages_used =
        0; /* of requests that are not over */
    fixture_close(&state);
    return 0;
}
