#include "wireup/same.h"

#include "base/crc32c.h"
#include "base/settings.h"

#include <stdio.h>
#include <string.h>

enum { SUM_DIGITS = 8 };

/* The last one may hold anything, the others have no SEPARATOR in them. */
static const enum weft_setting same[] = {WEFT_SET_TRANSPORT, WEFT_SET_CONNECT,
                                         WEFT_SET_REPRODUCIBLE, WEFT_SET_COLL};
_Static_assert(sizeof(same) / sizeof(same[0]) == WEFT_SAME_SETTINGS, "one each");
_Static_assert(WEFT_SAME_SETTINGS *(SUM_DIGITS + WEFT_SAID_BYTES) <= WEFT_KVS_VALUE_MAX,
               "a word for the launcher has all of them");

static const char SEPARATOR = '|';

static void say_all(struct weft_said *said)
{
    for (int i = 0; i < WEFT_SAME_SETTINGS; i++) {
        char room[WEFT_SETTING_ROOM];
        const char *text = weft_setting_say(same[i], room);

        said[i].sum = weft_crc32c(text, strlen(text));
        snprintf(said[i].text, sizeof(said[i].text), "%s", text);
    }
}

bool weft_same_is_default(void)
{
    for (int i = 0; i < WEFT_SAME_SETTINGS; i++) {
        char room[WEFT_SETTING_ROOM];

        if (strcmp(weft_setting_say(same[i], room),
                   weft_setting_row(same[i])->fallback) != 0) {
            return false;
        }
    }
    return true;
}

static enum weft_rc compare(const struct weft_said *mine, int rank,
                            const struct weft_said *theirs, int other, char *why,
                            size_t room)
{
    for (int i = 0; i < WEFT_SAME_SETTINGS; i++) {
        if (mine[i].sum != theirs[i].sum) {
            snprintf(why, room,
                     "%s is \"%.*s\" on rank %d and \"%.*s\" on rank %d: it must be "
                     "the same on all ranks",
                     weft_setting_row(same[i])->name, WEFT_SAID_BYTES, mine[i].text, rank,
                     WEFT_SAID_BYTES, theirs[i].text, other);
            return WEFT_ERR_ARGUMENT;
        }
    }
    return WEFT_OK;
}

enum weft_rc weft_same_in_node(const struct weft_segment *segment, uint32_t local_rank,
                               char *why, size_t room)
{
    _Atomic uint32_t *first = &segment->header->first_said;
    struct weft_said *said = weft_segment_slice(segment, local_rank)->said;
    uint32_t seen = 0;

    say_all(said);
    /* Release: pairs with the acquire of a rank that fails, which reads the first's
     * values.
     */
    if (atomic_compare_exchange_strong_explicit(
            first, &seen, local_rank + 1, memory_order_acq_rel, memory_order_acquire) ||
        seen > segment->local_size) {
        return WEFT_OK;
    }
    return compare(said, (int)weft_segment_rank(segment, local_rank),
                   weft_segment_slice(segment, seen - 1)->said,
                   (int)weft_segment_rank(segment, seen - 1), why, room);
}

/* ---- through the launcher ---- */

/* PMI-1 writes key=value, and ends a value with a blank. */
static char to_word(char c)
{
    return c == '=' ? ':' : c > ' ' && c < 0x7f ? c : '_';
}

void weft_same_write(const struct weft_said *said, char *value)
{
    size_t used = 0;

    for (int i = 0; i < WEFT_SAME_SETTINGS; i++) {
        used += (size_t)snprintf(value + used, SUM_DIGITS + 1, "%08x", said[i].sum);
        for (const char *c = said[i].text; *c != '\0'; c++) {
            value[used++] = to_word(*c);
        }
        value[used++] = i + 1 < WEFT_SAME_SETTINGS ? SEPARATOR : '\0';
    }
}

/* False: it is no such word. */
static bool read_one(const char **value, bool is_last, struct weft_said *said)
{
    const char *text = *value + SUM_DIGITS;
    size_t length;

    if (strlen(*value) < SUM_DIGITS || sscanf(*value, "%8x", &said->sum) != 1) {
        return false;
    }
    length = is_last ? strlen(text) : strcspn(text, "|");
    if (length >= sizeof(said->text) || (!is_last && text[length] == '\0')) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        said->text[i] = text[i] == ':' ? '=' : text[i];
    }
    said->text[length] = '\0';
    *value = text + length + (is_last ? 0 : 1);
    return true;
}

enum weft_rc weft_same_compare(const struct weft_said *said, int rank, const char *value,
                               int other, char *why, size_t room)
{
    struct weft_said theirs[WEFT_SAME_SETTINGS];

    for (int i = 0; i < WEFT_SAME_SETTINGS; i++) {
        if (!read_one(&value, i + 1 == WEFT_SAME_SETTINGS, &theirs[i])) {
            return WEFT_OK;
        }
    }
    return compare(said, rank, theirs, other, why, room);
}

enum weft_rc weft_same_leave(const struct weft_kvs_ops *kvs)
{
    struct weft_said said[WEFT_SAME_SETTINGS];
    char value[WEFT_KVS_VALUE_MAX + 1];

    say_all(said);
    weft_same_write(said, value);
    return kvs->put("weft-" WEFT_SAME_KEY "-0", value);
}
