/* seal.c - keys and tags: see seal.h. */
#include "transport/dgram/seal.h"

#include "transport/ofi/sodium.h"

#include <assert.h>
#include <string.h>

enum { TAG_BYTES = 8 };

/* What a tag covers; `behind` only as far as there is something. */
struct sealed {
    uint8_t header[sizeof(struct weft_dgram_header) - TAG_BYTES];
    uint32_t upper; /* half of the number */
    uint32_t length;
    uint8_t behind[sizeof(struct weft_dgram_hello)];
};

/* Bytes between a header with this kind and its payload. */
static size_t bytes_behind(unsigned kind)
{
    return (kind & WEFT_DGRAM_HELLO) != 0  ? sizeof(struct weft_dgram_hello)
           : (kind & WEFT_DGRAM_MORE) != 0 ? sizeof(struct weft_dgram_more)
                                           : 0;
}

void weft_dgram_key(const uint8_t secret[WEFT_DGRAM_SECRET_BYTES],
                    const struct weft_dgram_end *from, const struct weft_dgram_end *to,
                    uint8_t key[WEFT_DGRAM_KEY_BYTES])
{
    struct {
        char what[16];
        struct weft_dgram_end from;
        struct weft_dgram_end to;
    } all = {.what = "weft dgram 2", .from = *from, .to = *to};

    weft_sodium_hash(key, WEFT_DGRAM_KEY_BYTES, &all, sizeof(all), secret,
                     WEFT_DGRAM_SECRET_BYTES);
}

static void make_tag(uint8_t tag[TAG_BYTES], const struct weft_dgram_header *header,
                     const void *behind, uint64_t number, size_t length,
                     const uint8_t key[WEFT_DGRAM_KEY_BYTES])
{
    const size_t more = behind != NULL ? bytes_behind(header->kind) : 0;
    struct sealed sealed;

    memcpy(sealed.header, (const uint8_t *)header + TAG_BYTES, sizeof(sealed.header));
    sealed.upper = (uint32_t)(number >> 32);
    sealed.length = (uint32_t)length;
    if (more > 0) {
        memcpy(sealed.behind, behind, more);
    }
    weft_sodium_short_hash(tag, &sealed, offsetof(struct sealed, behind) + more, key);
}

void weft_dgram_seal(struct weft_dgram_header *header, const void *behind,
                     uint64_t number, size_t length,
                     const uint8_t key[WEFT_DGRAM_KEY_BYTES])
{
    assert((behind != NULL) == (bytes_behind(header->kind) > 0));
    assert(header->number == (uint32_t)number);
    make_tag(header->tag, header, behind, number, length, key);
}

bool weft_dgram_is_sealed(const struct weft_dgram_header *header, const void *behind,
                          uint64_t number, size_t length,
                          const uint8_t key[WEFT_DGRAM_KEY_BYTES])
{
    uint64_t theirs;
    uint64_t tag;

    make_tag((uint8_t *)&tag, header, behind, number, length, key);
    memcpy(&theirs, header->tag, sizeof(theirs));
    return (tag ^ theirs) == 0; /* takes as long wherever they differ */
}
