#include "match/unexpected.h"

#include "base/copy.h"
#include "base/reserve.h"
#include "engine/lock.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

enum {
    LARGEST = sizeof(struct weft_unexpected) + 4096 + 64,
    FEW_SURVIVORS = WEFT_UNEXPECTED_BYTES / 16, /* bytes worth copying out of a buffer */
};

static uint32_t record_bytes(size_t len)
{
    return (uint32_t)((sizeof(struct weft_unexpected) + len + 15) / 16 * 16);
}

static bool has_room(const struct weft_unexpected_buffer *b, uint32_t bytes)
{
    return WEFT_UNEXPECTED_BYTES - b->used >= bytes;
}

static struct weft_unexpected *outside(struct weft_unexpected_store *store,
                                       uint32_t bytes)
{
    struct weft_unexpected *message = weft_reserve_take(bytes);

    if (message != NULL) {
        message->buffer = WEFT_UNEXPECTED_OUTSIDE;
        store->beyond += bytes;
    }
    return message;
}

/* Without huge pages, of which the first message would take a whole one: 2 MiB. */
static uint8_t *map_buffer(void)
{
    void *memory = mmap(NULL, WEFT_UNEXPECTED_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        return NULL;
    }
    madvise(memory, WEFT_UNEXPECTED_BYTES, MADV_NOHUGEPAGE);
    return memory;
}

/* Moves the living records of a retired buffer elsewhere. */
static void evacuate(struct weft_unexpected_store *store, struct weft_match *match,
                     struct weft_unexpected_buffer *b)
{
    uint32_t at = 0;

    assert(b->live <= b->used);
    while (at < b->used && b->live > 0) {
        struct weft_unexpected *old = (struct weft_unexpected *)(void *)(b->memory + at);
        struct weft_unexpected *copy;

        at += old->bytes;
        if (old->waiting.number == UINT64_MAX) {
            continue; /* taken */
        }
        copy = outside(store, old->bytes);
        if (copy == NULL) {
            return; /* the rest stays */
        }
        memcpy(copy, old, old->bytes);
        copy->buffer = WEFT_UNEXPECTED_OUTSIDE;
        weft_match_move(match, &old->waiting, &copy->waiting);
        old->waiting.number = UINT64_MAX;
        b->live -= old->bytes;
    }
    b->used = b->live > 0 ? b->used : 0;
}

/* Retires the current buffer and finds another; false if all are in use. */
static bool next_buffer(struct weft_unexpected_store *store, struct weft_match *match)
{
    for (uint32_t i = 1; i <= WEFT_UNEXPECTED_BUFFERS; i++) {
        uint32_t which = (store->current + i) % WEFT_UNEXPECTED_BUFFERS;
        struct weft_unexpected_buffer *b = &store->buffers[which];

        if (b->live > 0 && b->live <= FEW_SURVIVORS) {
            evacuate(store, match, b);
        }
        if (b->live == 0) {
            b->used = 0;
            if (b->memory == NULL) {
                b->memory = map_buffer();
            }
            if (b->memory != NULL) {
                store->current = which;
                return true;
            }
        }
    }
    return false;
}

/* Could another message of the largest size be kept inside the buffers? */
static void judge_room(struct weft_unexpected_store *store)
{
    bool is_full = true;

    for (uint32_t i = 0; i < WEFT_UNEXPECTED_BUFFERS; i++) {
        const struct weft_unexpected_buffer *b = &store->buffers[i];

        if (b->live <= FEW_SURVIVORS || (i == store->current && has_room(b, LARGEST))) {
            is_full = false;
        }
    }
    store->is_full = is_full || store->beyond >= WEFT_UNEXPECTED_BYTES;
}

static struct weft_unexpected *make(struct weft_unexpected_store *store,
                                    struct weft_match *match, uint32_t bytes)
{
    struct weft_unexpected_buffer *b = &store->buffers[store->current];
    struct weft_unexpected *message;

    if (b->memory == NULL || !has_room(b, bytes)) {
        if (!next_buffer(store, match)) {
            return outside(store, bytes);
        }
        b = &store->buffers[store->current];
    }
    message = (struct weft_unexpected *)(void *)(b->memory + b->used);
    message->buffer = (uint8_t)store->current;
    b->used += bytes;
    b->live += bytes;
    return message;
}

struct weft_unexpected *weft_unexpected_keep(struct weft_unexpected_store *store,
                                             struct weft_match *match,
                                             struct weft_peer *from,
                                             const struct weft_header *header,
                                             const void *data, size_t len)
{
    uint32_t bytes = record_bytes(len);
    struct weft_unexpected *message = make(store, match, bytes);

    weft_assert_locked();
    if (message == NULL) {
        return NULL;
    }
    message->bytes = bytes;
    message->from = from;
    message->header = *header;
    weft_copy(message->data, data, len);
    message->waiting.context = header->context;
    message->waiting.source = (int32_t)header->source;
    message->waiting.tag = header->tag;
    if (weft_match_keep(match, &message->waiting) != WEFT_OK) {
        weft_unexpected_free(store, match, message);
        return NULL;
    }
    if (weft_unlikely(!has_room(&store->buffers[store->current], LARGEST))) {
        judge_room(store);
    }
    return message;
}

void weft_unexpected_free(struct weft_unexpected_store *store, struct weft_match *match,
                          struct weft_unexpected *message)
{
    weft_assert_locked();
    (void)match;
    if (message->buffer == WEFT_UNEXPECTED_OUTSIDE) {
        store->beyond -= message->bytes;
        weft_reserve_give(message);
    } else {
        struct weft_unexpected_buffer *b = &store->buffers[message->buffer];

        message->waiting.number = UINT64_MAX; /* for evacuate() */
        b->live -= message->bytes;
        if (b->live == 0) {
            b->used = 0;
        }
    }
    if (store->is_full) {
        judge_room(store);
    }
}

void weft_unexpected_close(struct weft_unexpected_store *store, struct weft_match *match)
{
    while (match->waiting_count > 0) {
        struct weft_waiting *w =
            (struct weft_waiting *)((char *)match->all.next -
                                    offsetof(struct weft_waiting, all));

        weft_match_take(match, w);
        weft_unexpected_free(store, match, (struct weft_unexpected *)w);
    }
    for (int i = 0; i < WEFT_UNEXPECTED_BUFFERS; i++) {
        if (store->buffers[i].memory != NULL) {
            munmap(store->buffers[i].memory, WEFT_UNEXPECTED_BYTES);
        }
    }
    memset(store, 0, sizeof(*store));
}
