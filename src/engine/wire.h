/*
 * wire.h - what travels between processes.
 *
 * Every packet begins with this header of 28 bytes, in the byte order of the machine:
 * ranks of one job run on machines of one byte order, which connecting checks. All sizes
 * are asserted; WEFT_WIRE_VERSION changes with any of them. It is not in the packets: two
 * ranks of different versions do not get to exchange any, because the handshake compares
 * the version, and so does whoever attaches a job segment. A packet whose kind or length
 * is none that a peer sends, or that asks for bytes outside the message that it names,
 * ends the job with one line that names the peer (weft_engine_reject): its memory is
 * damaged, or ours.
 *
 * The kinds of packets are registered by the rooms that handle them (engine/engine.h).
 * Control packets may arrive twice, and the second one changes nothing.
 *
 * The match word. A receive is an entry with a source and 64 match bits; what the user
 * leaves open is left out of the comparison (match.h). The same 64 bits are given to a
 * provider that matches by itself:
 *
 *      63                        32 31                         0
 *     [ context, with plane in 2:0 ][           tag             ]
 *
 * and the source is beside it.
 *
 * The three tables of the Portals paper are three kinds of packets here:
 *
 *      receive   EAGER, ANNOUNCE   looked up in the matcher, in order of arrival
 *      read      PULL, STAGE       asks for the bytes of a message that was announced
 *      ack       FETCHED           tells the sender that its buffer is free again
 *
 * and DATA carries the bytes that a PULL asked for, STAGED says where those are that a
 * STAGE asked for, PLACED follows those that a PULL_PUT asked for. OFFER tells a sender
 * where its message is wanted. Over a network KEY_OFFER does, with a key; STORED says
 * that the message was put there, GONE that it is too late, and by RECALL and RETURNED a
 * receiver gets its offer back. SUMS brings the checksums of a message whose announcement
 * came without. transfer/packets.h has what each kind carries. An ASK carries nothing
 * (ask.c).
 */
#ifndef WEFT_ENGINE_WIRE_H
#define WEFT_ENGINE_WIRE_H

#include "transport/transport.h"

#include <stdint.h>

enum {
    WEFT_WIRE_VERSION = 16,
    WEFT_EAGER_MAX = 4096, /* a whole message in one packet, if the path's packets carry
                            * it (weft_peer_eager_max); longer ones are announced */
    WEFT_CONTROL_MAX = 64, /* bytes behind the header of a control packet */
    WEFT_PACKET_MAX =
        64 * 1024 + WEFT_HEAD_MAX, /* bytes behind the header, of any kind */
};

/* The one list of all kinds, whichever room handles them. The field's names for some of
 * them are in capitals behind the colon. */
enum weft_packet {
    WEFT_PKT_EAGER = 1, /* ordered: a whole message */
    WEFT_PKT_ANNOUNCE,  /* ordered: RTS: a message that the receiver is to fetch */
    WEFT_PKT_DATA,      /* ordered: a chunk of an announced message */
    WEFT_PKT_PULL,      /* control: RTR: send me a chunk of what you announced */
    WEFT_PKT_FETCHED, /* control: ATS: I have all of what you announced without a share */
    WEFT_PKT_OFFER,   /* control: a receive is posted, store there */
    WEFT_PKT_ASK,     /* control: are you there? Its acknowledgement is the answer */
    WEFT_PKT_STAGE,   /* control: pack a chunk of what you announced, for me to fetch */
    WEFT_PKT_STAGED,  /* control: there it is */
    WEFT_PKT_PULL_PUT,  /* control: RTR: put a chunk of what you announced into my memory
                         */
    WEFT_PKT_PLACED,    /* control: ATP: it is there */
    WEFT_PKT_SUMS,      /* control: the checksums of what you receive from me */
    WEFT_PKT_KEY_OFFER, /* control: a receive is posted, put its message there */
    WEFT_PKT_STORED,    /* ordered: a message that was put where you offered */
    WEFT_PKT_GONE,      /* control: another message has taken what I offered */
    WEFT_PKT_RECALL,    /* control: I want my offer back */
    WEFT_PKT_RETURNED,  /* control: you have it back: I will not use it */
    WEFT_PKT_RMA,       /* ordered: a part of a one-sided operation (rma/packets.h) */
    WEFT_PKT_RMA_DATA,  /* ordered: what it brings back */
    WEFT_PKT_RMA_SYNC,  /* ordered: epochs of windows begin and end */
    WEFT_PKT_CALL, /* control: the collective call in which the sender waits for you */
    WEFT_PKT_OTHER_CALL, /* control: the call that a member makes in place of yours */
    WEFT_PKT_CALLS_END,  /* control: a member makes no more collective calls there */
    WEFT_PKT_KINDS,
};

enum {
    WEFT_PKT_READY = 1 << 0, /* the sender says that a receive is posted */
    WEFT_PKT_REGISTERED =
        1 << 1, /* ANNOUNCE: the sender has registered its memory, and `address` and
                 * `share` are the key by which the receiver gets the message */
};

struct weft_header {
    uint8_t kind;    /* enum weft_packet */
    uint8_t channel; /* 0 */
    uint8_t flags;
    uint8_t path;      /* over a network: the stream that a long message takes */
    uint32_t sequence; /* of the ordered packets of one sender to one receiver */
    uint32_t context;
    uint32_t source; /* rank in the communicator */
    int32_t tag;
    uint32_t length; /* bytes of data in this packet, but for what an ANNOUNCE brings
                      * along of its message: that lies behind them */
    uint32_t check;  /* where WEFT_CHECKSUM is set: CRC32C of an EAGER's data, or of what
                      * precedes a chunk of a message, then of the header up to here;
                      * else 0 */
};
_Static_assert(sizeof(struct weft_header) == WEFT_HEADER_BYTES, "WEFT_WIRE_VERSION");

#endif
