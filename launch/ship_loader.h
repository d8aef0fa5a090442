/*
 * ship_loader.h - which libraries the loader finds for a program: the loader itself is
 * asked, by its option --list, so that its cache, LD_LIBRARY_PATH and the folders that
 * files name mean what they mean when the program starts.
 */
#ifndef WEFT_LAUNCH_SHIP_LOADER_H
#define WEFT_LAUNCH_SHIP_LOADER_H

#include "plan.h"

#include <stdbool.h>

/* A library; `path` is NULL if the loader does not find it. */
typedef void library_fn(const char *name, const char *path, void *arg);

/*
 * Calls `found` for each library that `path` needs, at any depth. `loader` is the
 * program's; `search` is LD_LIBRARY_PATH and `also` names libraries that are loaded with
 * it (NULL: none). False if the loader cannot be run, or refuses the file.
 */
bool loader_list(const char *loader, const char *path, const char *search,
                 const char *also, library_fn *found, void *arg);

#endif
