/*
 * sodium.h - the few functions of libsodium that Weft uses.
 *
 * The library is loaded together with the networks, on the thread that calls MPI_Init; a
 * job on one node never loads it. It stays loaded until exit. The rest may be called by
 * any thread once weft_sodium_open() has succeeded, needs no lock and cannot fail.
 */
#ifndef WEFT_TRANSPORT_OFI_SODIUM_H
#define WEFT_TRANSPORT_OFI_SODIUM_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Loads libsodium, once; says why where that fails. */
WEFT_MUST_CHECK enum weft_rc weft_sodium_open(void);

/* BLAKE2b of `bytes` under `key`; `tag` has 16 to 64 bytes, `key` as many. */
void weft_sodium_hash(uint8_t *tag, size_t tag_length, const void *bytes, size_t length,
                      const uint8_t *key, size_t key_length);

/* SipHash-2-4 of `bytes` under a key of 16 bytes: a tag of 8, for short texts. */
void weft_sodium_short_hash(uint8_t tag[8], const void *bytes, size_t length,
                            const uint8_t key[16]);

/* Compares in a time that does not depend on where two tags differ. */
bool weft_sodium_is_same(const uint8_t *a, const uint8_t *b, size_t length);

#endif
