/*
 * doing.h - what a rank of a job that hangs waits for, as its slice says it.
 *
 * A rank writes its record when a wait has lasted so long that it is about to sleep, and
 * now and then while it spins in MPI_Test or MPI_Iprobe; it clears the record when the
 * wait is over. The launcher reads it from another process, at any time. So the record is
 * under a sequence lock: its version is odd while it is written, and who reads it reads
 * again if the version was odd or has changed.
 *
 * Two counters stand beside it, each a word that one process writes. Together with `done`
 * they tell the watcher whether a rank moves; the watcher has the clock, so that a rank
 * need not look at one.
 */
#ifndef WEFT_WIREUP_DOING_H
#define WEFT_WIREUP_DOING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_DOING_MESSAGES = 4, /* of each list */
    WEFT_DOING_UNKNOWN = -3, /* no rank */
};

enum weft_doing_what {
    WEFT_DOING_NOTHING = 0, /* no thread waits in MPI */
    WEFT_DOING_RECV,        /* for a message, whatever the call */
    WEFT_DOING_SEND,        /* for a message of ours to be taken */
    WEFT_DOING_PROBE,
    WEFT_DOING_COLLECTIVE,
    WEFT_DOING_PARTS_IN,  /* a partitioned receive */
    WEFT_DOING_PARTS_OUT, /* a partitioned send */
    WEFT_DOING_OTHER,     /* see the lists */
    WEFT_DOING_KINDS,
};

/* A message, or a receive. A rank in the communicator, and in the job, or -1: any. */
struct weft_doing_message {
    uint32_t context; /* of the communicator, and the plane (core/comm.h) */
    int32_t peer;
    int32_t rank;
    int32_t tag; /* or -2: any */
    uint64_t bytes;
    char comm[24]; /* its name; empty: not known */
};
_Static_assert(sizeof(struct weft_doing_message) == 48,
               "its layout is that of WEFT_SEGMENT_LAYOUT");

struct weft_doing {
    uint32_t what;        /* enum weft_doing_what */
    uint32_t is_spinning; /* it does not wait: it tests or probes, again and again */
    uint32_t comm_size;   /* 0: not known */
    int32_t comm_lead;    /* the job's rank that is rank 0 there */
    uint32_t awaited;     /* requests that the call waits for */
    uint32_t threads;     /* that wait in MPI */
    uint32_t parts;       /* of a partitioned message */
    uint32_t parts_ready;
    uint32_t posted_count; /* receives of which `posted` has the oldest */
    uint32_t sending_count;
    uint32_t unexpected_count;
    uint32_t is_full; /* there is no room for more of these */
    uint64_t done;    /* messages, receives and pieces of work so far */
    char call[32];
    char begun_by[32]; /* the function whose request is waited for; empty: `call` */
    char comm[40];
    /* What the call waits for, by `what`. Of a blocking collective `tag` is its number on
     * the communicator, 0 if that is not known, `peer` its root or -1, and `bytes` those
     * of a block. */
    struct weft_doing_message awaits;
    struct weft_doing_message posted[WEFT_DOING_MESSAGES];
    struct weft_doing_message sending[WEFT_DOING_MESSAGES];
    struct weft_doing_message unexpected[WEFT_DOING_MESSAGES];
};
_Static_assert(sizeof(struct weft_doing) == 784,
               "its layout is that of WEFT_SEGMENT_LAYOUT");

enum { WEFT_DOING_WORDS = sizeof(struct weft_doing) / sizeof(uint64_t) };

/* As it lies in the slice; all-zero is a rank that waits for nothing. */
struct weft_doing_record {
    _Atomic uint32_t version; /* odd: it is being written */
    uint32_t reserved;
    _Atomic uint64_t waits; /* that have lasted longer than the first polls */
    _Atomic uint64_t polls; /* of MPI_Test, MPI_Iprobe and their like */
    _Atomic uint64_t words[WEFT_DOING_WORDS];
};
_Static_assert(sizeof(struct weft_doing_record) == 808,
               "its layout is that of WEFT_SEGMENT_LAYOUT");

/* One thread at a time writes. */
void weft_doing_write(struct weft_doing_record *record, const struct weft_doing *doing);
void weft_doing_clear(struct weft_doing_record *record);

/* Writes a text into a field of this size, as much of it as fits. */
void weft_doing_copy(char *to, size_t size, const char *text);

/* Counts one more; one thread at a time. */
static inline void weft_doing_count(_Atomic uint64_t *counter)
{
    atomic_store_explicit(counter,
                          atomic_load_explicit(counter, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/*
 * A copy that does not change. Whatever the slice holds, numbers are in their ranges and
 * texts printable and terminated. False: it was written all the time.
 */
bool weft_doing_read(const struct weft_doing_record *record, struct weft_doing *out);

/* Makes of a copy that came another way what weft_doing_read() gives. */
void weft_doing_check(struct weft_doing *doing);

#endif
