#include "io/sieve.h"

#include <errno.h>

size_t weft_sieve_count(const struct weft_file_extent *extents, size_t n)
{
    const uint64_t start = n > 0 ? extents[0].offset : 0;
    uint64_t end = start;
    size_t count = 0;

    while (count < n && extents[count].offset >= end &&
           extents[count].offset + extents[count].length - start <= WEFT_SIEVE_BYTES) {
        end = extents[count].offset + extents[count].length;
        count++;
    }
    return count > 1 && end - start <= count * WEFT_SIEVE_DISTANCE ? count : 0;
}

size_t weft_sieve_read(const struct weft_access *access,
                       const struct weft_file_extent *extents, size_t n, char *buffer,
                       const struct weft_data *data, uint64_t from,
                       struct weft_moved *moved)
{
    const uint64_t start = extents[0].offset;
    const struct iovec all = {
        .iov_base = buffer,
        .iov_len = extents[n - 1].offset + extents[n - 1].length - start,
    };
    size_t whole = 0;
    ssize_t got;

    do {
        got = access->ops->preadv(access->fd, &all, 1, (off_t)start);
    } while (got < 0 && errno == EINTR);
    while (got > 0 && whole < n &&
           extents[whole].offset + extents[whole].length - start <= (uint64_t)got) {
        weft_data_scatter(data, from, buffer + (extents[whole].offset - start),
                          extents[whole].length);
        from += extents[whole].length;
        moved->bytes += extents[whole].length;
        whole++;
    }
    return whole;
}
