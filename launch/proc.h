/*
 * proc.h - what the kernel says of a process, by /proc.
 */
#ifndef WEFT_LAUNCH_PROC_H
#define WEFT_LAUNCH_PROC_H

#include <stdbool.h>
#include <sys/types.h>

/* The letter of its state, as R, S, D, T or Z, and its process group; 0: it is gone. */
char proc_state(pid_t pid, pid_t *group);

/* Does the process survive this signal: does its first thread catch, block or ignore it,
 * or wait in sigwait()? */
bool proc_survives(pid_t pid, int signal);

#endif
