/*
 * handshake.c - the parsers of the handshake under libFuzzer.
 *
 * An input is a step, what to do to the tag, and the bytes that arrive. The tag stays as
 * it is, or is replaced by the right one, which no search finds, or by that with one bit
 * wrong. What the check should say is then computed a second time, from handshake.h; in
 * particular nothing is welcome but what the other end would have sent, to the byte, were
 * it given the same ranks, stream and nonces.
 */
#include "transport/ofi/handshake.h"
#include "transport/ofi/sodium.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { ASK, ANSWER, CONFIRM, STEPS };
enum { TAG_AS_IT_IS, TAG_RIGHT, TAG_ALMOST_RIGHT, TAG_KINDS };
enum { HEAD = 3, MOST = 128 };

static const size_t sizes[] = {WEFT_ASK_BYTES, WEFT_ANSWER_BYTES, WEFT_CONFIRM_BYTES};
static const uint8_t secret[WEFT_HANDSHAKE_SECRET_BYTES] = {7};
#define JOB (UINT64_C(6) << 32)
static const struct weft_handshake_self listener = {secret, JOB | 5, 9, 2, 4};
static const struct weft_handshake_self caller = {secret, JOB | 2, 9, 2, 4};

static const uint8_t *next_nonce; /* what is drawn next */

ssize_t __wrap_getrandom(void *to, size_t length, unsigned flags);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

ssize_t __wrap_getrandom(void *to, size_t length, unsigned flags)
{
    (void)flags;
    memcpy(to, next_nonce, length);
    return (ssize_t)length;
}

static void demand(int is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "wrong: %s\n", what);
        abort();
    }
}

static uint32_t number(const uint8_t *bytes)
{
    return bytes[0] + 256u * bytes[1] + 65536u * bytes[2] + 16777216u * bytes[3];
}

static uint64_t process(const uint8_t *bytes)
{
    return (uint64_t)number(bytes + 4) << 32 | number(bytes);
}

/* What both ends know before a step, and what the bytes, if they suffice, add to it. */
static struct weft_handshake known_before(void)
{
    return (struct weft_handshake){
        .caller = JOB | 2,
        .listener = JOB | 5,
        .stream = 1,
        .nonce_a = {3},
        .nonce_b = {4},
    };
}

static struct weft_handshake known_after(int step, const uint8_t *bytes)
{
    struct weft_handshake shake = known_before();

    if (step == ASK) {
        memset(&shake, 0, sizeof(shake));
        shake.stream = bytes[1];
        shake.caller = process(bytes + 2);
        shake.listener = JOB | 5;
        memcpy(shake.nonce_a, bytes + 10, sizeof(shake.nonce_a));
    } else if (step == ANSWER) {
        shake.caller_index = number(bytes + 2);
        memcpy(shake.nonce_b, bytes + 6, sizeof(shake.nonce_b));
    } else {
        shake.listener_index = number(bytes + 2);
    }
    return shake;
}

/* The packet that the other end would send, if its packets are of that version. */
static void make(int step, struct weft_handshake shake, uint8_t packets, uint8_t *packet)
{
    struct weft_handshake_self self = step == ANSWER ? listener : caller;
    enum weft_rc rc = WEFT_OK;
    uint8_t nonce[WEFT_HANDSHAKE_NONCE_BYTES];

    memcpy(nonce, step == ASK ? shake.nonce_a : shake.nonce_b, sizeof(nonce));
    next_nonce = nonce;
    self.packets = packets;
    if (step == ASK) {
        rc = weft_handshake_ask(&self, &shake, packet);
    } else if (step == ANSWER) {
        rc = weft_handshake_answer(&self, &shake, packet);
    } else {
        weft_handshake_confirm(&self, &shake, packet);
    }
    demand(rc == WEFT_OK, "nothing was made");
}

static enum weft_refusal check(int step, const uint8_t *bytes, size_t length,
                               struct weft_handshake *shake)
{
    if (step == ASK) {
        return weft_handshake_check_ask(&listener, bytes, length, shake);
    }
    if (step == ANSWER) {
        return weft_handshake_check_answer(&caller, bytes, length, shake);
    }
    return weft_handshake_check_confirm(&listener, bytes, length, shake);
}

static enum weft_refusal expected(int step, const uint8_t *bytes, size_t length,
                                  const uint8_t *right)
{
    if (length == 0) {
        return WEFT_REFUSED_FORMAT;
    }
    if (bytes[0] != right[0]) {
        return (bytes[0] & 0x7f) == (right[0] & 0x7f) ? WEFT_REFUSED_BYTE_ORDER
                                                      : WEFT_REFUSED_VERSION;
    }
    if (length < sizes[step]) {
        return WEFT_REFUSED_FORMAT;
    }
    for (size_t i = sizes[step]; i < length; i++) {
        if (bytes[i] != 0) {
            return WEFT_REFUSED_FORMAT;
        }
    }
    if (memcmp(bytes, right, sizes[step]) != 0) {
        return WEFT_REFUSED_UNAUTHENTICATED;
    }
    if (step == ASK && (number(bytes + 6) != 6 || number(bytes + 2) == 5 ||
                        number(bytes + 2) >= 9 || bytes[1] >= 2)) {
        return WEFT_REFUSED_NOT_FOR_ME;
    }
    if (step != ASK && bytes[1] != caller.packets) {
        return WEFT_REFUSED_PACKETS;
    }
    return WEFT_WELCOME;
}

static void change_tag(int step, int kind, uint8_t *bytes, size_t length,
                       const uint8_t *right, unsigned bit)
{
    const size_t at = sizes[step] - WEFT_HANDSHAKE_TAG_BYTES;

    if (kind == TAG_AS_IT_IS || length < sizes[step]) {
        return;
    }
    memcpy(bytes + at, right + at, WEFT_HANDSHAKE_TAG_BYTES);
    if (kind == TAG_ALMOST_RIGHT) {
        bytes[at + bit % 128 / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void try_step(int step, int kind, unsigned bit, const uint8_t *data, size_t length)
{
    uint8_t padded[MOST] = {0};
    uint8_t right[WEFT_HANDSHAKE_MOST_BYTES];
    uint8_t *bytes = malloc(length + (length == 0)); /* so that every overrun is seen */
    struct weft_handshake shake = known_before();
    const struct weft_handshake before = shake;
    enum weft_refusal refusal;

    demand(bytes != NULL, "no memory");
    memcpy(padded, data, length);
    memcpy(bytes, data, length);
    make(step, known_after(step, padded), padded[1], right);
    change_tag(step, kind, bytes, length, right, bit);

    refusal = check(step, bytes, length, &shake);
    demand(refusal == expected(step, bytes, length, right), "another verdict");
    if (refusal == WEFT_WELCOME) {
        uint8_t again[WEFT_HANDSHAKE_MOST_BYTES];

        make(step, shake, caller.packets, again);
        demand(memcmp(again, bytes, sizes[step]) == 0, "made again it differs");
    } else {
        demand(memcmp(&shake, &before, sizeof(shake)) == 0, "a refusal left something");
    }
    demand(*weft_refusal_text(refusal) != '\0', "no words for it");
    demand(weft_refusal_from(bytes, length) != WEFT_WELCOME, "a refusal that welcomes");
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    demand(weft_sodium_open() == WEFT_OK, "no libsodium");
    if (size >= HEAD && size - HEAD <= MOST) {
        try_step(data[0] % STEPS, data[1] % TAG_KINDS, data[2], data + HEAD, size - HEAD);
    }
    return 0;
}
