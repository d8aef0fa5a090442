/*
 * keeper.h - nothing is left behind.
 *
 * mpiexec is two processes. The front is the one that the user sees: it takes signals and
 * passes them on. The keeper, its child, starts and serves the ranks. Both are child
 * subreapers, so whatever the ranks start stays below them, behind `bash -c` or a double
 * fork too. They watch each other through a pipe: if the front dies, the keeper ends all
 * its descendants; if the keeper dies, its children become the front's, which does so. If
 * both die at once, there is guard.h.
 */
#ifndef WEFT_LAUNCH_KEEPER_H
#define WEFT_LAUNCH_KEEPER_H

#include <stdbool.h>

/* From now on orphaned descendants become our children. */
void keeper_adopt_orphans(void);

/*
 * From now on this child and what it starts are left alone, until spare_none: the way to
 * another host, which has to be there while that one is told to end.
 */
void keeper_spare(int pid);
void keeper_spare_none(void);

/* Sends a signal to every descendant of this process; returns how many there are. */
int keeper_signal_all(int signal);

/* Has this process descendants that are not spared? */
bool keeper_has_descendants(void);

/*
 * Kills descendants until none is left, and reaps them. False if some are still there
 * after two seconds, in a state in which nothing can be killed.
 */
bool keeper_sweep(void);

#endif
