/*
 * fake_disk.h - a file system that is the test's: one file in memory, whose calls may
 * move less than they are asked for, be interrupted, meet the end of the file or a full
 * device.
 */
#ifndef WEFT_TEST_FAKE_DISK_H
#define WEFT_TEST_FAKE_DISK_H

#include "unit.h"

#include "io/access.h"

#include <errno.h>

enum { FILE_BYTES = 100000 };

static struct {
    char bytes[FILE_BYTES];
    uint64_t size;   /* where a read meets the end */
    uint64_t room;   /* where a write meets the end of the device */
    size_t most;     /* moved by one call */
    int interrupted; /* calls from now on */
    int calls;
} disk;

static void set_up(void)
{
    memset(&disk, 0, sizeof(disk));
    disk.size = FILE_BYTES;
    disk.room = FILE_BYTES;
    disk.most = FILE_BYTES;
}

static ssize_t move(const struct iovec *blocks, int count, uint64_t at, uint64_t end,
                    bool is_write)
{
    size_t done = 0;

    disk.calls++;
    if (disk.interrupted > 0) {
        disk.interrupted--;
        errno = EINTR;
        return -1;
    }
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < blocks[i].iov_len; k++) {
            char *memory = (char *)blocks[i].iov_base + k;

            if (done == disk.most || at >= end) {
                return (ssize_t)done;
            }
            *(is_write ? &disk.bytes[at] : memory) = is_write ? *memory : disk.bytes[at];
            done++;
            at++;
        }
    }
    return (ssize_t)done;
}

static ssize_t fake_preadv(int fd, const struct iovec *blocks, int count, off_t offset)
{
    assert_int_equal(fd, 7);
    return move(blocks, count, (uint64_t)offset, disk.size, false);
}

static ssize_t fake_pwritev(int fd, const struct iovec *blocks, int count, off_t offset)
{
    assert_int_equal(fd, 7);
    if ((uint64_t)offset >= disk.room) {
        errno = ENOSPC;
        return -1;
    }
    return move(blocks, count, (uint64_t)offset, disk.room, true);
}

static const struct weft_file_ops ops = {fake_preadv, fake_pwritev};
static const struct weft_access writing = {.ops = &ops, .fd = 7, .is_write = true};
static const struct weft_access reading = {.ops = &ops, .fd = 7};

static inline struct weft_data data_at(void *buffer, size_t bytes)
{
    return (struct weft_data){.buffer = buffer, .bytes = bytes};
}

#endif
