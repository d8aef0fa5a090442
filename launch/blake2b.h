/*
 * blake2b.h - BLAKE2b with 32 bytes (RFC 7693, without a key): names the content of a
 * file. It is here because a host of --ship has no library to take it from; the test
 * compares it with libsodium's.
 */
#ifndef WEFT_LAUNCH_BLAKE2B_H
#define WEFT_LAUNCH_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

enum { BLAKE2B_BYTES = 32, BLAKE2B_BLOCK = 128 };

struct blake2b {
    uint64_t state[8];
    uint64_t count; /* bytes that are in the state */
    size_t used;    /* of the block */
    uint8_t block[BLAKE2B_BLOCK];
};

void blake2b_open(struct blake2b *hash);
void blake2b_add(struct blake2b *hash, const void *from, size_t bytes);

/* The hash of all that was added; nothing can be added any more. */
void blake2b_close(struct blake2b *hash, uint8_t result[BLAKE2B_BYTES]);

#endif
