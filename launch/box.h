/*
 * box.h - the black box: what the ranks of a job have done last, as tables, lines and a
 * file for Perfetto.
 *
 *   box_read.c   from the slice of a rank to its row of the table
 *   box_pack.c   rows on their way from a daemon to the root
 *   box_words.c  the lines that mpiexec prints when a job has failed
 *   box_file.c   the file for Perfetto
 *   black_box.c  who asks and who answers; the job's part (job_parts.h)
 *
 * But for the last one these are functions of what they are given: they know no job.
 */
#ifndef WEFT_LAUNCH_BOX_H
#define WEFT_LAUNCH_BOX_H

#include "bytes.h"

#include "wireup/doing.h"
#include "wireup/trace.h"

#include <stdbool.h>
#include <stdint.h>

enum box_life {
    BOX_SILENT,    /* its host has not answered */
    BOX_NOT_BEGUN, /* it has not called MPI_Init */
    BOX_OPEN,      /* it has, and not MPI_Finalize */
    BOX_FINALIZED,
    BOX_ABORTED,
    BOX_LIVES,
};

/* The beginning of a call. */
struct box_event {
    uint64_t when; /* ns of CLOCK_REALTIME */
    uint32_t context;
    int32_t peer;
    int32_t tag;
    uint32_t bytes;
    uint32_t call;
    uint32_t site; /* an index of `sites`; 0: not known */
};
_Static_assert(sizeof(struct box_event) == 32, "frames have them so");

struct box_rank {
    enum box_life life;
    bool is_open;    /* the last event's call has not returned */
    bool has_ended;  /* its process has; `status` is what waitpid() has said */
    bool has_fallen; /* by itself, and too early; not because mpiexec has ended it */
    int status;
    uint64_t ended;    /* ns; or when it was looked at */
    uint64_t left_out; /* older events that were recorded */
    struct weft_doing doing;
    struct box_event *events; /* oldest first */
    int count;
};

struct box {
    struct box_rank *ranks; /* one for each rank of the job, or of a host */
    int count;
    char **sites; /* texts; the first is "" */
    int site_count;
};

enum {
    BOX_SITES = 4096,    /* call sites of a job that are told apart */
    BOX_SITE_TEXT = 240, /* bytes of one */
    BOX_MOST = WEFT_TRACE_EVENTS,
};

/* False: no memory. */
bool box_open(struct box *box, int ranks);
void box_close(struct box *box);

/* The number of a call site; adds it if it is new. */
uint32_t box_site(struct box *box, const char *text);

/* ---- reading ---- */

/* What is kept of a rank's events. */
struct box_wish {
    int most;         /* events of a rank */
    uint64_t from_ns; /* none before */
};

/* Fills the events of a rank from its trace; the rest of the row is the caller's.
 * `name` names call sites; NULL: they stay unknown. */
typedef const char *box_site_fn(void *owner, const struct weft_trace_module *modules,
                                int count, uint64_t address);
void box_read(struct box *box, int rank, const struct weft_trace_copy *copy,
              const struct box_wish *wish, box_site_fn *name, void *owner);

/* ---- frames ---- */

/* Appends all rows of a host to `to`. */
void box_pack(const struct box *box, struct bytes *to);

/*
 * Puts the rows of a host into those of a job, from row `first` on. `offset` is how much
 * the clock of that host is ahead of ours. False: it is not what box_pack() makes; then
 * the rows say nothing.
 */
bool box_unpack(struct box *box, int first, int count, int64_t offset, const char *from,
                size_t bytes);

/*
 * How much a clock is ahead of ours: of several questions the one with the shortest round
 * trip counts, because it leaves the least doubt. All-zero: no answer yet.
 */
struct box_clock {
    int64_t offset;
    uint64_t round_trip;
    int answers;
};
void box_clock_note(struct box_clock *clock, uint64_t sent, uint64_t there,
                    uint64_t back);

/* ---- words ---- */

/* Adds lines, each with its end: the last calls of the rank that has fallen first, at
 * most `most`, and what the others did. */
void box_report(const struct box *box, int first, int most, struct bytes *to);

/* How long before: "12.3 ms", for columns. */
void box_print_age(char *text, size_t size, uint64_t ns);

/* ---- the file ---- */

struct box_host {
    const char *name;
    int first; /* its ranks: their places (hosts.h) */
    int count;
    struct box_clock clock;
};

struct box_file {
    const struct box *box;
    const struct box_host *hosts;
    int host_count;
    const int *rank_at; /* the rank at each place; NULL: the same */
    const char *program;
    double seconds; /* that it has at most */
    int fallen;     /* the rank that has fallen first, or -1 */
};

/* What a file has. */
struct box_counts {
    uint64_t events;
    uint64_t left_out;
};

/* Writes the file; 0, or errno. */
int box_write(const char *path, const struct box_file *file, struct box_counts *counts);

/* ---- between its files ---- */

/* The name of a communicator, or "" if it is not known. */
const char *box_comm_name(const struct box *box, uint32_t context);

/* Peer, tag, bytes and communicator of an event, as " from 0, tag 5, 8 bytes on 'x'". */
void box_describe(const struct box *box, const struct box_event *event, char *text,
                  size_t size);

#endif
