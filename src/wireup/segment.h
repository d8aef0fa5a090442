/*
 * segment.h - the job segment: one sparse memfd per node for all that its ranks share.
 *
 *     +--------+-----------------+-------------+---------+- - - -+---------+- - - -
 *     | header | map: 8 bytes    | local ranks | slice 0 |       | slice n | heap
 *     |        | per rank of job |             |         |       |         |
 *     +--------+-----------------+-------------+---------+- - - -+---------+- - - -
 *
 * It is made by mpiexec before the ranks exist, or by the node's first rank under another
 * launcher, and mapped whole, but for the heap, by every rank. Only what is used takes
 * memory. All-zero is a valid empty state of everything behind the header, so a rank can
 * write to another's slice before that one has started, and nobody has to wait.
 *
 * The header is written once, before anyone else can see the segment; its layout version
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
    WEFT_SEGMENT_LAYOUT = 1,
    WEFT_SEGMENT_SLICE_BYTES = 4 * 1024 * 1024, /* sparse: touched when used */
    WEFT_SEGMENT_CPU_BYTES = 128,               /* a set of up to 1,024 processors */
    WEFT_SEGMENT_SECRET_BYTES = 32,
    WEFT_CAUSE_BYTES = 512,
};

/* Where a rank of the job lives. */
struct weft_place {
    uint32_t node;
    uint32_t local_rank;
};
_Static_assert(sizeof(struct weft_place) == 8, "the map has 8 bytes per rank");

struct weft_segment_header {
    uint64_t magic;
    uint32_t layout;
    uint32_t header_bytes;
    uint64_t bytes; /* of the whole segment */
    uint64_t job;   /* a number that tells jobs apart */
    uint32_t job_size;
    uint32_t node_count;
    uint32_t node; /* this one */
    uint32_t local_size;
    uint64_t map_at;    /* struct weft_place [job_size] */
    uint64_t locals_at; /* uint32_t [local_size]: local rank to rank */
    uint64_t slices_at;
    uint64_t slice_bytes;
    uint64_t heap_at;
    uint64_t heap_bytes;
    uint32_t cpu_count; /* processors that the job may use on this node */
    uint32_t reserved;
    uint8_t cpu_set[WEFT_SEGMENT_CPU_BYTES];
    uint8_t secret[WEFT_SEGMENT_SECRET_BYTES];

    /* The barrier of all local ranks; each on its own cache line. */
    _Alignas(64) _Atomic uint32_t arrived;
    _Alignas(64) _Atomic uint32_t turn;
    _Atomic uint32_t sleepers;
    _Alignas(64) _Atomic uint32_t attached; /* ranks that have mapped the segment */
};
_Static_assert(sizeof(struct weft_segment_header) == 512, "layout version 1");

enum weft_slice_state {
    WEFT_SLICE_EMPTY = 0, /* the rank has not called MPI_Init */
    WEFT_SLICE_OPEN,
    WEFT_SLICE_CLOSED,  /* it has called MPI_Finalize */
    WEFT_SLICE_ABORTED, /* `code` and `cause` are valid */
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
_Static_assert(sizeof(struct weft_sleep) == 128, "layout version 1");

/* The first page of a rank's slice. */
struct weft_slice {
    _Atomic uint32_t state; /* enum weft_slice_state; release after code and cause */
    _Atomic uint32_t is_attached; /* the rank has mapped this segment */
    int32_t code;                 /* of MPI_Abort, or the error class */
    uint32_t app; /* which program of an MPMD job; written by mpiexec, before the start */
    struct weft_sleep sleep;
    char cause[WEFT_CAUSE_BYTES];
};
_Static_assert(sizeof(struct weft_slice) == 656, "layout version 1");

struct weft_segment {
    struct weft_segment_header *header;
    size_t mapped;
    int fd;
};

/* What a new segment has to know. */
struct weft_segment_plan {
    uint64_t job;
    uint32_t job_size;
    uint32_t node_count;
    uint32_t node;
    uint32_t local_size;
    bool is_by_launcher;   /* the caller's own affinity is the whole job's on this node */
    const uint8_t *secret; /* the job's; NULL: a new one */
};

/*
 * Makes a segment; the caller then fills map and local ranks. `fd` is close-on-exec. The
 * job's secret is filled in, and the processors: the caller's, if it is a launcher; else
 * all that are online, because a rank may be bound to a part of what the job has.
 */
WEFT_MUST_CHECK enum weft_rc weft_segment_create(const struct weft_segment_plan *plan,
                                                 struct weft_segment *out);

/*
 * Maps the segment behind `fd`, which the segment owns from then on and which becomes
 * close-on-exec. WEFT_ERR_ARGUMENT: no segment; WEFT_ERR_UNSUPPORTED: another layout.
 * Then nothing was taken.
 */
WEFT_MUST_CHECK enum weft_rc weft_segment_attach(int fd, struct weft_segment *out);

void weft_segment_close(struct weft_segment *segment);

struct weft_place *weft_segment_map(const struct weft_segment *segment);
uint32_t *weft_segment_locals(const struct weft_segment *segment);
struct weft_slice *weft_segment_slice(const struct weft_segment *segment,
                                      uint32_t local_rank);

/* Counts this rank among those that have mapped the segment; returns how many have. */
uint32_t weft_segment_join(const struct weft_segment *segment, uint32_t local_rank);

/*
 * The barrier of all local ranks: true for the last to arrive, who has released the
 * others; they wait until header->turn is no longer *turn (progress/wait.h, with
 * header->sleepers).
 */
bool weft_segment_arrive(const struct weft_segment *segment, uint32_t *turn);

/* Writes why a rank ends the job; safe from any thread, the first one counts. */
void weft_slice_abort(struct weft_slice *slice, int code, const char *cause);

#endif
