/*
 * windows.h - how one-sided operations of a job would reach memory, for mpiexec --report.
 *
 * The rules are those of src/rma (near.h, far.h, update.h). Settings are those of
 * mpiexec's environment, which ranks inherit. Returns constant text.
 */
#ifndef WEFT_LAUNCH_WINDOWS_H
#define WEFT_LAUNCH_WINDOWS_H

#include <stdbool.h>

/* Between ranks of a host, on which a process may copy other processes' memory, or not.
 */
const char *windows_inside(bool can_copy);

/* Between ranks of different hosts. */
const char *windows_between(void);

#endif
