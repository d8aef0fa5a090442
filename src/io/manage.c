#include "io/manage.h"

#include "engine/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int weft_file_size(const struct weft_file *file, uint64_t *size)
{
    struct stat about;

    if (fstat(file->fd, &about) != 0) {
        return errno;
    }
    *size = (uint64_t)about.st_size;
    return 0;
}

int weft_file_resize(const struct weft_file *file, uint64_t size)
{
    int err;

    do {
        err = ftruncate(file->fd, (off_t)size);
    } while (err != 0 && errno == EINTR);
    return err == 0 ? 0 : errno;
}

int weft_file_reserve(const struct weft_file *file, uint64_t size)
{
    uint64_t now;
    int fault = weft_file_size(file, &now);

    if (fault != 0 || size == 0) {
        return fault;
    }
    do {
        /* Where the file system cannot, the C library writes zeros into holes; it never
         * changes what is there. */
        fault = posix_fallocate(file->fd, 0, (off_t)size);
    } while (fault == EINTR);
    return fault;
}

int weft_file_flush(struct weft_file *file)
{
    bool is_dirty;
    int err;

    weft_lock();
    is_dirty = file->is_dirty;
    file->is_dirty = false;
    weft_unlock();
    if (!is_dirty) {
        return 0;
    }
    do {
        err = fsync(file->fd);
    } while (err != 0 && errno == EINTR);
    /* Pipes and the like have nothing to bring to disk. */
    return err == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}
