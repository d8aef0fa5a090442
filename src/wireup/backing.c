#include "wireup/backing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

static const char MEMFD[] = "memfd";
static const char *const folders[] = {"/dev/shm", "/tmp"};

/* A file that no name leads to. Not all file systems make one at once. */
static int open_in(const char *folder)
{
    char path[64];
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == ENOENT)) {
        snprintf(path, sizeof(path), "%s/weft-XXXXXX", folder);
        fd = mkostemp(path, O_CLOEXEC);
        if (fd >= 0) {
            unlink(path);
        }
    }
    return fd;
}

bool weft_backing_has_room(int fd, uint64_t bytes)
{
    struct statvfs st;

    return fstatvfs(fd, &st) == 0 && (uint64_t)st.f_bavail * st.f_frsize >= bytes;
}

int weft_backing_open(uint64_t bytes, const char **place)
{
    int fd = memfd_create("weft", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    *place = MEMFD;
    if (fd >= 0 || (errno != EPERM && errno != ENOSYS && errno != EACCES)) {
        return fd;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        *place = folders[i];
        fd = open_in(folders[i]);
        if (fd >= 0 && weft_backing_has_room(fd, bytes)) {
            return fd;
        }
        if (fd >= 0) {
            close(fd);
            errno = ENOSPC;
        }
    }
    return -1;
}

bool weft_backing_is_named(const char *place)
{
    return strcmp(place, MEMFD) != 0;
}

bool weft_backing_reserve(int fd, uint64_t bytes)
{
    int error;

    do {
        error = posix_fallocate(fd, 0, (off_t)bytes);
    } while (error == EINTR);
    errno = error;
    return error == 0;
}
