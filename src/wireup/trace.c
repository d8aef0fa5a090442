#include "wireup/trace.h"

#include <stddef.h>
#include <string.h>
#include <time.h>

enum { TRIES = 1000, FEW_TRIES = 4 };

static const char *const names[] = {
    "?",
#define WEFT_CALL(name) "MPI_" #name,
#include "wireup/calls.inc"
#undef WEFT_CALL
};

const char *weft_trace_name(unsigned call)
{
    return call < WEFT_CALLS ? names[call] : names[0];
}

enum weft_call_number weft_trace_call_of(const char *name)
{
    for (unsigned call = 1; call < WEFT_CALLS; call++) {
        if (strcmp(names[call], name) == 0) {
            return (enum weft_call_number)call;
        }
    }
    return WEFT_CALL_NONE;
}

/* ---- time ---- */

static uint64_t clock_of(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#if !defined(__x86_64__) && !defined(__aarch64__)
uint64_t weft_trace_clock(void)
{
    return clock_of(CLOCK_MONOTONIC);
}
#endif

/* Of a few pairs, the one whose two clocks were read closest to each other: the thread
 * may lose the processor in between. */
static void take_pair(uint64_t *ticks, uint64_t *ns)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < 5; i++) {
        const uint64_t before = weft_trace_ticks();
        const uint64_t now = clock_of(CLOCK_REALTIME);
        const uint64_t after = weft_trace_ticks();

        if (after - before < least) {
            least = after - before;
            *ticks = before + (after - before) / 2;
            *ns = now;
        }
    }
}

void weft_trace_begin(struct weft_trace *trace)
{
    uint64_t ticks;
    uint64_t ns;

    take_pair(&ticks, &ns);
    atomic_store_explicit(&trace->begun_ns, ns, memory_order_release);
    atomic_store_explicit(&trace->begun_ticks, ticks, memory_order_release);
}

uint64_t weft_trace_ns(const struct weft_trace_copy *copy, uint64_t ticks)
{
    const int64_t span = (int64_t)(copy->read_ticks - copy->begun_ticks);
    const int64_t span_ns = (int64_t)(copy->read_ns - copy->begun_ns);
    const int64_t back = (int64_t)(copy->read_ticks - ticks);
    __int128 ns;

    if (span <= 0 || span_ns <= 0) { /* the clock was set back, or the slice is no good */
        return copy->read_ns;
    }
    ns = (__int128)copy->read_ns - (__int128)back * span_ns / span;
    return ns < 0 ? 0 : ns > (__int128)UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* ---- events ---- */

/* False: the slot has not, or no longer, the event of the time in `event`. */
static bool read_slot(const struct weft_trace_slot *slot, struct weft_trace_event *event)
{
    const uint64_t when = event->when;

    event->where = atomic_load_explicit(&slot->where, memory_order_acquire);
    event->context = atomic_load_explicit(&slot->context, memory_order_acquire);
    event->peer = atomic_load_explicit(&slot->peer, memory_order_acquire);
    event->tag = atomic_load_explicit(&slot->tag, memory_order_acquire);
    event->bytes = atomic_load_explicit(&slot->bytes, memory_order_acquire);
    return when != 0 && when == atomic_load_explicit(&slot->when, memory_order_relaxed);
}

/*
 * All times first: an event whose time is below the newest of them is whole in the slice,
 * because it was stored before that time. What is overwritten meanwhile is left out.
 */
static void read_slots(const struct weft_trace *trace, struct weft_trace_copy *out)
{
    for (int i = 0; i < WEFT_TRACE_EVENTS; i++) {
        out->events[i].when =
            atomic_load_explicit(&trace->events[i].when, memory_order_acquire);
    }
    out->count = 0;
    for (int i = 0; i < WEFT_TRACE_EVENTS; i++) {
        struct weft_trace_event event = out->events[i];

        if (read_slot(&trace->events[i], &event)) {
            out->events[out->count++] = event;
        }
    }
}

static bool is_call(const struct weft_trace_event *event)
{
    const unsigned call = weft_trace_call(event);

    return call > WEFT_CALL_NONE && call < WEFT_CALLS;
}

/* Leaves out what no rank writes. */
static void drop_garbage(struct weft_trace_copy *copy)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < copy->count; i++) {
        const struct weft_trace_event *event = &copy->events[i];

        if (event->when != 0 && event->when <= copy->read_ticks && is_call(event)) {
            copy->events[count++] = *event;
        }
    }
    copy->count = count;
}

static void reverse(struct weft_trace_event *events, uint32_t count)
{
    for (uint32_t i = 0; i < count / 2; i++) {
        const struct weft_trace_event event = events[i];

        events[i] = events[count - 1 - i];
        events[count - 1 - i] = event;
    }
}

/* The ring from its oldest event on: the one behind the newest. Of equal times the last
 * in a row is the newest. */
static void rotate(struct weft_trace_copy *copy)
{
    struct weft_trace_event *events = copy->events;
    uint32_t newest = 0;

    for (uint32_t i = 1; i < copy->count; i++) {
        const bool is_next = newest + 1 == i;

        if (events[i].when > events[newest].when ||
            (events[i].when == events[newest].when && is_next)) {
            newest = i;
        }
    }
    if (copy->count > 0) {
        reverse(events, newest + 1);
        reverse(&events[newest + 1], copy->count - newest - 1);
        reverse(events, copy->count);
    }
}

/* By time; events of one time keep their order. They are in order but for threads whose
 * processors' counters differ, and for garbage. */
static void sort(struct weft_trace_event *events, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct weft_trace_event event = events[i];
        uint32_t at = i;

        for (; at > 0 && events[at - 1].when > event.when; at--) {
            events[at] = events[at - 1];
        }
        events[at] = event;
    }
}

/* ---- modules ---- */

_Static_assert(offsetof(struct weft_trace_table, count) == 0 &&
                   sizeof(struct weft_trace_module) % sizeof(uint64_t) == 0,
               "the table is written word by word");

void weft_trace_write_modules(struct weft_trace *trace,
                              const struct weft_trace_module *modules, uint32_t count)
{
    const uint32_t version = atomic_load_explicit(&trace->version, memory_order_relaxed);
    const uint64_t kept = count < WEFT_TRACE_MODULES ? count : WEFT_TRACE_MODULES;
    const size_t first = offsetof(struct weft_trace_table, modules) / sizeof(uint64_t);
    const size_t end = first + kept * (sizeof(*modules) / sizeof(uint64_t));

    atomic_store_explicit(&trace->version, version | 1, memory_order_relaxed);
    atomic_store_explicit(&trace->table[0], kept, memory_order_release);
    for (size_t i = first; i < WEFT_TRACE_TABLE_WORDS; i++) {
        uint64_t word = 0;

        if (i < end) {
            memcpy(&word, (const char *)modules + (i - first) * sizeof(word),
                   sizeof(word));
        }
        atomic_store_explicit(&trace->table[i], word, memory_order_release);
    }
    atomic_store_explicit(&trace->version, (version | 1) + 1, memory_order_release);
}

/* A process that died while it wrote leaves an odd version: what is there is checked. */
static uint32_t read_modules(const struct weft_trace *trace,
                             struct weft_trace_module *modules)
{
    struct weft_trace_table table;
    uint64_t words[WEFT_TRACE_TABLE_WORDS];
    bool is_whole = false;

    for (int n = 0; n < TRIES && !is_whole; n++) {
        const uint32_t version =
            atomic_load_explicit(&trace->version, memory_order_acquire);

        for (int i = 0; i < WEFT_TRACE_TABLE_WORDS; i++) {
            words[i] = atomic_load_explicit(&trace->table[i], memory_order_acquire);
        }
        is_whole = version % 2 == 0 &&
                   version == atomic_load_explicit(&trace->version, memory_order_relaxed);
    }
    memcpy(&table, words, sizeof(table));
    memcpy(modules, table.modules, sizeof(table.modules));
    return table.count < WEFT_TRACE_MODULES ? (uint32_t)table.count : WEFT_TRACE_MODULES;
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

/* Leaves out what is no module; returns how many are left. */
static uint32_t check_modules(struct weft_trace_module *modules, uint32_t all)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < all && i < WEFT_TRACE_MODULES; i++) {
        struct weft_trace_module module = modules[i];

        if (module.low < module.high) {
            make_text(module.path, sizeof(module.path));
            module.id_bytes = module.id_bytes <= WEFT_TRACE_ID ? module.id_bytes : 0;
            modules[count++] = module;
        }
    }
    memset(&modules[count], 0, (WEFT_TRACE_MODULES - count) * sizeof(modules[0]));
    return count;
}

/* ---- all of it ---- */

void weft_trace_check(struct weft_trace_copy *copy)
{
    if (copy->count > WEFT_TRACE_EVENTS) {
        copy->count = WEFT_TRACE_EVENTS;
    }
    drop_garbage(copy);
    rotate(copy);
    sort(copy->events, copy->count);
    copy->module_count = check_modules(copy->modules, copy->module_count);
}

/* What a rank was sending when it died, or sends now, is the newest. */
static void set_untimed(struct weft_trace_copy *copy)
{
    uint64_t newest = 1;

    for (uint32_t i = 0; i < copy->count; i++) {
        const uint64_t when = copy->events[i].when;

        newest = when > newest && when <= copy->read_ticks ? when : newest;
    }
    for (uint32_t i = 0; i < copy->count; i++) {
        if (copy->events[i].when == WEFT_TRACE_UNTIMED) {
            copy->events[i].when = newest < copy->read_ticks ? newest + 1 : newest;
        }
    }
}

static uint64_t newest_time(const struct weft_trace *trace)
{
    uint64_t newest = 0;

    for (int i = 0; i < WEFT_TRACE_EVENTS; i++) {
        const uint64_t when =
            atomic_load_explicit(&trace->events[i].when, memory_order_relaxed);

        newest = when > newest ? when : newest;
    }
    return newest;
}

/* The events, and whether the newest of them is open: of one moment, unless the rank
 * makes calls all the time. */
static void read_events(const struct weft_trace *trace, struct weft_trace_copy *out)
{
    const struct weft_trace_now *now = &trace->now;
    uint64_t newest;

    for (int n = 0; n < FEW_TRIES; n++) {
        newest = newest_time(trace);
        read_slots(trace, out);
        out->is_open = atomic_load_explicit(&now->inside, memory_order_acquire) != 0 ||
                       atomic_load_explicit(&now->waiting, memory_order_acquire) != 0;
        if (newest == newest_time(trace)) {
            break;
        }
    }
}

size_t weft_trace_read(const struct weft_trace *trace, struct weft_trace_copy *out)
{
    out->begun_ticks = atomic_load_explicit(&trace->begun_ticks, memory_order_acquire);
    out->begun_ns = atomic_load_explicit(&trace->begun_ns, memory_order_acquire);
    read_events(trace, out);
    out->module_count = read_modules(trace, out->modules);
    take_pair(&out->read_ticks, &out->read_ns);
    set_untimed(out);
    weft_trace_check(out);
    out->is_open = out->is_open && out->count > 0;
    return out->count;
}

/* The newest is found by times alone; slots behind the first that was never written are
 * not touched, so that no memory is made for them. */
bool weft_trace_read_last(const struct weft_trace *trace, struct weft_trace_last *out)
{
    const struct weft_trace_slot *newest = NULL;
    uint64_t latest = 0;

    for (int i = 0; i < WEFT_TRACE_EVENTS; i++) {
        const uint64_t when =
            atomic_load_explicit(&trace->events[i].when, memory_order_acquire);

        if (when == 0) {
            break;
        }
        if (when >= latest) {
            latest = when;
            newest = &trace->events[i];
        }
    }
    if (newest == NULL) {
        return false;
    }
    out->event.when = latest;
    if (!read_slot(newest, &out->event) || !is_call(&out->event)) {
        return false; /* the rank moves, or the slice is no good */
    }
    out->module_count = check_modules(out->modules, read_modules(trace, out->modules));
    return true;
}
