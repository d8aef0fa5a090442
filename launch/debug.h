/*
 * debug.h - the debuggers of --debug: how they are called, and what they need.
 *
 * A rank that is to be debugged is started as any other: with its own process id,
 * environment, descriptors and input, as a child of the keeper. It stops before its first
 * instruction (spawn.h), and a debugger attaches to it there. So neither the end of the
 * debugger nor its absence changes what the rank is, and its exit code is its own.
 *
 * A debugger that has attached sends SIGCONT: the stop would else return when the
 * debugger goes. If it goes without having attached, whoever has started it sends the
 * signal, so that the rank goes on.
 */
#ifndef WEFT_LAUNCH_DEBUG_H
#define WEFT_LAUNCH_DEBUG_H

#include "plan.h"

#include <sys/types.h>

/* The words that attach the debugger of the plan to a process; with a path, it runs the
 * commands of that file and ends. To be given to debug_free_words(). */
void debug_make_words(const struct plan *plan, pid_t pid, const char *commands,
                      struct list *words);
void debug_free_words(struct list *words);

/* The words as a shell reads them; to be freed. */
char *debug_join_words(const struct list *words);

#endif
