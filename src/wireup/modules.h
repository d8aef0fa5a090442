/*
 * modules.h - tells the black box (trace.h) which ELF objects this process has mapped.
 *
 * The table is written when the library is opened, and again whenever somebody may look
 * at it and objects have come or gone: before a thread sleeps, and before the job is
 * aborted. If there are more objects than places, the program and those that have called
 * MPI of late come first.
 */
#ifndef WEFT_WIREUP_MODULES_H
#define WEFT_WIREUP_MODULES_H

#include "wireup/trace.h"

/* Writes the table of this black box, which later calls of weft_modules_refresh() do. */
void weft_modules_open(struct weft_trace *trace);

/* Writes the table anew, if objects have been loaded or unloaded since. Any thread. */
void weft_modules_refresh(void);

#endif
