/*
 * descriptors.h - descriptors of children: what they must not hold, and an empty input.
 */
#ifndef WEFT_LAUNCH_DESCRIPTORS_H
#define WEFT_LAUNCH_DESCRIPTORS_H

#include <stdbool.h>

/*
 * Closes every descriptor from `first` on. Linux before 5.9 and some containers have no
 * system call for it; then /proc tells which are open, or all numbers are tried. False:
 * there are too many numbers to try.
 */
bool descriptors_close_from(int first);

/* A descriptor whose input ends at once, which close-on-exec closes; -1 and errno if
 * there is none to be had. Some containers have no /dev/null: then it is a pipe. */
int descriptors_open_nothing(void);

#endif
