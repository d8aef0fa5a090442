/*
 * parts.h - what this process knows of the memory of every member of a window.
 *
 * Each member says it once, when the window is made. A column is one number of all
 * members, by rank. Most columns are equal for all, or grow evenly with the rank: they
 * are kept as a formula. Other columns are kept as tables with a number for each rank.
 * The tables are in memory that all members on the node map (near.h): one of them writes
 * them before any other reads. A window without such memory has tables of its own.
 *
 * Threads. Columns are made with the window and do not change, so they are read without
 * the lock.
 */
#ifndef WEFT_RMA_PARTS_H
#define WEFT_RMA_PARTS_H

#include "node/heap.h"
#include "transport/transport.h"

/* How members are reached: a part's `access`. */
enum {
    WEFT_PART_HAS_KEY = 1 << 0,     /* its memory is registered with the network */
    WEFT_PART_BY_MESSAGES = 1 << 1, /* it wants everything to go by messages */
};

/* A member's memory, as all members know it: a number of each column. */
struct weft_win_part {
    uint64_t base; /* its address there; in a shared window, where it begins in the
                      memory of all */
    uint64_t size;
    uint64_t unit; /* bytes for a displacement of 1 */
    uint64_t access;
    struct weft_extent memory; /* of the segment's heap that it is in; or of 0 bytes */
    struct weft_key key;       /* if access says so */
};
enum { WEFT_PART_COLUMNS = 8 };
_Static_assert(sizeof(struct weft_win_part) == WEFT_PART_COLUMNS * sizeof(uint64_t),
               "a part is a number of each column");

/* What a member tells all others when a window is made. */
struct weft_win_offer {
    struct weft_win_part part;
    struct weft_extent board; /* of its node (near.h), if it is the first there */
    int64_t rc;               /* of its part of the creation, enum weft_rc */
};
_Static_assert(sizeof(struct weft_win_offer) == 88, "travels");

struct weft_column {
    const uint64_t *values; /* by rank; NULL: first + rank * step */
    uint64_t first;
    uint64_t step; /* modulo 2^64 */
};

struct weft_win_parts {
    struct weft_column columns[WEFT_PART_COLUMNS];
    uint64_t *own; /* tables that are not in shared memory, or NULL */
};

/* Bytes that the tables of a window with `n` members take at most. */
static inline size_t weft_win_parts_most(int n)
{
    return (size_t)n * sizeof(struct weft_win_part);
}

/* Writes the tables that are needed, one behind the other, to memory of
 * weft_win_parts_most(). Returns their bytes. */
size_t weft_win_parts_write(uint64_t *tables, const struct weft_win_offer *offers, int n);

/* Finds the formulas. `tables` are those that a member has written, and stay; or NULL:
 * they are allocated here, for weft_win_parts_close(). */
WEFT_MUST_CHECK enum weft_rc weft_win_parts_make(struct weft_win_parts *parts,
                                                 const struct weft_win_offer *offers,
                                                 int n, const uint64_t *tables);
void weft_win_parts_close(struct weft_win_parts *parts);

static inline uint64_t weft_column_read(const struct weft_column *column, int rank)
{
    return column->values != NULL ? column->values[rank]
                                  : column->first + (uint64_t)rank * column->step;
}

/* The whole part, and two numbers of it. */
struct weft_win_part weft_win_part_of(const struct weft_win_parts *parts, int rank);

static inline uint64_t weft_win_size_of(const struct weft_win_parts *parts, int rank)
{
    return weft_column_read(
        &parts->columns[offsetof(struct weft_win_part, size) / sizeof(uint64_t)], rank);
}

static inline uint64_t weft_win_unit_of(const struct weft_win_parts *parts, int rank)
{
    return weft_column_read(
        &parts->columns[offsetof(struct weft_win_part, unit) / sizeof(uint64_t)], rank);
}

#endif
