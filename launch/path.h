/*
 * path.h - the file of a program, found as execvp would find it.
 */
#ifndef WEFT_LAUNCH_PATH_H
#define WEFT_LAUNCH_PATH_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Finds a program: a name without a slash along PATH, any other below the folder, which
 * may be AT_FDCWD. False: there is none that we may start.
 */
bool path_find(int folder, const char *name, char *path, size_t size);

/*
 * The absolute path of the program that is started as `name` in `wdir`, or in our own
 * folder if that is NULL; to be freed. A program that is not found keeps its name.
 */
char *path_absolute(const char *wdir, const char *name);

#endif
