/*
 * handshake.h - how two ranks of one job make sure of each other before a connection
 * carries anything.
 *
 *   1. ask      caller to listener, in the private data of a connect
 *   2. answer   listener to caller, in the private data of its reject, after a zero
 *   3. confirm  caller to listener, in the private data of a second connect, after ten
 *               bytes: a mark that no ask begins with, the caller, the stream
 *
 * Only the second connect is accepted, so there is no connection before all three are
 * right. One connect would do if a receive told where it came from; but the receive
 * buffers are one queue for all connections, and what came through a half-checked one
 * could not be told from the rest.
 *
 *   ask      version 1, stream 1, caller 8, nonce A 16, tag 16             42 bytes
 *   answer   version 1, packets' 1, index 4, nonce B 16, tag 16            38
 *   confirm  version 1, packets' 1, index 4, tag 16                        22
 *
 * A caller is a process: the number of its job, and its rank. The listener is in the tag
 * of an ask, but not in its bytes, for which there is no room: an ask for another process
 * has a wrong tag here. The index is what the sender of an answer or a confirm calls this
 * stream; the other end puts it into its frames (common/frame.h).
 *
 * The packets' version is that of what will travel (engine/wire.h). An answer or a
 * confirm with another version is refused, although its tag is right: the two ranks
 * belong to one job, but could not understand each other's packets.
 *
 * Numbers are little endian. The first byte is the version, with the highest bit set on
 * big endian machines: packets are in the byte order of the machine, so both ends must
 * have the same. verbs RC carries 56 bytes of private data, less with XRC: 42 are allowed
 * here. They leave no room to name the job, nor need they: another job has another
 * secret, and its tag is wrong.
 *
 * A tag is BLAKE2b under the job's secret, over the step, the ask's fields, the packets'
 * version of its sender and the nonces known by then. A process without the secret
 * guesses a tag with probability 2^-128. A nonce of 16 bytes never comes twice, so what
 * was recorded is of no use: of an old ask and confirm the confirm is wrong, since the
 * listener draws B anew; an old answer is wrong, since the caller draws A anew. The step
 * in the tag keeps one packet from passing as another; the ranks in it keep a packet from
 * being sent back to its maker. This proves who opened the connection. What travels
 * later is neither encrypted nor tagged.
 *
 * An ask proves nothing yet: it may be recorded. The listener may answer it, but until
 * the confirm has been checked it delivers nothing, sends nothing, gives up nothing of
 * its own for it, and refuses no later ask because of it: it may wait a little with an
 * ask of its own, and a later answer to the same rank takes the place of this one, whose
 * caller then asks again. The caller sends when its second connect is accepted.
 *
 * The refusal of an ask is one byte in the reject's private data. It is not tagged, as
 * whoever can forge it can cut the connection too.
 *
 * The functions that check take any bytes of any length, and write to `shake` only if
 * they return WEFT_WELCOME. The caller owns all memory; nothing is allocated, logged or
 * locked. weft_sodium_open() comes first.
 */
#ifndef WEFT_TRANSPORT_OFI_HANDSHAKE_H
#define WEFT_TRANSPORT_OFI_HANDSHAKE_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_HANDSHAKE_VERSION = 4, /* below 128; changes with any of the sizes */
    WEFT_HANDSHAKE_SECRET_BYTES = 32,
    WEFT_HANDSHAKE_NONCE_BYTES = 16,
    WEFT_HANDSHAKE_TAG_BYTES = 16,
    WEFT_HANDSHAKE_MOST_BYTES = 42, /* of private data */
    WEFT_ASK_BYTES = 42,
    WEFT_ANSWER_BYTES = 38,
    WEFT_CONFIRM_BYTES = 22,
    WEFT_CONFIRM_PREFIX = 10,
    WEFT_PASS_BYTES = 8,
};

/* Who we are; `secret` is the job's, and stays the caller's. */
struct weft_handshake_self {
    const uint8_t *secret; /* WEFT_HANDSHAKE_SECRET_BYTES */
    uint64_t process;      /* job << 32 | rank */
    uint32_t ranks;        /* of the job */
    uint32_t streams;      /* that a peer may ask for; at most 256 */
    uint8_t packets;       /* version of the packets that we send */
};

/* What one end knows of one handshake. */
struct weft_handshake {
    uint64_t caller; /* processes */
    uint64_t listener;
    uint32_t caller_index;   /* what the listener calls the caller; from step 2 on */
    uint32_t listener_index; /* what the caller calls the listener; from step 3 on */
    uint8_t stream;
    uint8_t nonce_a[WEFT_HANDSHAKE_NONCE_BYTES]; /* the caller's */
    uint8_t nonce_b[WEFT_HANDSHAKE_NONCE_BYTES]; /* the listener's, from step 2 on */
};

/* Why a step was refused. The values are part of the wire format. */
enum weft_refusal {
    WEFT_WELCOME = 0,
    WEFT_REFUSED_FORMAT = 1,          /* too short, or something follows */
    WEFT_REFUSED_BYTE_ORDER = 2,      /* the other one */
    WEFT_REFUSED_VERSION = 3,         /* of the handshake */
    WEFT_REFUSED_UNAUTHENTICATED = 4, /* the tag is wrong: another job's, old, or made
                                       * up */
    WEFT_REFUSED_NOT_FOR_ME = 5,      /* of a process or a stream that there is not */
    WEFT_REFUSED_CROSSED = 6,         /* we ask too, and ours stands: wait for it */
    WEFT_REFUSED_DUPLICATE = 7,       /* you are connected */
    WEFT_REFUSED_PACKETS = 8, /* of the job, but its packets are of another version */
    WEFT_REFUSED_UNSAID = 9,  /* never sent: a reject without a reason that we know */
};

/* Is it another process of this job? */
bool weft_handshake_is_peer(const struct weft_handshake_self *self, uint64_t process);

/*
 * Step 1, at the caller, who has filled in `caller`, `listener` and `stream`. Draws nonce
 * A.
 */
WEFT_MUST_CHECK enum weft_rc weft_handshake_ask(const struct weft_handshake_self *self,
                                                struct weft_handshake *shake,
                                                uint8_t ask[WEFT_ASK_BYTES]);

/* At the listener. Zeros may follow, as in all three: providers fill private data up. */
WEFT_MUST_CHECK enum weft_refusal
weft_handshake_check_ask(const struct weft_handshake_self *self, const void *bytes,
                         size_t length, struct weft_handshake *shake);

/*
 * Whether the listener should answer an ask that it has checked, given what there is
 * between these two ranks on this stream: a connection whose confirm was sent or checked,
 * an ask of our own that is neither answered nor refused. Of two asks that cross, that of
 * the lower rank stands: there the other is refused, while the higher rank answers, and
 * keeps its own until that is refused.
 *
 * It also decides whether the listener should accept a confirm that it has checked, given
 * a connection whose confirm was checked, and a confirm of our own that is neither
 * accepted nor refused. The higher rank gives up its own for that of the lower.
 */
WEFT_MUST_CHECK enum weft_refusal
weft_handshake_arbitrate(const struct weft_handshake_self *self,
                         const struct weft_handshake *shake, bool is_connected,
                         bool is_asking);

/* Step 2, at the listener, which has filled in `caller_index`. Draws nonce B. */
WEFT_MUST_CHECK enum weft_rc weft_handshake_answer(const struct weft_handshake_self *self,
                                                   struct weft_handshake *shake,
                                                   uint8_t answer[WEFT_ANSWER_BYTES]);

/* At the caller, with what weft_handshake_ask() has left in `shake`. */
WEFT_MUST_CHECK enum weft_refusal
weft_handshake_check_answer(const struct weft_handshake_self *self, const void *bytes,
                            size_t length, struct weft_handshake *shake);

/* Step 3, at the caller, which has filled in `listener_index`. */
void weft_handshake_confirm(const struct weft_handshake_self *self,
                            const struct weft_handshake *shake,
                            uint8_t confirm[WEFT_CONFIRM_BYTES]);

/* At the listener, with what weft_handshake_answer() has left in `shake`. */
WEFT_MUST_CHECK enum weft_refusal
weft_handshake_check_confirm(const struct weft_handshake_self *self, const void *bytes,
                             size_t length, struct weft_handshake *shake);

/* What the caller shows with all that it sends, where there is no connection that could
 * stand for it; both ends can make it after step 2. Without the secret it is guessed with
 * probability 2^-64. */
void weft_handshake_pass(const struct weft_handshake_self *self,
                         const struct weft_handshake *shake,
                         uint8_t pass[WEFT_PASS_BYTES]);

/* Writes what precedes a confirm, in the clear: a mark, the caller and the stream. */
void weft_handshake_name(const struct weft_handshake *shake,
                         uint8_t prefix[WEFT_CONFIRM_PREFIX]);
/* Do these bytes begin as a confirm does, and not as an ask? */
bool weft_handshake_is_confirm(const uint8_t *bytes, size_t length);
/* Reads the caller and the stream of a confirm. */
void weft_handshake_read_name(const uint8_t prefix[WEFT_CONFIRM_PREFIX], uint64_t *caller,
                              uint8_t *stream);

/* The version of the packets in an answer or a confirm that was refused for it. */
uint8_t weft_handshake_packets_of(const void *bytes);

/* What the private data of a reject says: its first byte is one of the above. */
enum weft_refusal weft_refusal_from(const void *bytes, size_t length);

/* A few words for a log line. */
const char *weft_refusal_text(enum weft_refusal refusal);

#endif
