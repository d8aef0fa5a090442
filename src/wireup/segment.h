/*
 * segment.h - the job segment: one sparse memfd per node for all that its ranks share.
 *
 *     +--------+-----------------+-------+--------+---------+- - - -+---------+- - - -
 *     | header | map: 8 bytes    | slots | failed | slice 0 |       | slice n | heap
 *     |        | per rank of job |       | ranks  |         |       |         |
 *     +--------+-----------------+-------+--------+---------+- - - -+---------+- - - -
 *
 * A slot says which process owns the slice of the same number. Local ranks have the first
 * slots. The spare slots behind them are for processes that are started later; until then
 * they take address space only.
 *
 * mpiexec makes the segment before the ranks exist; under another launcher the node's
 * first rank makes it. Every rank maps all of it except the heap. Only pages that are
 * used take memory. Zeroes are the valid empty state of everything behind the header: a
 * rank can write to the slice of another one before that one has started, and no rank
 * waits.
 *
 * The header is written once, before other processes see the segment. The secret is an
 * exception: under another launcher it is written during the handover (handover.h). A
 * segment whose layout version is not ours is not used. weft_segment_close() unmaps it
 * and closes its descriptor; the kernel frees the memory when the last process has done
 * so.
 */
#ifndef WEFT_WIREUP_SEGMENT_H
#define WEFT_WIREUP_SEGMENT_H

#include "base/rc.h"
#include "wireup/doing.h"
#include "wireup/trace.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_SEGMENT_MAGIC UINT64_C(0x62f0746665775f6a)

enum {
    WEFT_SEGMENT_LAYOUT = 18, /* changes also when packets change (engine/wire.h) */
    WEFT_SEGMENT_TRACE_AT = 4 * 1024 * 1024, /* bytes into a slice: the end of the rest */
    WEFT_SEGMENT_SLICE_BYTES =               /* sparse: touched when used */
    WEFT_SEGMENT_TRACE_AT + sizeof(struct weft_trace),
    WEFT_SEGMENT_SPARE_SLOTS = 16,
    WEFT_SEGMENT_CPU_BYTES = 128, /* a set of up to 1,024 processors */
    WEFT_SEGMENT_SECRET_BYTES = 32,
    WEFT_CAUSE_BYTES = 512,
    WEFT_SAID_BYTES = 60,
    WEFT_SAME_SETTINGS = 4, /* same.h */
};

/* Bytes of the heap that belong to each slot; pages of them take memory when used. */
#define WEFT_SEGMENT_RANGE_BYTES (UINT64_C(64) << 30)

/* On which node a rank of the job runs, and its number there. */
struct weft_location {
    uint32_t node;
    uint32_t local_rank;
};
_Static_assert(sizeof(struct weft_location) == 8, "the map has 8 bytes per rank");

struct weft_segment_header {
    uint64_t magic;
    uint32_t layout;
    uint32_t header_bytes;
    uint64_t bytes;      /* of the whole segment */
    uint32_t job;        /* tells jobs apart: the upper half of its processes' identity */
    uint32_t slot_count; /* local ranks, and spare ones */
    uint32_t job_size;
    uint32_t node_count;
    uint32_t node; /* this one */
    uint32_t local_size;
    uint64_t map_at;    /* struct weft_location [job_size] */
    uint64_t slots_at;  /* struct weft_slot_entry [slot_count] */
    uint64_t failed_at; /* struct weft_failed_log, with room for job_size ranks */
    uint64_t slices_at;
    uint64_t slice_bytes;
    uint64_t heap_at;
    uint64_t heap_bytes; /* a range for each slot; 0: no file may be that large */
    uint32_t cpu_count;  /* processors that the job may use on this node */
    /* Not 0: the kernel refuses membarrier() to a rank (node/doorbell.c). */
    _Atomic uint32_t is_barrier_refused;
    uint8_t cpu_set[WEFT_SEGMENT_CPU_BYTES];
    uint8_t secret[WEFT_SEGMENT_SECRET_BYTES];

    /* The barrier of all local ranks; each on its own cache line. */
    _Alignas(64) _Atomic uint32_t arrived;
    _Alignas(64) _Atomic uint32_t generation;
    _Atomic uint32_t sleepers;
    _Alignas(64) _Atomic uint32_t attached; /* ranks that have mapped the segment */
    /* The first rank of the node that wrote its settings, counted from 1; 0: none.
     * Release after them (same.h). */
    _Atomic uint32_t first_said;
};
_Static_assert(sizeof(struct weft_segment_header) == 512,
               "its layout is that of WEFT_SEGMENT_LAYOUT");

enum weft_slot_state {
    WEFT_SLOT_FREE = 0, /* spare */
    WEFT_SLOT_PLANNED,  /* a process is to come */
    WEFT_SLOT_ATTACHED, /* it has mapped this segment */
};

/* Names the process that owns the slice of the same number. */
struct weft_slot_entry {
    _Atomic uint64_t process; /* weft_process(); written before the state */
    _Atomic uint32_t state;   /* enum weft_slot_state; release after the rest */
    int32_t pid;              /* as that process sees it (PID namespaces); 0: unknown */
};
_Static_assert(sizeof(struct weft_slot_entry) == 16,
               "its layout is that of WEFT_SEGMENT_LAYOUT");

/*
 * The ranks of the job, on any node, that have failed while the others go on, in the
 * order in which the launcher heard of them. Only the launcher writes it. It stores the
 * count with release order after the rank; readers load the count with acquire order.
 */
struct weft_failed_log {
    _Atomic uint32_t count;
    uint32_t rank[];
};

enum weft_slice_state {
    WEFT_SLICE_EMPTY = 0, /* the rank has not called MPI_Init */
    WEFT_SLICE_OPEN,
    WEFT_SLICE_CLOSED,  /* it has called MPI_Finalize */
    WEFT_SLICE_ABORTED, /* `code` and `cause` are valid */
    WEFT_SLICE_LOST,    /* it has ended, and others go on; `cause` is valid */
};

/* The value of a setting on one rank: a checksum, and the beginning of its text. */
struct weft_said {
    uint32_t sum;
    char text[WEFT_SAID_BYTES];
};

/* The first page of a rank's slice. */
struct weft_slice {
    _Atomic uint32_t state; /* enum weft_slice_state; release after code and cause */
    int32_t code;           /* of MPI_Abort, or the error class */
    uint32_t app; /* which program of an MPMD job; written by mpiexec, before the start */
    /* 1: two threads have waited in MPI at a time, below MPI_THREAD_MULTIPLE. */
    _Atomic uint32_t has_met;
    struct weft_doing_record doing; /* what it waits for */
    char cause[WEFT_CAUSE_BYTES];
    _Atomic uint32_t
        arrived; /* the generation after the barrier at which the rank has arrived */
    _Atomic uint32_t
        bell_at; /* offset of a futex that is rung when a rank is lost; or 0 */
    struct weft_said
        said[WEFT_SAME_SETTINGS]; /* complete once first_said names the rank */
};
_Static_assert(sizeof(struct weft_slice) == 1600,
               "its layout is that of WEFT_SEGMENT_LAYOUT");

struct weft_segment {
    struct weft_segment_header *header;
    size_t mapped;
    int fd;
    /* A copy of the header's numbers, which stray writes of other processes cannot
     * change. The functions below use the copy. */
    uint64_t map_at;
    uint64_t slots_at;
    uint64_t failed_at;
    uint64_t slices_at;
    uint64_t slice_bytes;
    uint64_t heap_at;
    uint64_t heap_bytes;
    uint32_t job;
    uint32_t job_size;
    uint32_t local_size;
    uint32_t slot_count;
};

/* The arguments of weft_segment_create(). */
struct weft_segment_plan {
    uint32_t job;
    uint32_t job_size;
    uint32_t node_count;
    uint32_t node;
    uint32_t local_size;
    bool is_by_launcher;   /* the caller's own affinity is the whole job's on this node */
    const uint8_t *secret; /* the job's; NULL: a new one */
};

/*
 * Makes a segment with a header; the caller then fills the map and the slots. `fd` is
 * close-on-exec, and its size is sealed, so that no process can truncate it under
 * another; where memfd_create is refused, see backing.h. The set of processors is the
 * caller's own, if it is a launcher; otherwise it is all that are online, because a rank
 * may be bound to a part of the job's processors.
 */
WEFT_MUST_CHECK enum weft_rc weft_segment_create(const struct weft_segment_plan *plan,
                                                 struct weft_segment *out);

/*
 * Maps the segment behind `fd`, which the segment owns from then on and which becomes
 * close-on-exec. WEFT_ERR_ARGUMENT: it is no segment; WEFT_ERR_UNSUPPORTED: it has
 * another layout. On an error the caller still owns `fd`.
 */
WEFT_MUST_CHECK enum weft_rc weft_segment_attach(int fd, struct weft_segment *out);

/* Is `fd` a file that this user owns and nobody else can read, write or reach by another
 * name? */
bool weft_segment_is_private(int fd);

/* Unmaps the segment and closes its descriptor. */
void weft_segment_close(struct weft_segment *segment);

/* The map, a slot and a slice; `local_rank` is below slot_count. */
struct weft_location *weft_segment_map(const struct weft_segment *segment);
struct weft_slot_entry *weft_segment_slot(const struct weft_segment *segment,
                                          uint32_t local_rank);
struct weft_slice *weft_segment_slice(const struct weft_segment *segment,
                                      uint32_t local_rank);

/* The black box in a slice: the last of it. */
static inline struct weft_trace *weft_slice_trace(const struct weft_slice *slice)
{
    return (struct weft_trace *)((uintptr_t)slice + WEFT_SEGMENT_TRACE_AT);
}

/* Gives a slot to a rank of this job, before other processes see the segment. */
void weft_segment_plan_slot(const struct weft_segment *segment, uint32_t local_rank,
                            uint32_t rank);

/* The rank of the job to which a slot was given. */
uint32_t weft_segment_rank(const struct weft_segment *segment, uint32_t local_rank);

/* Has the process of this slot mapped the segment? */
bool weft_segment_is_attached(const struct weft_segment *segment, uint32_t local_rank);

/*
 * Takes the slice of a rank for this process. False: another process has used it before.
 * The slice holds the messages and the state of that process and must not be used.
 */
WEFT_MUST_CHECK bool weft_segment_claim(const struct weft_segment *segment,
                                        uint32_t local_rank);

/* Counts this rank among those that have mapped the segment; returns how many have. */
uint32_t weft_segment_join(const struct weft_segment *segment, uint32_t local_rank);

/*
 * Arrives at the barrier of all local ranks. True: this rank was the last one and has
 * released the others. False: the caller waits until header->generation differs from
 * *generation (base/wait.h, with header->sleepers). The barrier does not wait for lost
 * ranks: a waiting rank that sees the list of failed ranks grow calls
 * weft_segment_release().
 */
bool weft_segment_arrive(const struct weft_segment *segment, uint32_t local_rank,
                         uint32_t *generation);

/* Ends this generation of the barrier if all ranks that are not lost have arrived; false:
 * one has not. */
bool weft_segment_release(const struct weft_segment *segment, uint32_t generation);

/* Has that local rank arrived at this generation of the barrier? */
bool weft_segment_has_come(const struct weft_segment *segment, uint32_t local_rank,
                           uint32_t generation);

/* Has every local rank arrived at this generation of the barrier, including ranks that
 * were lost later? */
bool weft_segment_all_came(const struct weft_segment *segment, uint32_t generation);

/* The number of failed ranks of the job, and the nth of them. */
const _Atomic uint32_t *weft_segment_failed_count(const struct weft_segment *segment);
uint32_t weft_segment_failed(const struct weft_segment *segment, uint32_t n);

/* Is this rank one of them? */
bool weft_segment_has_failed(const struct weft_segment *segment, uint32_t rank);

/*
 * For the launcher: a rank of the job, on any node, has ended without MPI_Finalize, and
 * the others go on. Appends it to the list of failed ranks and wakes all local ranks.
 */
void weft_segment_fail(const struct weft_segment *segment, uint32_t rank);

/* For the launcher: marks a rank of this node as lost, with the cause, and does what
 * weft_segment_fail() does. */
void weft_segment_lose(const struct weft_segment *segment, uint32_t local_rank,
                       const char *cause);

/* The cause for which a rank was lost, or NULL if it was not. */
const char *weft_segment_why_lost(const struct weft_segment *segment,
                                  uint32_t local_rank);

/* Writes code and cause for which this rank ends the job. Any thread may call it; only
 * the first call counts. */
void weft_slice_abort(struct weft_slice *slice, int code, const char *cause);

/* A copy of what a rank has written about its end. */
struct weft_slice_end {
    enum weft_slice_state state;
    int code;                     /* 1 to 255, if the rank has aborted; else 0 */
    char cause[WEFT_CAUSE_BYTES]; /* one line, if the rank has aborted; else "" */
};

/*
 * For the launcher: reads how a rank has ended that is not marked as lost. False: the
 * slice holds values that no rank writes, so a stray write of some rank has overwritten
 * it; then `end` is not filled in.
 */
bool weft_slice_read_end(const struct weft_slice *slice, struct weft_slice_end *end);

#endif
