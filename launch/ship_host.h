/*
 * ship_host.h - what of a list (ship.h) this host takes, and what it has already.
 */
#ifndef WEFT_LAUNCH_SHIP_HOST_H
#define WEFT_LAUNCH_SHIP_HOST_H

#include "ship.h"

/*
 * Says of each file whether it is taken. A system library is not, if this host has one of
 * that name with the versions that are wanted. A library that Weft can do without is left
 * out where the C library is too old for it. False: `why` says what this host, which is
 * called `host`, cannot run.
 */
bool ship_choose(const struct ship *ship, const char *host, bool *is_taken, char *why,
                 size_t size);

/* Opens the file of this host that has the path and size of `file`; -1: none has. What is
 * in it has to be copied before it is checked (store_copy): it may be another user's. */
int ship_find_here(const struct ship *ship, const struct ship_file *file);

#endif
