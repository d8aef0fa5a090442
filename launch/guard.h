/*
 * guard.h - the last net: what ranks have started, when front and keeper die at once.
 *
 * Front and keeper look after each other (keeper.h), but one command or the kernel's lack
 * of memory may kill both at the same moment, and what a rank had put into a session of
 * its own would then be nobody's. The guard is a third process, out of the way: in a
 * session of its own, under another name, without descriptors but one end of a pipe whose
 * other end only the front and the keeper hold. When that ends without a word, it kills
 * every process of this user that has our mark in its environment, until there is none.
 *
 * The mark is in WEFT_KEPT, a list: a job inside a rank adds its own to that of the outer
 * one. A program that clears its environment is beyond this net, and so is everything if
 * the guard is killed with the other two, or if /proc does not show our processes.
 */
#ifndef WEFT_LAUNCH_GUARD_H
#define WEFT_LAUNCH_GUARD_H

#include <sys/types.h>

/*
 * Starts the guard; `argv` is main's, whose words the guard's own name takes in the list
 * of processes. To be called before the keeper is made. Returns its process, which is a
 * child of ours, or -1: then there is no guard, and no other difference.
 */
pid_t guard_start(int argc, char **argv);

/* The entry for the environment of ranks, with the mark. */
char *guard_mark(void);

/* Nothing is left: the guard ends, and is reaped. By the front alone. */
void guard_dismiss(void);

#endif
