/*
 * hints.h - what the user has said about a file (MPI-5.0, 14.2.8), and what is used.
 *
 * Keys of the standard, and those that ROMIO has made common, are known. A value that
 * makes no sense leaves what was there. Keys that are not known are ignored.
 * MPI_File_get_info tells all known keys, with the values that are used. Some have one
 * value only: writes are never sieved. Calls with an
 * info object need the lock of objects.
 */
#ifndef WEFT_IO_HINTS_H
#define WEFT_IO_HINTS_H

#include "core/info.h"

/* "enable", "disable" or "automatic". */
enum weft_io_choice { WEFT_CHOICE_AUTOMATIC, WEFT_CHOICE_ENABLE, WEFT_CHOICE_DISABLE };

struct weft_file_hints {
    uint64_t cb_nodes; /* aggregators of a collective call; 0: one for each node */
    uint64_t cb_buffer_size;
    enum weft_io_choice cb_read; /* exchange data in collective reads, or not */
    enum weft_io_choice cb_write;
    enum weft_io_choice ds_read; /* sieve: read what lies between, or not (sieve.h) */
    uint64_t striping_factor;    /* 0: the file system's */
    uint64_t striping_unit;
};

/*
 * What is used where the user says nothing. Windows of a collective call (plan.h) are
 * small if all members share a node: what passes an aggregator's buffers stays in its
 * caches then. Between nodes large ones pay, since each has its messages and locks.
 */
struct weft_file_hints weft_file_hints_default(bool is_one_node);

/* Takes what `info`, where NULL is empty, says; and tells all of it. */
void weft_file_hints_update(struct weft_file_hints *hints, const struct weft_info *info);
WEFT_MUST_CHECK enum weft_rc weft_file_hints_to_info(const struct weft_file_hints *hints,
                                                     struct weft_info **out);

#endif
