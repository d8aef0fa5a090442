#include "rma/ticket.h"

#include "engine/engine.h"

static bool is_our_turn(const struct weft_near_wait *wait)
{
    return atomic_load_explicit(wait->word, memory_order_acquire) == wait->value;
}

/* Has the member failed, or one of those who have the lock or wait for it? */
static bool is_lost(const struct weft_near_wait *wait)
{
    const struct weft_win *win = wait->win;
    const size_t at = (size_t)((const char *)wait->words - win->board);

    if (atomic_load_explicit(weft_engine.failures, memory_order_relaxed) == 0) {
        return false;
    }
    if (weft_near_has_failed(win, (uint32_t)(at / weft_words_bytes(win->near_members)))) {
        return true;
    }
    for (uint32_t i = 0; i < win->near_members; i++) {
        if ((atomic_load_explicit(weft_words_involved(wait->words, win->near_members, i),
                                  memory_order_relaxed) &
             weft_words_bit(i)) != 0 &&
            weft_near_has_failed(win, i)) {
            return true;
        }
    }
    return false;
}

enum weft_rc weft_ticket_lock(struct weft_win *win, const struct weft_near *near,
                              bool is_exclusive, const char *call)
{
    struct weft_win_words *words = near->words;
    const uint32_t me = win->near_number;
    struct weft_near_wait wait = {
        .win = win,
        .words = words,
        .word = is_exclusive ? &words->writers : &words->readers,
        .is_so = is_our_turn,
        .is_vain = is_lost,
        .rank = near->rank,
        .call = call,
    };
    enum weft_rc rc;

    atomic_fetch_or_explicit(weft_words_involved(words, win->near_members, me),
                             weft_words_bit(me), memory_order_seq_cst);
    wait.value = atomic_fetch_add_explicit(&words->next, 1, memory_order_seq_cst);
    rc = weft_near_wait(&wait);
    if (rc == WEFT_OK && !is_exclusive) {
        atomic_fetch_add_explicit(&words->readers, 1, memory_order_seq_cst);
        weft_words_changed(words);
    }
    return rc;
}

void weft_ticket_unlock(struct weft_win *win, const struct weft_near *near,
                        bool is_exclusive)
{
    struct weft_win_words *words = near->words;
    const uint32_t me = win->near_number;

    if (is_exclusive) {
        atomic_fetch_add_explicit(&words->readers, 1, memory_order_seq_cst);
    }
    atomic_fetch_add_explicit(&words->writers, 1, memory_order_seq_cst);
    atomic_fetch_and_explicit(weft_words_involved(words, win->near_members, me),
                              ~weft_words_bit(me), memory_order_seq_cst);
    weft_words_changed(words);
}
