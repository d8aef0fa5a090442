/*
 * segment.h - the job segment: one sparse memfd per node for all that its ranks share.
 *
 *     +--------+-----------------+-------+--------+---------+- - - -+---------+- - - -
 *     | header | map: 8 bytes    | slots | failed | slice 0 |       | slice n | heap
 *     |        | per rank of job |       | ranks  |         |       |         |
 *     +--------+-----------------+-------+--------+---------+- - - -+---------+- - - -
 *
 * A slot says which process has the slice of the same number. Local ranks have the first
 * slots; the spare ones behind them are for processes that are started later, and are
 * address space only.
 *
 * It is made by mpiexec before the ranks exist, or by the node's first rank under another
 * launcher, and mapped whole, but for the heap, by every rank. Only what is used takes
 * memory. All-zero is a valid empty state of everything behind the header, so a rank can
 * write to another's slice before that one has started, and nobody has to wait.
 *
 * The header is written once, before anyone else can see the segment, but for the secret,
 * which under another launcher is there when the handover is through. Its layout version
 * must be ours, else the segment is not used. Ownership: weft_segment_close() unmaps and
 * closes; the memory lives on while another rank has it.
 */
#ifndef WEFT_WIREUP_SEGMENT_H
#define WEFT_WIREUP_SEGMENT_H

#include "base/rc.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEFT_SEGMENT_MAGIC UINT64_C(0x62f0746665775f6a)

enum {
    WEFT_SEGMENT_LAYOUT = 6, /* changes with the packets in it too (engine/wire.h) */
    WEFT_SEGMENT_SLICE_BYTES = 4 * 1024 * 1024, /* sparse: touched when used */
    WEFT_SEGMENT_SPARE_SLOTS = 16,
    WEFT_SEGMENT_CPU_BYTES = 128, /* a set of up to 1,024 processors */
    WEFT_SEGMENT_SECRET_BYTES = 32,
    WEFT_CAUSE_BYTES = 512,
};

/* What every slot has of the heap: bytes of the file, which take memory when used. */
#define WEFT_SEGMENT_RANGE_BYTES (UINT64_C(64) << 30)

/* Where a rank of the job lives. */
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
};
_Static_assert(sizeof(struct weft_segment_header) == 512, "layout version 5");

enum weft_slot_state {
    WEFT_SLOT_FREE = 0, /* spare */
    WEFT_SLOT_PLANNED,  /* a process is to come */
    WEFT_SLOT_ATTACHED, /* it has mapped this segment */
};

/* Whose slice has the same number. */
struct weft_slot_entry {
    _Atomic uint64_t process; /* weft_process(); written before the state */
    _Atomic uint32_t state;   /* enum weft_slot_state; release after the rest */
    int32_t pid;              /* in the namespace of its own; 0: not known yet */
};
_Static_assert(sizeof(struct weft_slot_entry) == 16, "layout version 5");

/*
 * Ranks of the job, on this node or another, that have ended while the others go on; in
 * the order in which the launcher, the only writer, has heard of them. Release after the
 * rank, which pairs with the acquire of who reads the count.
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

/* What a rank that sleeps in MPI waits for, so that a stuck job can be explained. */
struct weft_sleep {
    _Atomic uint32_t is_asleep; /* release after the rest */
    int32_t peer;               /* rank in the communicator, or -1 for any */
    int32_t tag;                /* or -2 for any */
    uint32_t reserved;
    uint64_t bytes;
    uint64_t since_ns; /* monotonic */
    char call[32];
    char comm[64];
};
_Static_assert(sizeof(struct weft_sleep) == 128, "layout version 5");

/* The first page of a rank's slice. */
struct weft_slice {
    _Atomic uint32_t state; /* enum weft_slice_state; release after code and cause */
    int32_t code;           /* of MPI_Abort, or the error class */
    uint32_t app; /* which program of an MPMD job; written by mpiexec, before the start */
    uint32_t reserved;
    struct weft_sleep sleep;
    char cause[WEFT_CAUSE_BYTES];
    _Atomic uint32_t
        arrived; /* the generation after the barrier that the rank has come to */
    _Atomic uint32_t bell_at; /* bytes to a futex to be rung when one is lost; or 0 */
};
_Static_assert(sizeof(struct weft_slice) == 664, "layout version 5");

struct weft_segment {
    struct weft_segment_header *header;
    size_t mapped;
    int fd;
    /* Where things lie: a copy of the header's numbers, which no stray write of another
     * process reaches. The functions below use these. */
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

/* What a new segment has to know. */
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
 * Makes a segment; the caller then fills map and slots. `fd` is close-on-exec, and
 * its size is sealed: no process that has it can make another's access fail. The job's
 * secret is filled in, and the processors: the caller's, if it is a launcher; else all
 * that are online, because a rank may be bound to a part of what the job has.
 */
WEFT_MUST_CHECK enum weft_rc weft_segment_create(const struct weft_segment_plan *plan,
                                                 struct weft_segment *out);

/*
 * Maps the segment behind `fd`, which the segment owns from then on and which becomes
 * close-on-exec. WEFT_ERR_ARGUMENT: no segment; WEFT_ERR_UNSUPPORTED: another layout.
 * Then nothing was taken.
 */
WEFT_MUST_CHECK enum weft_rc weft_segment_attach(int fd, struct weft_segment *out);

/* Is `fd` a file that this user owns and nobody else can read, write or reach by another
 * name? */
bool weft_segment_is_private(int fd);

void weft_segment_close(struct weft_segment *segment);

struct weft_location *weft_segment_map(const struct weft_segment *segment);
struct weft_slot_entry *weft_segment_slot(const struct weft_segment *segment,
                                          uint32_t local_rank);
struct weft_slice *weft_segment_slice(const struct weft_segment *segment,
                                      uint32_t local_rank);

/* Gives a slot to a rank of this job; before others see the segment. */
void weft_segment_plan_slot(const struct weft_segment *segment, uint32_t local_rank,
                            uint32_t rank);

/* Which rank of the job has a slot that was given to one. */
uint32_t weft_segment_rank(const struct weft_segment *segment, uint32_t local_rank);

/* Has the process of this slot mapped the segment? */
bool weft_segment_is_attached(const struct weft_segment *segment, uint32_t local_rank);

/*
 * Takes a rank's slice for this process. False: another process has had it, whose
 * messages and state it holds, so that it must not be used.
 */
WEFT_MUST_CHECK bool weft_segment_claim(const struct weft_segment *segment,
                                        uint32_t local_rank);

/* Counts this rank among those that have mapped the segment; returns how many have. */
uint32_t weft_segment_join(const struct weft_segment *segment, uint32_t local_rank);

/*
 * The barrier of all local ranks: true for the last to arrive, who has released the
 * others; they wait until header->generation is no longer *generation (base/wait.h, with
 * header->sleepers). Nobody waits for a rank that was lost: who sees the list of failed
 * ranks grow while it waits calls weft_segment_release().
 */
bool weft_segment_arrive(const struct weft_segment *segment, uint32_t local_rank,
                         uint32_t *generation);

/* Ends this generation of the barrier if all that are left have arrived; false: they have
 * not.
 */
bool weft_segment_release(const struct weft_segment *segment, uint32_t generation);

/* Have all come to this generation of the barrier, those included that were lost since?
 */
bool weft_segment_all_came(const struct weft_segment *segment, uint32_t generation);

/* How many ranks of the job have failed, and the nth of them. */
const _Atomic uint32_t *weft_segment_failed_count(const struct weft_segment *segment);
uint32_t weft_segment_failed(const struct weft_segment *segment, uint32_t n);

/*
 * For the launcher: this rank of the job, on any node, has ended without MPI_Finalize,
 * and the others are to go on. Appends it to the list and rings all.
 */
void weft_segment_fail(const struct weft_segment *segment, uint32_t rank);

/* For the launcher: the same of a rank of this node, and why. */
void weft_segment_lose(const struct weft_segment *segment, uint32_t local_rank,
                       const char *cause);

/* Why a rank was lost, or NULL if it was not. */
const char *weft_segment_why_lost(const struct weft_segment *segment,
                                  uint32_t local_rank);

/* Writes why a rank ends the job; safe from any thread, the first one counts. */
void weft_slice_abort(struct weft_slice *slice, int code, const char *cause);

/* What a rank has written about its end: a copy that does not change any more. */
struct weft_slice_end {
    enum weft_slice_state state;
    int code;                     /* 1 to 255, if the rank has aborted; else 0 */
    char cause[WEFT_CAUSE_BYTES]; /* one line, if the rank has aborted; else "" */
};

/*
 * For the launcher, about a rank that it has not marked as lost. False if the slice holds
 * what no rank writes: a stray write of some rank has overwritten it. Then `end` says
 * nothing.
 */
bool weft_slice_read_end(const struct weft_slice *slice, struct weft_slice_end *end);

#endif
