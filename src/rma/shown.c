#include "rma/shown.h"

#include <assert.h>

/* Only the owner changes the version: it knows it. */
static void begin(struct weft_shown *shown)
{
    const uint64_t now = atomic_load_explicit(&shown->version, memory_order_relaxed);

    assert(now % 2 == 0);
    atomic_store_explicit(&shown->version, now + 1, memory_order_relaxed);
}

static void end(struct weft_shown *shown)
{
    const uint64_t now = atomic_load_explicit(&shown->version, memory_order_relaxed);

    assert(now % 2 == 1);
    atomic_store_explicit(&shown->version, now + 1, memory_order_release);
}

static void set(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

static uint64_t get(_Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_acquire);
}

void weft_shown_change(struct weft_shown *shown, struct weft_extent extent,
                       weft_shown_word *table, const struct weft_regions *list,
                       size_t from)
{
    assert(weft_shown_bytes(list->count) <= extent.bytes);
    begin(shown);
    set(&shown->count, list->count);
    set(&shown->table_at, extent.at);
    set(&shown->table_bytes, extent.bytes);
    for (size_t i = from; i < list->count; i++) {
        set(&table[2 * i], list->at[i].base);
        set(&table[2 * i + 1], list->at[i].bytes);
    }
    end(shown);
}

void weft_shown_hide(struct weft_shown *shown)
{
    begin(shown);
    set(&shown->count, WEFT_SHOWN_NOTHING);
    end(shown);
}

/* Relaxed: what was loaded before was loaded with acquire. */
static bool is_still(struct weft_shown *shown, uint64_t version)
{
    return atomic_load_explicit(&shown->version, memory_order_relaxed) == version;
}

bool weft_shown_look(struct weft_shown *shown, struct weft_shown_head *head)
{
    head->version = weft_shown_version(shown);
    head->count = get(&shown->count);
    head->extent = (struct weft_extent){get(&shown->table_at), get(&shown->table_bytes)};
    return head->version % 2 == 0 && is_still(shown, head->version);
}

bool weft_shown_copy(struct weft_shown *shown, const struct weft_shown_head *head,
                     weft_shown_word *table, struct weft_regions *list)
{
    assert(head->count <= list->room);
    for (size_t i = 0; i < head->count; i++) {
        list->at[i] = (struct weft_region){get(&table[2 * i]), get(&table[2 * i + 1])};
    }
    list->count = (size_t)head->count;
    return is_still(shown, head->version);
}
