#include "io/lock.h"

#include "base/log.h"
#include "base/texts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>

/* The system has no locks of open file descriptions. Relaxed: who sees it late tries
 * once more. */
static atomic_bool is_old;

static int set(int fd, int command, struct flock *lock)
{
    int err;

    do {
        err = fcntl(fd, command, lock);
    } while (err != 0 && errno == EINTR);
    return err == 0 ? 0 : errno;
}

static int change(const struct weft_file *file, struct weft_file_extent range, short type)
{
    struct flock lock = {
        .l_type = type,
        .l_whence = SEEK_SET,
        .l_start = (off_t)range.offset,
        .l_len = (off_t)range.length,
    };
    int fault = EINVAL;

    if (!atomic_load_explicit(&is_old, memory_order_relaxed)) {
        fault = set(file->fd, F_OFD_SETLKW, &lock);
    }
    if (fault != EINVAL) {
        return fault;
    }
    if (!atomic_exchange_explicit(&is_old, true, memory_order_relaxed)) {
        weft_log_warn(WEFT_S_FILE_OLD_LOCKS, file->name);
    }
    return set(file->fd, F_SETLKW, &lock);
}

int weft_file_lock(struct weft_file *file, struct weft_file_extent range, bool is_write)
{
    int fault;

    pthread_mutex_lock(&file->mutex);
    fault = change(file, range, is_write ? F_WRLCK : F_RDLCK);
    if (fault != 0) {
        pthread_mutex_unlock(&file->mutex);
    }
    return fault;
}

void weft_file_unlock(struct weft_file *file, struct weft_file_extent range)
{
    (void)change(file, range, F_UNLCK); /* closing would do it, too */
    pthread_mutex_unlock(&file->mutex);
}
