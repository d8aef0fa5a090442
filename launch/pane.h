/*
 * pane.h - mpiexec in a pane of tmux: it starts a debugger there and ends it with the
 * job, whatever becomes of the rest of mpiexec.
 */
#ifndef WEFT_LAUNCH_PANE_H
#define WEFT_LAUNCH_PANE_H

/* Followed by the process of the keeper, that of the rank (0: it is on another host), the
 * number of the rank, and the words of the debugger. */
#define PANE_OPTION "--weft-pane"

/* `words` are those behind the option. Returns the exit code. */
int pane_run(char **words);

#endif
