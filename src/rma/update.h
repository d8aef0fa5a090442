/*
 * update.h - one accumulate at a time into the memory of a member: whoever does one has
 * the member's word `updater` (words.h), be it a member of its node or the member itself
 * that serves another node. It is held for a few microseconds, around arithmetic on at
 * most WEFT_UPDATE_BYTES. With or without the library's lock, which nobody takes while he
 * has the word.
 */
#ifndef WEFT_RMA_UPDATE_H
#define WEFT_RMA_UPDATE_H

#include "rma/near.h"

enum { WEFT_UPDATE_BYTES = 64 * 1024 };

void weft_update_await(struct weft_win *win, struct weft_win_words *words);

static inline void weft_update_begin(struct weft_win *win, struct weft_win_words *words)
{
    uint32_t nobody = 0;

    /* Acquire pairs with the release in weft_update_end(). */
    if (weft_unlikely(!atomic_compare_exchange_strong_explicit(
            &words->updater, &nobody, win->near_number + 1, memory_order_acquire,
            memory_order_relaxed))) {
        weft_update_await(win, words);
    }
}

static inline void weft_update_end(struct weft_win_words *words)
{
    atomic_store_explicit(&words->updater, 0, memory_order_release);
}

#endif
