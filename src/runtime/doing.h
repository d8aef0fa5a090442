/*
 * doing.h - what this rank waits for, in words for a report about a job that hangs: the
 * engine notes it before a thread sleeps (engine/wait.c), and this room completes the
 * note, because it may look into all others.
 */
#ifndef WEFT_RUNTIME_DOING_H
#define WEFT_RUNTIME_DOING_H

#include "base/rc.h"
#include "wireup/wireup.h"

/* After the engine was opened: from now on notes are complete. */
void weft_doing_open(void);

/* weft_wireup_fence() for the function `call`, with a note meanwhile. */
WEFT_MUST_CHECK enum weft_rc weft_doing_fence(struct weft_job *job, const char *call);

#endif
