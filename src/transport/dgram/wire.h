/*
 * wire.h - what a datagram begins with, on the wire (docs/dgram.md).
 *
 * Both ends have the same byte order, which the version tells. Nothing but the tag is
 * believed before the tag was checked (seal.h).
 */
#ifndef WEFT_DGRAM_WIRE_H
#define WEFT_DGRAM_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_DGRAM_VERSION = 2, /* below 128 */
    WEFT_DGRAM_ADDRESS_MAX = 64,
    WEFT_DGRAM_PACKET_MAX = 65536, /* header and data of a packet */
    WEFT_DGRAM_PARTS_MAX = 255,
    WEFT_DGRAM_LEAST = 512, /* bytes of the longest datagram, at least */

    /* Kinds, in the low three bits. */
    WEFT_DGRAM_ACK = 1,
    WEFT_DGRAM_PROBE = 2, /* an ACK that asks for one */
    WEFT_DGRAM_ORDERED = 3,
    WEFT_DGRAM_CONTROL = 4,
    WEFT_DGRAM_LEAVE = 5, /* 6 is kept for promotion */
    WEFT_DGRAM_KIND = 7,

    /* Flags, in the others. */
    WEFT_DGRAM_FULL = 8,      /* one has come, and there was no room for it */
    WEFT_DGRAM_HELLO = 16,    /* struct weft_dgram_hello follows the header */
    WEFT_DGRAM_CRC = 32,      /* `crc` is one */
    WEFT_DGRAM_REPEATED = 64, /* a number of yours came here twice */
    WEFT_DGRAM_MORE = 128,    /* struct weft_dgram_more follows: ACK and PROBE only */

    WEFT_DGRAM_TIME_UNKNOWN = 255,
};

struct weft_dgram_header {
    uint8_t tag[8];
    uint64_t process; /* the sender */
    uint64_t sack;    /* bit i: the number ack + 1 + i has arrived */
    uint32_t number;
    uint32_t ack; /* all numbers below have arrived */
    uint32_t crc; /* of the payload */
    uint16_t packet;
    uint16_t taken; /* ordered packets of yours */
    uint8_t version;
    uint8_t kind;
    uint8_t part;
    uint8_t parts;
    uint8_t room;    /* numbers below ack + room - 1 are granted */
    uint8_t backlog; /* datagrams that wait for a grant */
    uint8_t away;    /* times: weft_dgram_time() */
    uint8_t held;
};

_Static_assert(sizeof(struct weft_dgram_header) == 48, "dgram version 2");

struct weft_dgram_hello {
    uint64_t nonce;    /* of the sender's port; a later port has a greater one */
    uint16_t datagram; /* the longest that the sender's port takes */
    uint8_t length;    /* of the address */
    uint8_t zero[5];
    uint8_t address[WEFT_DGRAM_ADDRESS_MAX];
};

_Static_assert(sizeof(struct weft_dgram_hello) == 80, "dgram version 2");

/* Where `sack` goes on: together 256 numbers above `ack`, more than a window. An ACK or
 * PROBE without it means that none of these has arrived. */
struct weft_dgram_more {
    uint64_t sack[3]; /* bit i of word w: the number ack + 65 + 64 * w + i has arrived */
};

_Static_assert(sizeof(struct weft_dgram_more) == 24, "dgram version 2");

static inline uint8_t weft_dgram_version(void)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return WEFT_DGRAM_VERSION | 128;
#else
    return WEFT_DGRAM_VERSION;
#endif
}

/* Microseconds in a byte: five bits of exponent, three of mantissa, rounded up. */
static inline uint8_t weft_dgram_time(uint64_t microseconds)
{
    unsigned exponent = 0;

    if (microseconds >= 1U << 30) {
        return WEFT_DGRAM_TIME_UNKNOWN - 1;
    }
    if (microseconds < 8) {
        return (uint8_t)microseconds;
    }
    while (microseconds >= 16) {
        microseconds = (microseconds + 1) / 2;
        exponent++;
    }
    return (uint8_t)((exponent + 1) << 3 | (unsigned)(microseconds - 8));
}

/* The reverse; of WEFT_DGRAM_TIME_UNKNOWN, too, some number. */
static inline uint64_t weft_dgram_microseconds(uint8_t time)
{
    const unsigned exponent = time >> 3;

    return exponent == 0 ? time : (uint64_t)(8 + (time & 7)) << (exponent - 1);
}

/* The number of 64 bits that is nearest to `near` and ends in these 32. It is above 2^63
 * where it would be negative. */
static inline uint64_t weft_dgram_number(uint64_t near, uint32_t low)
{
    return near + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)near);
}

static inline bool weft_dgram_is_numbered(unsigned kind)
{
    return kind >= WEFT_DGRAM_ORDERED && kind <= WEFT_DGRAM_LEAVE;
}

#endif
