/*
 * seal.h - keys of pairs, and the tags and sums of datagrams.
 *
 * A key belongs to one direction between two ports: it is made from the job's secret,
 * both processes and both nonces, the sender's first. The functions allocate nothing and
 * keep nothing; weft_sodium_open() comes first.
 */
#ifndef WEFT_DGRAM_SEAL_H
#define WEFT_DGRAM_SEAL_H

#include "transport/dgram/wire.h"

enum { WEFT_DGRAM_KEY_BYTES = 16, WEFT_DGRAM_SECRET_BYTES = 32 };

/* One end of a direction. */
struct weft_dgram_end {
    uint64_t process;
    uint64_t nonce;
};

void weft_dgram_key(const uint8_t secret[WEFT_DGRAM_SECRET_BYTES],
                    const struct weft_dgram_end *from, const struct weft_dgram_end *to,
                    uint8_t key[WEFT_DGRAM_KEY_BYTES]);

/*
 * Fills in the tag of a header whose other fields are right. `number` is the whole one.
 * `behind` is what follows the header by its flags, struct weft_dgram_hello or struct
 * weft_dgram_more, else NULL; `length` counts the payload.
 */
void weft_dgram_seal(struct weft_dgram_header *header, const void *behind,
                     uint64_t number, size_t length,
                     const uint8_t key[WEFT_DGRAM_KEY_BYTES]);

/* Is this the tag of this header? */
bool weft_dgram_is_sealed(const struct weft_dgram_header *header, const void *behind,
                          uint64_t number, size_t length,
                          const uint8_t key[WEFT_DGRAM_KEY_BYTES]);

#endif
