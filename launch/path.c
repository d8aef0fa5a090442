#include "path.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_program(int folder, const char *path)
{
    struct stat st;

    return fstatat(folder, path, &st, 0) == 0 && S_ISREG(st.st_mode) &&
           faccessat(folder, path, X_OK, 0) == 0;
}

bool path_find(int folder, const char *name, char *path, size_t size)
{
    const char *list = getenv("PATH");

    if (strchr(name, '/') != NULL) {
        snprintf(path, size, "%s", name);
        return is_program(folder, path);
    }
    list = list != NULL ? list : "/bin:/usr/bin";
    for (;;) {
        const size_t length = strcspn(list, ":");

        snprintf(path, size, "%.*s/%s", length > 0 ? (int)length : 1,
                 length > 0 ? list : ".", name);
        if (is_program(folder, path)) {
            return true;
        }
        if (list[length] == '\0') {
            return false;
        }
        list += length + 1;
    }
}

char *path_absolute(const char *wdir, const char *name)
{
    int folder = wdir != NULL ? open(wdir, O_PATH | O_DIRECTORY | O_CLOEXEC) : AT_FDCWD;
    char path[4096];
    char link[64];
    char here[4096];
    char *joined = NULL;
    ssize_t n;

    if ((folder < 0 && folder != AT_FDCWD) ||
        !path_find(folder, name, path, sizeof(path))) {
        joined = strdup(name);
    } else if (path[0] == '/') {
        joined = strdup(path);
    } else {
        if (folder == AT_FDCWD) {
            snprintf(link, sizeof(link), "/proc/self/cwd");
        } else {
            snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
        }
        n = readlink(link, here, sizeof(here) - 1);
        here[n > 0 ? n : 0] = '\0';
        if (asprintf(&joined, "%s/%s", here,
                     path + (path[0] == '.' && path[1] == '/') * 2) < 0) {
            joined = NULL;
        }
    }
    if (folder >= 0) {
        close(folder);
    }
    return joined;
}
