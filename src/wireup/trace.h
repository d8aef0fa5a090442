/*
 * trace.h - the black box: the last MPI events of a rank, in its slice of the job
 * segment.
 *
 * A rank notes every call that communicates or can wait when the call begins, in a ring
 * of WEFT_TRACE_EVENTS slots, and keeps a word that says whether it is inside a call. The
 * segment outlives the rank, so the launcher reads the ring after any death, and at any
 * time while the rank lives.
 *
 * Writing. One thread at a time writes an event, with the library's lock; only MPI_Abort
 * writes without it. The time is stored first and everything else of the event after it,
 * each with release order; all of an event is stored before the time of the next one.
 * Nothing else is shared: there is no counter, so the order of events is that of their
 * times.
 *
 * Reading. A reader loads the times of all slots with acquire order, then the other words
 * of each slot with acquire order and its time again. Who sees a time sees all of the
 * events before it. Who sees a new word of a slot sees its new time. So an event whose
 * time has not changed is whole, or it is the newest, which the rank may be storing, or
 * may have been storing when it died.
 *
 * The words `inside` and `waiting` say whether the newest event's call has returned.
 * `inside` is set with release order after the event: who sees it with acquire order sees
 * the event, too. With several threads in MPI, `inside` is that of the call which began
 * or returned last; `waiting` says that a thread waits for long.
 *
 * A small message goes out before the processor's counter is read, which takes as long as
 * 3 % of its way. Its event has the time WEFT_TRACE_UNTIMED until then. A reader takes
 * such an event for the newest, and gives it the time of the one before it.
 *
 * Modules. The table of mapped ELF objects is under a sequence lock, as doing.h has one:
 * a return address of a process that is gone can be looked up with it.
 *
 * Zeroes are a rank that has recorded nothing. Readers trust nothing that they find.
 */
#ifndef WEFT_WIREUP_TRACE_H
#define WEFT_WIREUP_TRACE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __x86_64__
#include <x86intrin.h>
#endif

#define WEFT_TRACE_NO_CONTEXT UINT32_MAX

enum {
    WEFT_TRACE_EVENTS = 4096,
    WEFT_TRACE_MODULES = 32,
    WEFT_TRACE_PATH = 192,
    WEFT_TRACE_ID = 20, /* bytes of a build id that are kept */
    WEFT_TRACE_PAGE = 4096,
    WEFT_TRACE_CALL_AT = 48, /* bits of `where` below the call's number */
    WEFT_TRACE_UNTIMED = 1,  /* a time: the newest event, which has none yet */
};

/* The number of a function: WEFT_CALL_Send. */
enum weft_call_number {
    WEFT_CALL_NONE,
#define WEFT_CALL(name) WEFT_CALL_##name,
#include "wireup/calls.inc"
#undef WEFT_CALL
    WEFT_CALLS
};

/* An event, as a reader gets it. */
struct weft_trace_event {
    uint64_t when;    /* ticks of the processor's constant counter */
    uint64_t where;   /* the return address in the program, and the call's number above */
    uint32_t context; /* of the communicator, and the plane (core/comm.h), or
                       * WEFT_TRACE_NO_CONTEXT; that of MPI_COMM_WORLD is 0 */
    int32_t peer;     /* rank in the communicator, or the root; -1: any, or
                       * WEFT_DOING_UNKNOWN: none (doing.h) */
    int32_t tag;      /* or -2: any, or none */
    uint32_t bytes;   /* at most UINT32_MAX */
};
_Static_assert(sizeof(struct weft_trace_event) == 32, "4,096 of them are 128 KiB");

/* The same in the slice. */
struct weft_trace_slot {
    _Atomic uint64_t when; /* 0: never written */
    _Atomic uint64_t where;
    _Atomic uint32_t context;
    _Atomic int32_t peer;
    _Atomic int32_t tag;
    _Atomic uint32_t bytes;
};
_Static_assert(sizeof(struct weft_trace_slot) == sizeof(struct weft_trace_event),
               "its layout is that of WEFT_SEGMENT_LAYOUT");

/* An ELF object that is mapped: its executable part, and what is to be added to an
 * address of the file. The build id tells whether the file is still the same. */
struct weft_trace_module {
    uint64_t low;
    uint64_t high;
    uint64_t bias;
    char path[WEFT_TRACE_PATH];
    uint32_t id_bytes; /* of the build id; 0: it has none */
    uint8_t id[WEFT_TRACE_ID];
};

struct weft_trace_table {
    uint64_t count; /* of modules */
    struct weft_trace_module modules[WEFT_TRACE_MODULES];
};

enum { WEFT_TRACE_TABLE_WORDS = sizeof(struct weft_trace_table) / sizeof(uint64_t) };

/* The page that a rank writes with every call. */
struct weft_trace_now {
    _Atomic uint32_t inside; /* the call that began last has not returned */
    _Atomic uint32_t
        waiting; /* threads that have waited for longer than the first polls */
    _Atomic uint64_t unnoted; /* operations that leave no event (rma/fast.h), and count */
};

struct weft_trace {
    union {
        struct weft_trace_now now;
        uint8_t page[WEFT_TRACE_PAGE];
    };
    /* The counter and the clock at one moment, when the rank was opened; 0: never. */
    _Atomic uint64_t begun_ticks;
    _Atomic uint64_t begun_ns; /* CLOCK_REALTIME */
    _Atomic uint32_t version;  /* of the table; odd: it is being written */
    uint32_t reserved;
    _Atomic uint64_t table[WEFT_TRACE_TABLE_WORDS];
    _Alignas(WEFT_TRACE_PAGE) struct weft_trace_slot events[WEFT_TRACE_EVENTS];
};
_Static_assert(sizeof(struct weft_trace) == 35 * WEFT_TRACE_PAGE,
               "its layout is that of WEFT_SEGMENT_LAYOUT");

/* What a reader gets. It is large: 138 KiB. */
struct weft_trace_copy {
    uint32_t count; /* of events, oldest first */
    bool is_open;   /* the last event's call has not returned, or a thread waits in MPI */
    uint32_t module_count;
    uint64_t begun_ticks; /* two moments, between which times are converted by a line */
    uint64_t begun_ns;
    uint64_t read_ticks;
    uint64_t read_ns;
    struct weft_trace_module modules[WEFT_TRACE_MODULES];
    struct weft_trace_event events[WEFT_TRACE_EVENTS];
};

/* ---- for readers ---- */

/* "MPI_Send"; "?" for a number that no function has. */
const char *weft_trace_name(unsigned call);

/* The number of a function, or WEFT_CALL_NONE; slow. */
enum weft_call_number weft_trace_call_of(const char *name);

static inline unsigned weft_trace_call(const struct weft_trace_event *event)
{
    return (unsigned)(event->where >> WEFT_TRACE_CALL_AT);
}

static inline uint64_t weft_trace_address(const struct weft_trace_event *event)
{
    return event->where & ((UINT64_C(1) << WEFT_TRACE_CALL_AT) - 1);
}

/*
 * A checked copy; returns the number of events. Whatever the slice holds, every event has
 * a call's number and a time that is not after now, times do not decrease, modules are
 * not empty, and paths are terminated and printable.
 */
size_t weft_trace_read(const struct weft_trace *trace, struct weft_trace_copy *out);

/* The newest event, and where its address is. */
struct weft_trace_last {
    struct weft_trace_event event;
    uint32_t module_count;
    struct weft_trace_module modules[WEFT_TRACE_MODULES];
};

/* Reads no more than that, checked as above. False: nothing was recorded, or the rank
 * records something now. */
bool weft_trace_read_last(const struct weft_trace *trace, struct weft_trace_last *out);

/* Makes of a copy that came another way what weft_trace_read() gives. */
void weft_trace_check(struct weft_trace_copy *copy);

/* The time of an event of this copy: CLOCK_REALTIME of the host where it was read, in ns.
 */
uint64_t weft_trace_ns(const struct weft_trace_copy *copy, uint64_t ticks);

/* ---- for the rank ---- */

/* The processor's counter; it ticks at one rate on all cores, whatever they do. */
static inline uint64_t weft_trace_ticks(void)
{
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    uint64_t weft_trace_clock(void);

    return weft_trace_clock();
#endif
}

static inline uint64_t weft_trace_where(enum weft_call_number call, const void *site)
{
    return ((uint64_t)call << WEFT_TRACE_CALL_AT) + (uint64_t)(uintptr_t)site;
}

/* Stores an event into a slot; one thread at a time. */
static inline void weft_trace_store_at(struct weft_trace_slot *slot, uint64_t when,
                                       enum weft_call_number call, const void *site,
                                       uint32_t context, int32_t peer, int32_t tag,
                                       uint32_t bytes)
{
    atomic_store_explicit(&slot->when, when, memory_order_release);
    atomic_store_explicit(&slot->where, weft_trace_where(call, site),
                          memory_order_release);
    atomic_store_explicit(&slot->context, context, memory_order_release);
    atomic_store_explicit(&slot->peer, peer, memory_order_release);
    atomic_store_explicit(&slot->tag, tag, memory_order_release);
    atomic_store_explicit(&slot->bytes, bytes, memory_order_release);
}

static inline void weft_trace_store(struct weft_trace_slot *slot,
                                    enum weft_call_number call, const void *site,
                                    uint32_t context, int32_t peer, int32_t tag,
                                    uint32_t bytes)
{
    weft_trace_store_at(slot, weft_trace_ticks(), call, site, context, peer, tag, bytes);
}

/* The time of an event that has none yet. */
static inline void weft_trace_set_time(struct weft_trace_slot *slot)
{
    atomic_store_explicit(&slot->when, weft_trace_ticks(), memory_order_release);
}

/* Notes the moment at which the rank begins. */
void weft_trace_begin(struct weft_trace *trace);

/* Writes the table of modules; one thread at a time. */
void weft_trace_write_modules(struct weft_trace *trace,
                              const struct weft_trace_module *modules, uint32_t count);

#endif
