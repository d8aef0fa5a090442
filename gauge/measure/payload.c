/*
 * payload.c - bytes that tell who sent them, in which round and for which sample.
 *
 * Word i of a payload is a mixture of round, sender and i, so a byte from the wrong
 * place, message or sender is wrong. The stamp of a sample replaces the first bytes, up
 * to eight, and the last byte; a message that never came is thereby found even though the
 * buffer is filled once a round only.
 */
#include "gauge/pattern.h"
#include "gauge/bench.h"

#include <string.h>

static uint64_t mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t seed_of(uint64_t round, int sender)
{
    return mix(round * 0x9e3779b97f4a7c15u + (uint64_t)sender + 1);
}

/* One multiplication a word, so that a megabyte is made and checked in little time. */
static uint64_t word_at(uint64_t seed, size_t i)
{
    uint64_t x = (seed + i) * 0x9e3779b97f4a7c15u;

    return x ^ x >> 29;
}

void gauge_payload_make(void *buffer, size_t size, uint64_t round, int sender)
{
    unsigned char *bytes = buffer;
    uint64_t seed = seed_of(round, sender);

    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word = word_at(seed, at / sizeof(word));

        memcpy(bytes + at, &word, size - at < sizeof(word) ? size - at : sizeof(word));
    }
}

void gauge_payload_stamp(void *buffer, size_t size, uint64_t sample)
{
    unsigned char *bytes = buffer;
    uint64_t word = mix(sample + 1);

    memcpy(bytes, &word, size < sizeof(word) ? size : sizeof(word));
    if (size > sizeof(word)) {
        bytes[size - 1] = (unsigned char)(word >> 56);
    }
}

static bool is_word(const unsigned char *bytes, uint64_t word)
{
    uint64_t have = 0;

    memcpy(&have, bytes, sizeof(have));
    return have == word;
}

/* The first byte that is not as it should be, or `size`. Nearly all words are right, and
 * all but the last are whole: those are looked at without calling anything. */
static size_t first_wrong(const unsigned char *bytes, size_t size, uint64_t seed,
                          uint64_t sample)
{
    uint64_t stamp = mix(sample + 1);

    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        uint64_t word = at == 0 ? stamp : word_at(seed, at / sizeof(word));
        size_t length = size - at < sizeof(word) ? size - at : sizeof(word);
        unsigned char want[sizeof(word)];

        if (at + sizeof(word) < size && is_word(bytes + at, word)) {
            continue;
        }
        memcpy(want, &word, sizeof(word));
        if (at > 0 && at + length == size) {
            want[length - 1] = (unsigned char)(stamp >> 56);
        }
        if (memcmp(bytes + at, want, length) == 0) {
            continue;
        }
        for (size_t i = 0; i < length; i++) {
            if (bytes[at + i] != want[i]) {
                return at + i;
            }
        }
    }
    return size;
}

enum gauge_rc gauge_payload_check(struct gauge_bench *bench, const void *buffer,
                                  size_t size, uint64_t round, int sender,
                                  uint64_t sample)
{
    size_t wrong = 0;

    if (!gauge_is_verified(bench)) {
        return GAUGE_OK;
    }
    wrong = first_wrong(buffer, size, seed_of(round, sender), sample);
    if (wrong == size) {
        return GAUGE_OK;
    }
    return gauge_fail("%s: byte %zu of %zu from end %d is not what was sent",
                      bench->module->name, wrong, size, sender);
}
