/*
 * ship_home.h - the private folder of a daemon that was shipped, and its removal.
 *
 * The shell that became the daemon has made it, with mktemp and for its owner alone. It
 * is held by a descriptor from the start, so that its content is removed through that,
 * and another user who puts something else in its place achieves nothing. The keeper
 * removes it when nothing runs in it any more; if the keeper is killed, the front does
 * so; if both are, the guard. All functions do nothing in a process that has no such
 * folder.
 */
#ifndef WEFT_LAUNCH_SHIP_HOME_H
#define WEFT_LAUNCH_SHIP_HOME_H

#include <stdbool.h>

/* The file of the daemon in it, which is gone once the daemon runs. */
#define HOME_DAEMON "mpiexec"

/* This daemon was started in `path`. False if that is no folder of ours. */
bool home_open(const char *path);

/* NULL: there is none. */
const char *home_path(void);

/* Its descriptor, or -1; in a process that has moved it, the second says where to. */
int home_folder(void);
void home_move(int folder);

/* Removes it with all that is in it; false with errno set if something is left. */
bool home_remove(void);

#endif
