/*
 * rdm_frames.c - bytes that anybody can send to an endpoint without connections, and
 * frames of a peer that has gone wrong: they are dropped, taken, kept, or end the job.
 */
#include "fuzz.h"
#include "upcalls.h"

#include "transport/ofi/rdm/poll.c" /* for what takes a frame, which is its own */
#include "transport/ofi/sodium.h"

enum { LARGEST = 200 };

static const uint8_t secret[WEFT_HANDSHAKE_SECRET_BYTES] = {1, 2, 3};
static const uint8_t pass[WEFT_PASS_BYTES] = {5, 6, 7, 8};
static struct weft_upcalls up;
static struct weft_transport tp;
static struct weft_rdm_peer *peer;
static bool has_pass; /* the frame that is being taken */
static jmp_buf ended;

_Noreturn void __wrap_weft_wireup_abort(struct weft_job *job, int code, const char *why);
void __wrap_weft_rdm_return_credits(struct weft_transport *of,
                                    struct weft_rdm_peer *whom);

_Noreturn void __wrap_weft_wireup_abort(struct weft_job *job, int code, const char *why)
{
    (void)job;
    (void)code;
    demand(strstr(why, "makes no sense") != NULL, "another cause");
    demand(has_pass, "a stranger has ended the job");
    longjmp(ended, 1);
}

void __wrap_weft_rdm_return_credits(struct weft_transport *of, struct weft_rdm_peer *whom)
{
    (void)of;
    weft_credits_return(&whom->credits, whom->credits.taken, whom->credits.taken_control);
}

static void set_up(void)
{
    demand(weft_sodium_open() == WEFT_OK, "no libsodium");
    up = (struct weft_upcalls){.arrived = arrived, .control = control};
    offers = 0;
    tp = (struct weft_transport){
        .up = &up,
        .window = 2000,
        .self = {.secret = secret, .process = 1, .ranks = 2, .streams = 1, .packets = 1},
    };
    weft_table_open(&tp.peers);
    peer = weft_rdm_peer_get(&tp, 2, (struct weft_peer *)&above);
    demand(peer != NULL, "no memory");
    peer->has_asked = true;
    memcpy(peer->pass_here, pass, sizeof(pass));
    peer->credits.sent = 5000;
    peer->credits.sent_control = 10;
}

/* A frame with every field as drawn, or right. */
static void draw(struct input *in, struct weft_rdm_frame *frame)
{
    const uint64_t wrong = input_number(in, 1);

    frame->version = (wrong & 1) != 0 ? (uint8_t)input_number(in, 1) : WEFT_RDM_VERSION;
    frame->kind = (uint8_t)(input_number(in, 1) % 8);
    frame->from = (uint32_t)((wrong & 2) != 0 ? input_number(in, 4) : 0);
    memcpy(frame->pass, pass, sizeof(frame->pass));
    frame->pass[0] ^= (wrong & 4) != 0 ? (uint8_t)input_number(in, 1) : 0;
    frame->sequence = (uint32_t)((wrong & 8) != 0   ? input_number(in, 4)
                                 : frame->kind == 1 ? peer->expected_ordered + wrong / 64
                                                    : peer->expected_control);
    frame->taken = (uint32_t)((wrong & 16) != 0 ? input_number(in, 4) : 0);
    frame->taken_control = (uint16_t)((wrong & 32) != 0 ? input_number(in, 2) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    uint8_t *volatile block = NULL;

    set_up();
    if (setjmp(ended) == 0) {
        while (in.left > 0) {
            const size_t bytes = (size_t)input_number(&in, 1) % LARGEST;
            struct weft_rdm_frame frame = {.from = 0};
            int budget = 4;

            draw(&in, &frame);
            has_pass = memcmp(frame.pass, pass, sizeof(pass)) == 0;
            block = input_block(&in, bytes);
            memcpy(block, &frame, bytes < sizeof(frame) ? bytes : sizeof(frame));
            take_bytes(&tp, block, bytes, budget);
            free(block);
            block = NULL;
            offer_all_kept(&tp, &budget);
            demand(tp.index.count == 1, "a stranger has taken memory");
        }
    }
    free(block);
    weft_rdm_peers_close(&tp);
    return 0;
}
