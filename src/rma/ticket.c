#include "rma/ticket.h"

#include "engine/engine.h"

/* What a place says: a step in the lowest bits, and the ticket above them.
 * tests/models/ticket.pml has all of this. */
enum step {
    OUT,     /* 0 */
    ASKING,  /* it may have taken a ticket */
    READING, /* it waits for its turn to read, or has it */
    WRITING, /* the same for writing */
    LEAVING, /* it may have added to `writers` */
    HELPED,  /* it has failed; another member, whose number stands for the ticket, makes
              * its steps */
    STEP_BITS = 3,
};

static uint32_t note(uint32_t ticket, enum step step)
{
    return ticket << STEP_BITS | (uint32_t)step;
}

static enum step step_of(uint32_t place)
{
    return (enum step)(place & ((1u << STEP_BITS) - 1));
}

/* How many turns after that of the place's ticket it is; tickets of a place are short. */
static int32_t turns_since(uint32_t turn, uint32_t place)
{
    return (int32_t)((turn << STEP_BITS) - (place & ~((1u << STEP_BITS) - 1)));
}

/* ---- those who have failed ---- */

/* The steps that one that has failed has left to do: `read` is how many turns after its
 * own `readers` is. Its place says who makes them, until they are made. */
static void help(const struct weft_win *win, struct weft_win_words *words,
                 _Atomic uint32_t *place, uint32_t seen, int32_t read)
{
    /* One of all who find it does it. */
    if (atomic_compare_exchange_strong(place, &seen, note(win->near_number, HELPED))) {
        atomic_fetch_add(&words->readers, read == 0 ? 1 : 0);
        atomic_fetch_add(&words->writers, 1);
        atomic_store(place, OUT);
        weft_words_changed(words);
    }
}

/* Makes the steps of one that has failed, if it is their time. False: they are unknown.
 */
static bool leave_for(const struct weft_win *win, struct weft_win_words *words,
                      _Atomic uint32_t *place)
{
    const uint32_t seen = atomic_load_explicit(place, memory_order_seq_cst);
    const int32_t written = turns_since(atomic_load(&words->writers), seen);
    /* After `writers`: a writer that leaves adds to this one first. */
    const int32_t read = turns_since(atomic_load(&words->readers), seen);
    bool is_time = false;

    switch (step_of(seen)) {
    case OUT:
        return true;
    case WRITING: /* readers behind it may have left already, if it let them in */
        is_time = written >= 0;
        break;
    case READING:
        is_time = read >= 0;
        break;
    case HELPED: /* that member may have made them before it failed */
        return !weft_near_has_failed(win, seen >> STEP_BITS) ||
               atomic_load(place) != seen;
    default:
        return false;
    }
    if (is_time) {
        help(win, words, place, seen, read);
    }
    return true;
}

/* Is the lock lost? The member may have failed, or one of those who have the lock or wait
 * for it. */
static bool is_lost(const struct weft_near_wait *wait)
{
    const struct weft_win *win = wait->win;
    const size_t at = (size_t)((const char *)wait->words - win->board);
    bool is_known = true;

    if (atomic_load_explicit(weft_engine.failures, memory_order_relaxed) == 0) {
        return false;
    }
    if (weft_near_has_failed(win, (uint32_t)(at / weft_words_bytes(win->near_members)))) {
        return true;
    }
    for (uint32_t i = 0; i < win->near_members; i++) {
        _Atomic uint32_t *place = weft_words_place(wait->words, win->near_members, i);

        if (atomic_load_explicit(place, memory_order_relaxed) != OUT &&
            weft_near_has_failed(win, i)) {
            is_known &= leave_for(win, wait->words, place);
        }
    }
    return !is_known;
}

/* ---- lock and unlock ---- */

static bool is_our_turn(const struct weft_near_wait *wait)
{
    return atomic_load_explicit(wait->word, memory_order_acquire) == wait->value;
}

enum weft_rc weft_ticket_lock(struct weft_win *win, const struct weft_near *near,
                              bool is_exclusive, const char *call)
{
    struct weft_win_words *words = near->words;
    _Atomic uint32_t *place =
        weft_words_place(words, win->near_members, win->near_number);
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

    atomic_store_explicit(place, ASKING, memory_order_seq_cst);
    wait.value = atomic_fetch_add_explicit(&words->next, 1, memory_order_seq_cst);
    atomic_store_explicit(place, note(wait.value, is_exclusive ? WRITING : READING),
                          memory_order_seq_cst);
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
    _Atomic uint32_t *place =
        weft_words_place(words, win->near_members, win->near_number);

    if (is_exclusive) {
        atomic_fetch_add_explicit(&words->readers, 1, memory_order_seq_cst);
    }
    /* From now on readers behind us may leave before us, so that `writers` does not tell
     * whether we have. Release: only whoever knows that we have failed looks at it. */
    atomic_store_explicit(place, LEAVING, memory_order_release);
    atomic_fetch_add_explicit(&words->writers, 1, memory_order_seq_cst);
    atomic_store_explicit(place, OUT, memory_order_seq_cst);
    weft_words_changed(words);
}
