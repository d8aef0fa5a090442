#include "descriptors.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST_TRIED = 1 << 20 };

/* Closes those that /proc lists; false: it lists none. */
static bool close_listed(int first)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    int count = 0;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        const int fd = entry->d_name[0] != '.' ? atoi(entry->d_name) : -1;

        count += fd >= 0;
        if (fd >= first && fd != dirfd(folder)) {
            close(fd);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count > 0;
}

bool descriptors_close_from(int first)
{
    struct rlimit limit;

    if (close_range((unsigned)first, ~0u, 0) == 0 || close_listed(first)) {
        return true;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > MOST_TRIED) {
        return false;
    }
    for (int fd = first; fd < (int)limit.rlim_cur; fd++) {
        close(fd);
    }
    return true;
}

int descriptors_open_nothing(void)
{
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int ends[2];

    if (fd >= 0 || pipe2(ends, O_CLOEXEC) != 0) {
        return fd;
    }
    close(ends[1]);
    return ends[0];
}
