/*
 * machine.h - what this host, or this container, keeps from MPI, and what that costs.
 *
 * Everything that is said here was tried a moment ago: a system call that a filter might
 * refuse is called, and what a process may do to another one is done between two children
 * that are made for it. A job finds out by itself and works around it; this is for people
 * who want to know. Nothing of it is on the way of a message.
 */
#ifndef WEFT_WIREUP_MACHINE_H
#define WEFT_WIREUP_MACHINE_H

#include <stdbool.h>

/* Called for each finding with a line without its end. */
typedef void weft_machine_say(void *context, const char *line);

/*
 * Says first what there is (processors, memory, processes), then a line for everything
 * that is refused or missing here, with its cost. Makes children, and waits for them.
 * Returns whether a process may copy to and from memory of another one.
 */
bool weft_machine_look(weft_machine_say *say, void *context);

#endif
