#include "wireup/secret.h"

#include "base/log.h"
#include "base/texts.h"

#include <string.h>

enum { TEXT_BYTES = 2 * WEFT_SEGMENT_SECRET_BYTES + 1 };

static const char KEY[] = "weft-secret";
static const char DIGITS[] = "0123456789abcdef";

enum weft_rc weft_secret_leave(const struct weft_kvs_ops *kvs,
                               const struct weft_segment *segment)
{
    char text[TEXT_BYTES] = "";

    for (size_t i = 0; i < WEFT_SEGMENT_SECRET_BYTES; i++) {
        text[2 * i] = DIGITS[segment->header->secret[i] >> 4];
        text[2 * i + 1] = DIGITS[segment->header->secret[i] & 0xf];
    }
    if (segment->header->node_count > 1) {
        weft_log_warn(WEFT_S_SECRET_PLAIN, kvs->name);
    }
    return kvs->put(KEY, text);
}

static bool read_secret(const char *text, uint8_t *secret)
{
    if (strlen(text) != TEXT_BYTES - 1 || strspn(text, DIGITS) != TEXT_BYTES - 1) {
        return false;
    }
    for (size_t i = 0; i < WEFT_SEGMENT_SECRET_BYTES; i++) {
        secret[i] = (uint8_t)((strchr(DIGITS, text[2 * i]) - DIGITS) << 4 |
                              (strchr(DIGITS, text[2 * i + 1]) - DIGITS));
    }
    return true;
}

enum weft_rc weft_secret_take(const struct weft_kvs_ops *kvs,
                              const struct weft_segment *segment)
{
    char text[WEFT_KVS_VALUE_MAX + 1];

    if (kvs->get(0, KEY, text) != WEFT_OK ||
        !read_secret(text, segment->header->secret)) {
        weft_log_error(WEFT_S_SECRET_NONE, kvs->name);
        return WEFT_ERR_LAUNCH;
    }
    return WEFT_OK;
}
