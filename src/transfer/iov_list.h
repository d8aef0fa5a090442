/*
 * iov_list.h - noncontiguous data in long blocks, moved with one copy.
 *
 * The owner of such data writes the addresses of their blocks, as a list, into memory
 * that its peer sees. The peer walks its own data with a cursor and the owner's with the
 * list, from any byte to any, and moves as many blocks in one system call as both allow.
 * So sender and receiver can copy one message together, as they do with contiguous data.
 *
 * Data in short blocks are packed instead: the kernel spends on each block what packing
 * and unpacking 4 KiB cost (docs/performance.md).
 *
 * Nothing here needs the lock or allocates.
 */
#ifndef WEFT_TRANSFER_IOV_LIST_H
#define WEFT_TRANSFER_IOV_LIST_H

#include "transfer/data.h"
#include "transport/transport.h"

#include <stdbool.h>

struct weft_iov_list {
    uint64_t n;
    struct weft_iov {
        uint64_t address;
        uint64_t start; /* bytes that come before it; behind the last: all bytes */
    } at[];
};
_Static_assert(sizeof(struct weft_iov_list) == 8 && sizeof(struct weft_iov) == 16,
               "wire version 6");

/* Do data with a type begin with blocks long enough for a list? */
bool weft_iov_list_pays(const struct weft_data *data);

/* Writes the list of data with a type into `room` bytes; false: it has too many blocks.
 */
bool weft_iov_list_fill(struct weft_iov_list *list, size_t room,
                        const struct weft_data *data);

/* Where a peer has its data: contiguous at an address, or as a list in `room` bytes. */
struct weft_remote_data {
    uint64_t address;
    const struct weft_iov_list *list; /* NULL: contiguous */
    size_t room;
};

enum weft_direction { WEFT_FETCH, WEFT_STORE };

/*
 * Moves `length` bytes between our data, from `at` on, and a peer's, from `offset` on.
 * WEFT_ERR_ARGUMENT: the peer's list has no such bytes; other codes: the transport's.
 */
enum weft_rc weft_iov_list_move(struct weft_path *path, enum weft_direction direction,
                                const struct weft_data *ours, uint64_t at,
                                const struct weft_remote_data *theirs, uint64_t offset,
                                uint64_t length);

#endif
