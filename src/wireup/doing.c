#include "wireup/doing.h"

#include <stddef.h>
#include <string.h>

enum { TRIES = 1000 };

/*
 * The release stores of the words pair with the acquire loads of a reader: if it sees a
 * word of this write, it sees the odd version, too, when it reads that once more. The
 * release store of the even version pairs with the first load of the version: a reader
 * that sees it sees all the words.
 */
void weft_doing_write(struct weft_doing_record *record, const struct weft_doing *doing)
{
    const uint32_t version = atomic_load_explicit(&record->version, memory_order_relaxed);
    uint64_t words[WEFT_DOING_WORDS];

    memcpy(words, doing, sizeof(words));
    atomic_store_explicit(&record->version, version | 1, memory_order_relaxed);
    for (int i = 0; i < WEFT_DOING_WORDS; i++) {
        atomic_store_explicit(&record->words[i], words[i], memory_order_release);
    }
    atomic_store_explicit(&record->version, (version | 1) + 1, memory_order_release);
}

/* The first word has `what`: the rest of the record says nothing then. */
void weft_doing_clear(struct weft_doing_record *record)
{
    const uint32_t version = atomic_load_explicit(&record->version, memory_order_relaxed);

    _Static_assert(offsetof(struct weft_doing, what) == 0, "the first word");
    atomic_store_explicit(&record->version, version | 1, memory_order_relaxed);
    atomic_store_explicit(&record->words[0], 0, memory_order_release);
    atomic_store_explicit(&record->version, (version | 1) + 1, memory_order_release);
}

void weft_doing_copy(char *to, size_t size, const char *text)
{
    to[size - 1] = '\0';
    strncpy(to, text, size - 1);
}

static void make_text(char *text, size_t size)
{
    text[size - 1] = '\0';
    for (size_t i = 0; text[i] != '\0'; i++) {
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f) {
            text[i] = '?';
        }
    }
}

static void make_texts(struct weft_doing_message *list, int count)
{
    for (int i = 0; i < count; i++) {
        make_text(list[i].comm, sizeof(list[i].comm));
    }
}

void weft_doing_check(struct weft_doing *doing)
{
    if (doing->what >= WEFT_DOING_KINDS) {
        memset(doing, 0, sizeof(*doing));
    }
    make_text(doing->call, sizeof(doing->call));
    make_text(doing->begun_by, sizeof(doing->begun_by));
    make_text(doing->comm, sizeof(doing->comm));
    make_texts(&doing->awaits, 1);
    make_texts(doing->posted, WEFT_DOING_MESSAGES);
    make_texts(doing->sending, WEFT_DOING_MESSAGES);
    make_texts(doing->unexpected, WEFT_DOING_MESSAGES);
}

bool weft_doing_read(const struct weft_doing_record *record, struct weft_doing *out)
{
    uint64_t words[WEFT_DOING_WORDS];
    bool is_whole = false;

    for (int n = 0; n < TRIES && !is_whole; n++) {
        const uint32_t version =
            atomic_load_explicit(&record->version, memory_order_acquire);

        for (int i = 0; i < WEFT_DOING_WORDS; i++) {
            words[i] = atomic_load_explicit(&record->words[i], memory_order_acquire);
        }
        is_whole =
            version % 2 == 0 &&
            version == atomic_load_explicit(&record->version, memory_order_relaxed);
    }
    memcpy(out, words, sizeof(*out));
    if (!is_whole) {
        out->what = WEFT_DOING_NOTHING;
    }
    weft_doing_check(out);
    return is_whole;
}
