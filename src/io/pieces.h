/*
 * pieces.h - lists of pieces of a file, compressed, and the merging of such lists.
 *
 * A piece is a range of bytes of the file. Views are monotone: a rank's pieces ascend in
 * the file in the order of its data, so a list of pieces also says where the data of each
 * are, counted in packed bytes. Pieces of one length at one distance from each other are
 * one run, which takes 32 bytes however many they are.
 *
 * An aggregator merges the lists of several ranks into one sequence that ascends in the
 * file. Where pieces of several ranks have bytes in common, the sequence has each of
 * them; of pieces that begin at the same byte, that of the lower source comes first.
 *
 * There is no lock. A list belongs to whoever made it.
 */
#ifndef WEFT_IO_PIECES_H
#define WEFT_IO_PIECES_H

#include "base/rc.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Travels as it is: between processes of one architecture. */
struct weft_io_run {
    uint64_t offset; /* of the first piece in the file */
    uint64_t bytes;  /* of each */
    uint64_t stride; /* from one to the next; 0 if there is one */
    uint64_t count;
};
_Static_assert(sizeof(struct weft_io_run) == 32, "travels");

/* A list that grows. If memory runs out, it remembers that (`rc`) and takes no more. */
struct weft_io_runs {
    struct weft_io_run *run;
    size_t count;
    size_t room;
    enum weft_rc rc;
};

void weft_io_runs_free(struct weft_io_runs *runs);

/*
 * Adds a piece behind the others. It joins the last run if it is behind run number
 * `least`: a list of several parts begins a part with the number of runs there are.
 */
void weft_io_runs_add(struct weft_io_runs *runs, size_t least, uint64_t offset,
                      uint64_t bytes);

/* Are these runs a list that a rank may send: ascending, and inside a part of the file,
 * with this many bytes? */
bool weft_io_runs_are_valid(const struct weft_io_run *run, size_t count, uint64_t start,
                            uint64_t end, uint64_t bytes);

/* A list that is merged with others. */
struct weft_io_source {
    const struct weft_io_run *run; /* the one that is read */
    size_t left;                   /* runs from there on */
    uint64_t index;                /* of the piece in the run */
    uint64_t packed;               /* bytes of all pieces before it */
};

struct weft_io_piece {
    uint64_t offset;
    uint64_t bytes;
    uint64_t packed; /* where its data are among those of the source */
    int source;      /* number of the list */
};

/* Merges; the caller owns both arrays. `heap` has room for a number for each source. */
struct weft_io_merge {
    struct weft_io_source *source;
    int *heap;
    int left; /* sources that have pieces left: those in the heap */
};

void weft_io_merge_start(struct weft_io_merge *merge, int sources);

/* The next piece; false: there is none left. */
bool weft_io_merge_next(struct weft_io_merge *merge, struct weft_io_piece *piece);

#endif
