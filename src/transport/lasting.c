#include "transport/lasting.h"

#include <stdlib.h>
#include <string.h>

/* Sorted by their bases. `reach` is the furthest end of this range and all before it, so
 * a search backwards knows when no further range can cover a place. */
struct noted {
    struct weft_lasting_range range;
    const void *owner;
    uintptr_t reach;
};

static struct noted *all;
static size_t count;
static size_t room;
static struct weft_lasting_watch *watches;

/* How many begin at `base` or before it. */
static size_t up_to(uintptr_t base)
{
    size_t low = 0;
    size_t high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (all[middle].range.base <= base) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void set_reaches(size_t from)
{
    uintptr_t reach = from > 0 ? all[from - 1].reach : 0;

    for (size_t i = from; i < count; i++) {
        const uintptr_t end = all[i].range.base + all[i].range.bytes;

        reach = end > reach ? end : reach;
        all[i].reach = reach;
    }
}

static bool has_room(void)
{
    const size_t more = room > 0 ? 2 * room : 16;
    struct noted *grown;

    if (count < room) {
        return true;
    }
    grown = count < WEFT_LASTING_MOST ? realloc(all, more * sizeof(*all)) : NULL;
    if (grown == NULL) {
        return false;
    }
    all = grown;
    room = more;
    return true;
}

void weft_lasting_add(const void *base, size_t bytes, const void *owner)
{
    size_t place;

    if (base == NULL || bytes < WEFT_LASTING_LEAST || !has_room()) {
        return;
    }
    place = up_to((uintptr_t)base);
    memmove(&all[place + 1], &all[place], (count - place) * sizeof(*all));
    all[place] = (struct noted){.range = {(uintptr_t)base, bytes}, .owner = owner};
    count++;
    set_reaches(place);
}

void weft_lasting_remove(const void *base, const void *owner)
{
    size_t i = up_to((uintptr_t)base);
    struct weft_lasting_range range;

    while (i > 0 && all[i - 1].range.base == (uintptr_t)base &&
           all[i - 1].owner != owner) {
        i--;
    }
    if (i == 0 || all[i - 1].range.base != (uintptr_t)base) {
        return;
    }
    range = all[i - 1].range;
    memmove(&all[i - 1], &all[i], (count - i) * sizeof(*all));
    count--;
    set_reaches(i - 1);
    for (struct weft_lasting_watch *w = watches; w != NULL; w = w->next) {
        w->gone(w, &range);
    }
}

bool weft_lasting_find(const void *at, size_t bytes, struct weft_lasting_range *range)
{
    const uintptr_t base = (uintptr_t)at;
    const uintptr_t end = base + bytes;

    if (end < base) {
        return false;
    }
    for (size_t i = up_to(base); i > 0 && all[i - 1].reach >= end; i--) {
        if (all[i - 1].range.base + all[i - 1].range.bytes >= end) {
            *range = all[i - 1].range;
            return true;
        }
    }
    return false;
}

void weft_lasting_watch(struct weft_lasting_watch *watch)
{
    watch->next = watches;
    watches = watch;
}

void weft_lasting_unwatch(struct weft_lasting_watch *watch)
{
    struct weft_lasting_watch **at = &watches;

    while (*at != NULL && *at != watch) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = watch->next;
    }
}
