/*
 * backing.h - the file behind a job segment.
 *
 * It is a memfd. Some containers refuse memfd_create; there it is a file without a name
 * in /dev/shm or, where that is missing, read-only or too small, in /tmp. Such a file
 * differs in two ways. Its size cannot be sealed. And its file system may run full, which
 * is a deadly signal (SIGBUS) to who touches a page: so the pages that ranks use are
 * reserved beforehand.
 */
#ifndef WEFT_WIREUP_BACKING_H
#define WEFT_WIREUP_BACKING_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Opens a file that holds nothing, close-on-exec. `bytes` is what will be reserved: a
 * folder with less room is passed over. `*place` is "memfd" or the folder. -1: there is
 * none, and errno is that of the last try.
 */
int weft_backing_open(uint64_t bytes, const char **place);

/* Are the pages of this file reserved, and is its size not sealed? */
bool weft_backing_is_named(const char *place);

/* Has the file system of a file room for so many bytes more? */
bool weft_backing_has_room(int fd, uint64_t bytes);

/* Reserves the first `bytes` of a file; false and errno: there is no room for them. */
bool weft_backing_reserve(int fd, uint64_t bytes);

#endif
