/*
 * frames.c - frames of a connection whose peer has gone wrong, against the transport over
 * connected endpoints without libfabric: they are taken, kept, or end the job.
 */
#include "fuzz.h"
#include "upcalls.h"

#include "transport/ofi/msg/poll.c" /* for what takes a frame, which is its own */

enum { LARGEST = 200, STREAMS = 2 };

static struct weft_upcalls up;
static struct weft_transport tp;
static struct weft_msg_peer *peer;
static jmp_buf ended;

_Noreturn void __wrap_weft_wireup_abort(struct weft_job *job, int code, const char *why);
void __wrap_weft_msg_return_credits(struct weft_transport *of,
                                    struct weft_msg_peer *whom);

_Noreturn void __wrap_weft_wireup_abort(struct weft_job *job, int code, const char *why)
{
    (void)job;
    (void)code;
    demand(strstr(why, "makes no sense") != NULL, "another cause");
    longjmp(ended, 1);
}

void __wrap_weft_msg_return_credits(struct weft_transport *of, struct weft_msg_peer *whom)
{
    (void)of;
    weft_credits_return(&whom->credits, whom->credits.taken, whom->credits.taken_control);
}

static void set_up(void)
{
    static struct weft_msg_stream second;

    up = (struct weft_upcalls){.arrived = arrived, .control = control};
    offers = 0;
    memset(&tp, 0, sizeof(tp));
    memset(&second, 0, sizeof(second));
    tp.up = &up;
    tp.return_each = 1000;
    weft_table_open(&tp.peers);
    peer = weft_table_add(&tp.peers, 1, sizeof(*peer));
    demand(peer != NULL, "no memory");
    peer->above = (struct weft_peer *)&above;
    peer->first.peer = peer;
    second.peer = peer;
    demand(weft_ofi_index_grow(&tp.index), "no memory");
    peer->index = weft_ofi_index_add(&tp.index, peer);
    peer->streams[0] = &peer->first;
    peer->streams[1] = &second;
    peer->credits.sent = 5000;
    peer->credits.sent_control = 10;
}

static void tear_down(void)
{
    for (int i = 0; i < STREAMS; i++) {
        weft_kept_empty(&peer->streams[i]->kept);
    }
    weft_table_close(&tp.peers);
    weft_ofi_index_close(&tp.index);
}

/* A frame with every field as drawn, or right. */
static void draw(struct input *in, struct weft_frame *frame)
{
    const uint64_t wrong = input_number(in, 1);

    frame->zero = (wrong & 1) != 0 ? (uint8_t)input_number(in, 1) : 0;
    frame->kind = (uint8_t)(input_number(in, 1) % 5);
    frame->from = (uint32_t)((wrong & 4) != 0 ? input_number(in, 4) : wrong >> 7);
    frame->taken = (uint32_t)((wrong & 16) != 0 ? input_number(in, 4) : 0);
    frame->taken_control = (uint16_t)((wrong & 32) != 0 ? input_number(in, 4) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t *volatile block = NULL;

    set_up();
    if (setjmp(ended) == 0) {
        while (in.left > 0) {
            const size_t bytes = (size_t)input_number(&in, 1) % LARGEST;
            struct weft_frame frame = {.from = 0};
            int budget = 4;

            draw(&in, &frame);
            block = input_block(&in, bytes);
            memcpy(block, &frame, bytes < sizeof(frame) ? bytes : sizeof(frame));
            take_frame(&tp, (const struct weft_frame *)(const void *)block, bytes);
            free(block);
            block = NULL;
            offer_all_kept(&tp, &budget);
        }
    }
    free(block);
    tear_down();
    return 0;
}
