/*
 * proc.h - what the kernel says of a process, by /proc.
 */
#ifndef WEFT_LAUNCH_PROC_H
#define WEFT_LAUNCH_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct proc_stat {
    char state; /* a letter, as R, S, D, T or Z; 0: the process is gone */
    pid_t parent;
    pid_t group;
};

struct proc_stat proc_stat(pid_t pid);

/*
 * Why a process does not end, as far as the kernel tells, as " (in folio_wait_bit, system
 * call 1)": the function of the kernel in which it sleeps, and the call that has led
 * there. Empty: nothing is known.
 */
void proc_describe_sleep(pid_t pid, char *text, size_t size);

/* Has /proc the processes of this process's PID namespace, under their numbers here? A
 * container may have no /proc, or still the one of its host. */
bool proc_is_ours(void);

/* Does the process survive this signal: does it catch or ignore it, does its first thread
 * block it, or does it take signals by sigwait() or signalfd()? A thread that blocks
 * every signal may do so for a moment only, as pthread_create() and fork() do, and die of
 * the signal after that: such a mask proves nothing. */
bool proc_survives(pid_t pid, int signal);

#endif
