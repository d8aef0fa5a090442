/*
 * note.c - what this rank leaves in its slice of the segment about the call in which it
 * waits, for whoever looks at a job that hangs.
 */
#include "engine/hot.h"
#include "engine/lock.h"
#include "engine/wait.h"

static struct weft_doing_record *record(void)
{
    return &weft_engine.job->slice->doing;
}

static void note(const struct weft_wait *wait, const struct weft_wait_reason *why,
                 bool is_spinning)
{
    struct weft_doing doing = {
        .what = WEFT_DOING_OTHER,
        .is_spinning = is_spinning,
        .awaited = wait != NULL ? (uint32_t)wait->count : 1,
        .threads = weft_engine.waiting_threads,
        .done = weft_engine.moved,
        .awaits = {.peer = why->peer,
                   .rank = WEFT_DOING_UNKNOWN,
                   .tag = why->tag,
                   .bytes = why->bytes},
    };

    weft_assert_locked();
    weft_doing_copy(doing.call, sizeof(doing.call), why->call);
    weft_doing_copy(doing.comm, sizeof(doing.comm), why->comm);
    if (weft_engine.describe != NULL) {
        weft_engine.describe(wait, &doing);
    }
    weft_doing_write(record(), &doing);
    weft_engine.has_noted = true;
}

void weft_engine_note(const struct weft_wait *wait, const struct weft_wait_reason *why)
{
    note(wait, why, false);
}

/* Ends the note of the calling thread. While another thread sleeps, the note is that
 * thread's, and stays. */
void weft_engine_note_end(void)
{
    weft_assert_locked();
    if (weft_engine.has_noted && !weft_engine.is_armed) {
        weft_engine.has_noted = false;
        weft_doing_clear(record());
    }
}

void weft_engine_note_spin(const char *call)
{
    const struct weft_wait_reason why = {call, "", -1, -2, 0};

    if (weft_engine.waiting_threads == 0) { /* one that waits has more to say */
        note(NULL, &why, true);
    }
}
