/* seal.c - keys and tags: see seal.h. */
#include "transport/dgram/seal.h"

#include "transport/ofi/sodium.h"

#include <assert.h>
#include <string.h>

enum { TAG_BYTES = 8 };

/* What a tag covers; the hello only where there is one. */
struct sealed {
    uint8_t header[sizeof(struct weft_dgram_header) - TAG_BYTES];
    uint32_t upper; /* half of the number */
    uint32_t length;
    struct weft_dgram_hello hello;
};

void weft_dgram_key(const uint8_t secret[WEFT_DGRAM_SECRET_BYTES],
                    const struct weft_dgram_end *from, const struct weft_dgram_end *to,
                    uint8_t key[WEFT_DGRAM_KEY_BYTES])
{
    struct {
        char what[16];
        struct weft_dgram_end from;
        struct weft_dgram_end to;
    } all = {.what = "weft dgram 1", .from = *from, .to = *to};

    weft_sodium_hash(key, WEFT_DGRAM_KEY_BYTES, &all, sizeof(all), secret,
                     WEFT_DGRAM_SECRET_BYTES);
}

static void make_tag(uint8_t tag[TAG_BYTES], const struct weft_dgram_header *header,
                     const struct weft_dgram_hello *hello, uint64_t number, size_t length,
                     const uint8_t key[WEFT_DGRAM_KEY_BYTES])
{
    struct sealed sealed;
    size_t bytes = offsetof(struct sealed, hello);

    memcpy(sealed.header, (const uint8_t *)header + TAG_BYTES, sizeof(sealed.header));
    sealed.upper = (uint32_t)(number >> 32);
    sealed.length = (uint32_t)length;
    if (hello != NULL) {
        sealed.hello = *hello;
        bytes = sizeof(sealed);
    }
    weft_sodium_short_hash(tag, &sealed, bytes, key);
}

void weft_dgram_seal(struct weft_dgram_header *header,
                     const struct weft_dgram_hello *hello, uint64_t number, size_t length,
                     const uint8_t key[WEFT_DGRAM_KEY_BYTES])
{
    assert((hello != NULL) == ((header->kind & WEFT_DGRAM_HELLO) != 0));
    assert(header->number == (uint32_t)number);
    make_tag(header->tag, header, hello, number, length, key);
}

bool weft_dgram_is_sealed(const struct weft_dgram_header *header,
                          const struct weft_dgram_hello *hello, uint64_t number,
                          size_t length, const uint8_t key[WEFT_DGRAM_KEY_BYTES])
{
    uint8_t tag[TAG_BYTES];

    make_tag(tag, header, hello, number, length, key);
    return weft_sodium_is_same(tag, header->tag, TAG_BYTES);
}
