/* handshake.c - two ranks of one job make sure of each other: see handshake.h. */
#include "transport/ofi/handshake.h"

#include "base/log.h"
#include "base/process.h"
#include "base/texts.h"
#include "transport/ofi/sodium.h"
#include "wireup/segment.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

enum { OTHER_BYTE_ORDER = 0x80, CONFIRM_MARK = 0xc3 };

enum step { ASK = 1, ANSWER, CONFIRM, PASS };

/* Bytes in packets, so that no padding, alignment or byte order matters. */
struct wire_ask {
    uint8_t version;
    uint8_t stream;
    uint8_t caller[8];
    uint8_t nonce[WEFT_HANDSHAKE_NONCE_BYTES];
    uint8_t tag[WEFT_HANDSHAKE_TAG_BYTES];
};
struct wire_answer {
    uint8_t version;
    uint8_t packets;
    uint8_t index[4];
    uint8_t nonce[WEFT_HANDSHAKE_NONCE_BYTES];
    uint8_t tag[WEFT_HANDSHAKE_TAG_BYTES];
};
struct wire_confirm {
    uint8_t version;
    uint8_t packets;
    uint8_t index[4];
    uint8_t tag[WEFT_HANDSHAKE_TAG_BYTES];
};
_Static_assert(sizeof(struct wire_ask) == WEFT_ASK_BYTES, "handshake version 4");
_Static_assert(sizeof(struct wire_answer) == WEFT_ANSWER_BYTES, "handshake version 4");
_Static_assert(sizeof(struct wire_confirm) == WEFT_CONFIRM_BYTES, "handshake version 4");
_Static_assert((int)WEFT_ASK_BYTES <= (int)WEFT_HANDSHAKE_MOST_BYTES &&
                   (int)WEFT_ANSWER_BYTES <= (int)WEFT_HANDSHAKE_MOST_BYTES,
               "private data of verbs");
_Static_assert((int)WEFT_HANDSHAKE_SECRET_BYTES == (int)WEFT_SEGMENT_SECRET_BYTES,
               "the job's secret is the key");

/* What a tag covers. The name keeps it apart from other uses of the secret. */
struct covered {
    char name[14];
    uint8_t step;
    uint8_t version;
    uint8_t stream;
    uint8_t caller[8];
    uint8_t listener[8];
    uint8_t nonce_a[WEFT_HANDSHAKE_NONCE_BYTES];
    uint8_t nonce_b[WEFT_HANDSHAKE_NONCE_BYTES]; /* zeros in step 1 */
    uint8_t packets;                             /* zero in step 1 */
    uint8_t index[4];                            /* zero in step 1 */
};
_Static_assert(sizeof(struct covered) == 70, "handshake version 4");

static const uint8_t our_version = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
                                       ? WEFT_HANDSHAKE_VERSION
                                       : WEFT_HANDSHAKE_VERSION | OTHER_BYTE_ORDER;

static void put_number(uint8_t *to, size_t bytes, uint64_t number)
{
    for (size_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(number >> 8 * i);
    }
}

static uint64_t get_number(const uint8_t *from, size_t bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < bytes; i++) {
        number |= (uint64_t)from[i] << 8 * i;
    }
    return number;
}

/* The index that a step tells. */
static uint32_t index_of(const struct weft_handshake *shake, enum step step)
{
    return step == ANSWER    ? shake->caller_index
           : step == CONFIRM ? shake->listener_index
                             : 0;
}

static void make_tag(const struct weft_handshake_self *self,
                     const struct weft_handshake *shake, enum step step, uint8_t packets,
                     uint8_t tag[WEFT_HANDSHAKE_TAG_BYTES])
{
    struct covered covered = {
        .name = "weft handshake", /* all 14 of them: no zero at the end */
        .step = (uint8_t)step,
        .version = our_version,
        .stream = shake->stream,
        .packets = packets,
    };

    put_number(covered.caller, sizeof(covered.caller), shake->caller);
    put_number(covered.listener, sizeof(covered.listener), shake->listener);
    put_number(covered.index, sizeof(covered.index), index_of(shake, step));
    memcpy(covered.nonce_a, shake->nonce_a, sizeof(covered.nonce_a));
    if (step != ASK) {
        memcpy(covered.nonce_b, shake->nonce_b, sizeof(covered.nonce_b));
    }
    weft_sodium_hash(tag, WEFT_HANDSHAKE_TAG_BYTES, &covered, sizeof(covered),
                     self->secret, WEFT_HANDSHAKE_SECRET_BYTES);
}

static bool is_tag_right(const struct weft_handshake_self *self,
                         const struct weft_handshake *shake, enum step step,
                         uint8_t packets, const uint8_t tag[WEFT_HANDSHAKE_TAG_BYTES])
{
    uint8_t right[WEFT_HANDSHAKE_TAG_BYTES];

    make_tag(self, shake, step, packets, right);
    return weft_sodium_is_same(tag, right, sizeof(right));
}

static enum weft_rc draw(uint8_t nonce[WEFT_HANDSHAKE_NONCE_BYTES])
{
    if (getrandom(nonce, WEFT_HANDSHAKE_NONCE_BYTES, 0) != WEFT_HANDSHAKE_NONCE_BYTES) {
        weft_log_error(WEFT_S_RANDOM, strerror(errno));
        return WEFT_ERR_SYSTEM;
    }
    return WEFT_OK;
}

/*
 * Copies a packet of `size` bytes out of what arrived, if it can be one of our version;
 * the version first, for another one may have other sizes. Zeros may follow: some
 * providers fill private data up.
 */
static enum weft_refusal take(void *packet, size_t size, const void *bytes, size_t length)
{
    const uint8_t *from = bytes;

    if (length == 0) {
        return WEFT_REFUSED_FORMAT;
    }
    if ((from[0] ^ our_version) == OTHER_BYTE_ORDER) {
        return WEFT_REFUSED_BYTE_ORDER;
    }
    if (from[0] != our_version) {
        return WEFT_REFUSED_VERSION;
    }
    if (length < size) {
        return WEFT_REFUSED_FORMAT;
    }
    for (size_t i = size; i < length; i++) {
        if (from[i] != 0) {
            return WEFT_REFUSED_FORMAT;
        }
    }
    memcpy(packet, bytes, size);
    return WEFT_WELCOME;
}

enum weft_rc weft_handshake_ask(const struct weft_handshake_self *self,
                                struct weft_handshake *shake, uint8_t ask[WEFT_ASK_BYTES])
{
    struct wire_ask wire = {.version = our_version, .stream = shake->stream};
    enum weft_rc rc = draw(shake->nonce_a);

    if (rc != WEFT_OK) {
        return rc;
    }
    put_number(wire.caller, sizeof(wire.caller), shake->caller);
    memcpy(wire.nonce, shake->nonce_a, sizeof(wire.nonce));
    make_tag(self, shake, ASK, 0, wire.tag);
    memcpy(ask, &wire, sizeof(wire));
    return WEFT_OK;
}

bool weft_handshake_is_peer(const struct weft_handshake_self *self, uint64_t process)
{
    return weft_process_job(process) == weft_process_job(self->process) &&
           weft_process_rank(process) < self->ranks && process != self->process;
}

enum weft_refusal weft_handshake_check_ask(const struct weft_handshake_self *self,
                                           const void *bytes, size_t length,
                                           struct weft_handshake *shake)
{
    struct weft_handshake asked = {0};
    struct wire_ask wire;
    enum weft_refusal refusal = take(&wire, sizeof(wire), bytes, length);

    if (refusal != WEFT_WELCOME) {
        return refusal;
    }
    asked.stream = wire.stream;
    asked.caller = get_number(wire.caller, sizeof(wire.caller));
    asked.listener = self->process;
    memcpy(asked.nonce_a, wire.nonce, sizeof(asked.nonce_a));
    if (!is_tag_right(self, &asked, ASK, 0, wire.tag)) {
        return WEFT_REFUSED_UNAUTHENTICATED;
    }
    if (!weft_handshake_is_peer(self, asked.caller) || asked.stream >= self->streams) {
        return WEFT_REFUSED_NOT_FOR_ME;
    }
    *shake = asked;
    return WEFT_WELCOME;
}

enum weft_refusal weft_handshake_arbitrate(const struct weft_handshake_self *self,
                                           const struct weft_handshake *shake,
                                           bool is_connected, bool is_asking)
{
    if (is_connected) {
        return WEFT_REFUSED_DUPLICATE;
    }
    return is_asking && self->process < shake->caller ? WEFT_REFUSED_CROSSED
                                                      : WEFT_WELCOME;
}

enum weft_rc weft_handshake_answer(const struct weft_handshake_self *self,
                                   struct weft_handshake *shake,
                                   uint8_t answer[WEFT_ANSWER_BYTES])
{
    struct wire_answer wire = {.version = our_version, .packets = self->packets};
    enum weft_rc rc = draw(shake->nonce_b);

    if (rc != WEFT_OK) {
        return rc;
    }
    put_number(wire.index, sizeof(wire.index), shake->caller_index);
    memcpy(wire.nonce, shake->nonce_b, sizeof(wire.nonce));
    make_tag(self, shake, ANSWER, wire.packets, wire.tag);
    memcpy(answer, &wire, sizeof(wire));
    return WEFT_OK;
}

enum weft_refusal weft_handshake_check_answer(const struct weft_handshake_self *self,
                                              const void *bytes, size_t length,
                                              struct weft_handshake *shake)
{
    struct weft_handshake answered = *shake;
    struct wire_answer wire;
    enum weft_refusal refusal = take(&wire, sizeof(wire), bytes, length);

    if (refusal != WEFT_WELCOME) {
        return refusal;
    }
    answered.caller_index = (uint32_t)get_number(wire.index, sizeof(wire.index));
    memcpy(answered.nonce_b, wire.nonce, sizeof(answered.nonce_b));
    if (!is_tag_right(self, &answered, ANSWER, wire.packets, wire.tag)) {
        return WEFT_REFUSED_UNAUTHENTICATED;
    }
    if (wire.packets != self->packets) {
        return WEFT_REFUSED_PACKETS;
    }
    *shake = answered;
    return WEFT_WELCOME;
}

void weft_handshake_confirm(const struct weft_handshake_self *self,
                            const struct weft_handshake *shake,
                            uint8_t confirm[WEFT_CONFIRM_BYTES])
{
    struct wire_confirm wire = {.version = our_version, .packets = self->packets};

    put_number(wire.index, sizeof(wire.index), shake->listener_index);
    make_tag(self, shake, CONFIRM, wire.packets, wire.tag);
    memcpy(confirm, &wire, sizeof(wire));
}

enum weft_refusal weft_handshake_check_confirm(const struct weft_handshake_self *self,
                                               const void *bytes, size_t length,
                                               struct weft_handshake *shake)
{
    struct weft_handshake confirmed = *shake;
    struct wire_confirm wire;
    enum weft_refusal refusal = take(&wire, sizeof(wire), bytes, length);

    if (refusal != WEFT_WELCOME) {
        return refusal;
    }
    confirmed.listener_index = (uint32_t)get_number(wire.index, sizeof(wire.index));
    if (!is_tag_right(self, &confirmed, CONFIRM, wire.packets, wire.tag)) {
        return WEFT_REFUSED_UNAUTHENTICATED;
    }
    if (wire.packets != self->packets) {
        return WEFT_REFUSED_PACKETS;
    }
    *shake = confirmed;
    return WEFT_WELCOME;
}

void weft_handshake_pass(const struct weft_handshake_self *self,
                         const struct weft_handshake *shake,
                         uint8_t pass[WEFT_PASS_BYTES])
{
    uint8_t tag[WEFT_HANDSHAKE_TAG_BYTES];

    make_tag(self, shake, PASS, self->packets, tag);
    memcpy(pass, tag, WEFT_PASS_BYTES);
}

void weft_handshake_name(const struct weft_handshake *shake,
                         uint8_t prefix[WEFT_CONFIRM_PREFIX])
{
    prefix[0] = CONFIRM_MARK;
    put_number(prefix + 1, 8, shake->caller);
    prefix[9] = shake->stream;
}

bool weft_handshake_is_confirm(const uint8_t *bytes, size_t length)
{
    return length > WEFT_CONFIRM_PREFIX && bytes[0] == CONFIRM_MARK;
}

void weft_handshake_read_name(const uint8_t prefix[WEFT_CONFIRM_PREFIX], uint64_t *caller,
                              uint8_t *stream)
{
    *caller = get_number(prefix + 1, 8);
    *stream = prefix[9];
}

uint8_t weft_handshake_packets_of(const void *bytes)
{
    return ((const struct wire_confirm *)bytes)->packets; /* as in an answer */
}

enum weft_refusal weft_refusal_from(const void *bytes, size_t length)
{
    const uint8_t *from = bytes;

    if (length == 0 || from[0] == WEFT_WELCOME || from[0] >= WEFT_REFUSED_UNSAID) {
        return WEFT_REFUSED_UNSAID;
    }
    return (enum weft_refusal)from[0];
}

const char *weft_refusal_text(enum weft_refusal refusal)
{
    static const char *const texts[] = {
        [WEFT_WELCOME] = "welcome",
        [WEFT_REFUSED_FORMAT] = "not a handshake",
        [WEFT_REFUSED_BYTE_ORDER] = "a machine of the other byte order",
        [WEFT_REFUSED_VERSION] = "another version of the handshake",
        [WEFT_REFUSED_UNAUTHENTICATED] = "not authenticated as a process of this job",
        [WEFT_REFUSED_NOT_FOR_ME] = "meant for another rank or stream",
        [WEFT_REFUSED_CROSSED] = "both have asked, and the lower rank's request is used",
        [WEFT_REFUSED_DUPLICATE] = "connected already",
        [WEFT_REFUSED_PACKETS] = "another version of Weft, with other packets",
        [WEFT_REFUSED_UNSAID] = "refused without a reason",
    };

    return texts[refusal];
}
