/* sodium.c - libsodium, loaded when a network is opened: see sodium.h. */
#include "transport/ofi/sodium.h"

#include "base/library.h"
#include "base/log.h"
#include "base/texts.h"

#include <assert.h>
#include <dlfcn.h>

#include <sodium.h>

static struct {
    __typeof__(&sodium_init) init;
    __typeof__(&crypto_generichash) hash;
    __typeof__(&crypto_shorthash) short_hash;
    __typeof__(&sodium_memcmp) compare;
    bool is_open;
} sodium;

enum weft_rc weft_sodium_open(void)
{
    const struct weft_symbol symbols[] = {
        {"sodium_init", &sodium.init},
        {"crypto_generichash", &sodium.hash},
        {"crypto_shorthash", &sodium.short_hash},
        {"sodium_memcmp", &sodium.compare},
    };
    const char *missing;
    void *library;

    if (sodium.is_open) {
        return WEFT_OK;
    }
    library = dlopen("libsodium.so.23", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *why = dlerror();

        weft_log_error(WEFT_S_NO_SODIUM, why,
                       weft_library_advice(why, "install it (Debian: libsodium23)"));
        return WEFT_ERR_UNSUPPORTED;
    }
    missing = weft_library_find(library, symbols, sizeof(symbols) / sizeof(symbols[0]));
    if (missing != NULL) {
        weft_log_error(WEFT_S_SODIUM_SYMBOL, missing);
        return WEFT_ERR_UNSUPPORTED;
    }
    if (sodium.init() < 0) {
        weft_log_error(WEFT_S_SODIUM_START);
        return WEFT_ERR_UNSUPPORTED;
    }
    sodium.is_open = true;
    return WEFT_OK;
}

void weft_sodium_hash(uint8_t *tag, size_t tag_length, const void *bytes, size_t length,
                      const uint8_t *key, size_t key_length)
{
    int rc = sodium.hash(tag, tag_length, bytes, length, key, key_length);

    assert(rc == 0); /* it refuses lengths, and nothing else */
    (void)rc;
}

void weft_sodium_short_hash(uint8_t tag[8], const void *bytes, size_t length,
                            const uint8_t key[16])
{
    (void)sodium.short_hash(tag, bytes, length, key); /* cannot fail */
}

bool weft_sodium_is_same(const uint8_t *a, const uint8_t *b, size_t length)
{
    return sodium.compare(a, b, length) == 0;
}
