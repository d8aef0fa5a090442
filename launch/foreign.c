#include "foreign.h"
#include "texts.h"

#include "path.h"

#include "info/linked.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

bool foreign_find(const struct app *app, const struct list *environment, char *why,
                  size_t size)
{
    static const char name[] = "LD_LIBRARY_PATH";
    const char *search = list_value(&app->set, name);
    struct linked linked;
    char path[4096];
    int folder = AT_FDCWD;
    bool is_found;

    if (app->wdir != NULL) {
        folder = open(app->wdir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (folder < 0) {
            return false;
        }
    }
    is_found =
        path_find(folder, app->argv[0], path, sizeof(path)) &&
        linked_with_mpi(folder, path,
                        search != NULL ? search : list_value(environment, name), &linked);
    if (folder != AT_FDCWD) {
        close(folder);
    }
    if (is_found) {
        snprintf(why, size, TEXT_FOREIGN, app->argv[0], linked.library, linked.owner,
                 linked.through[0] != '\0' ? " through " : "", linked.through,
                 linked.is_fortran ? TEXT_CURE_FORTRAN : TEXT_CURE_REBUILD);
    }
    return is_found;
}
