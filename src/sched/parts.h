/*
 * parts.h - how a partitioned message is cut: arithmetic, without state.
 *
 * The sender's partitions travel in units, each one message: a partition each, or, where
 * there are more than WEFT_MOST_UNITS, as many neighbours as it takes to stay below. A
 * message without bytes is one unit. What the sender tells the receiver, weft_parts, is
 * enough to find every unit, whatever the receiver's own partitions are.
 */
#ifndef WEFT_SCHED_PARTS_H
#define WEFT_SCHED_PARTS_H

#include <stdint.h>

enum { WEFT_MOST_UNITS = 1024 };

struct weft_parts {
    uint64_t total; /* bytes of the message */
    uint64_t unit;  /* bytes of every unit but the last, which has the rest */
    uint32_t units;
    uint32_t per_unit; /* the sender's partitions that go together, at least 1 */
};

/* Some units, from the first up to but not including the end. */
struct weft_units {
    uint32_t first;
    uint32_t end;
};

/* Cuts a message of `partitions` partitions of `partition_bytes` bytes each. */
struct weft_parts weft_parts_cut(uint32_t partitions, uint64_t partition_bytes);

/* How many of the partitions are in this unit. */
uint32_t weft_parts_in_unit(const struct weft_parts *parts, uint32_t partitions,
                            uint32_t unit);

/* Where a unit begins, and how long it is. */
uint64_t weft_parts_offset(const struct weft_parts *parts, uint32_t unit);
uint64_t weft_parts_length(const struct weft_parts *parts, uint32_t unit);

/* The units that hold the bytes `begin` to `end`. For no bytes, all units: a partition
 * without bytes has arrived when the whole message has. */
struct weft_units weft_parts_covering(const struct weft_parts *parts, uint64_t begin,
                                      uint64_t end);

#endif
