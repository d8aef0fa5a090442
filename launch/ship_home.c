#include "ship_home.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What runs in it may add files until it is dead. */
enum { ROUNDS = 50, ROUND_NS = 10000000 };

static struct {
    char path[PATH_MAX]; /* empty: there is none */
    int folder;
} home = {.folder = -1};

bool home_open(const char *path)
{
    struct stat st;
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (folder < 0 || path[0] != '/' || strlen(path) >= sizeof(home.path) ||
        fstat(folder, &st) != 0 || st.st_uid != geteuid() ||
        (st.st_mode & 0777) != 0700) {
        if (folder >= 0) {
            close(folder);
        }
        return false;
    }
    memcpy(home.path, path, strlen(path) + 1);
    home.folder = folder;
    unlinkat(folder, HOME_DAEMON, 0); /* this process goes on without */
    return true;
}

const char *home_path(void)
{
    return home.path[0] != '\0' ? home.path : NULL;
}

int home_folder(void)
{
    return home.folder;
}

void home_move(int folder)
{
    home.folder = folder;
}

/* Opens a folder of the user's, whatever its mode. */
static int enter(int folder, const char *name)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct stat st;

    if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(st.st_mode) ||
        ((st.st_mode & 0700) != 0700 && fchmodat(folder, name, 0700, 0) != 0)) {
        return -1;
    }
    return openat(folder, name, flags);
}

/* Removes what is in a folder, and closes it. */
static void empty(int folder)
{
    DIR *list = fdopendir(folder);
    struct dirent *entry;

    if (list == NULL) {
        close(folder);
        return;
    }
    rewinddir(list);
    while ((entry = readdir(list)) != NULL) {
        const char *name = entry->d_name;

        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
            unlinkat(dirfd(list), name, 0) == 0) {
            continue;
        }
        if (errno == EISDIR || errno == EPERM) {
            const int inner = enter(dirfd(list), name);

            if (inner >= 0) {
                empty(inner);
            }
            unlinkat(dirfd(list), name, AT_REMOVEDIR);
        }
    }
    closedir(list);
}

/* Is what has the name still our folder? */
static bool is_there(void)
{
    struct stat named;
    struct stat ours;

    return lstat(home.path, &named) == 0 && fstat(home.folder, &ours) == 0 &&
           named.st_ino == ours.st_ino && named.st_dev == ours.st_dev;
}

bool home_remove(void)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = ROUND_NS};

    for (int round = 0; home.path[0] != '\0' && round < ROUNDS && is_there(); round++) {
        int again;

        fchmod(home.folder, 0700);
        again = openat(home.folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (again >= 0) {
            empty(again);
        }
        if (rmdir(home.path) == 0 || errno == ENOENT) {
            return true;
        }
        nanosleep(&pause, NULL);
    }
    return home.path[0] == '\0' || !is_there();
}
