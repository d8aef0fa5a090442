/*
 * mpir.h - what debuggers look for in mpiexec: the MPIR Process Acquisition Interface,
 * version 1.1, of the MPI Forum.
 *
 * A debugger that starts mpiexec sets MPIR_being_debugged before main() looks at it, and
 * a breakpoint at MPIR_Breakpoint(). We start the ranks, each of which stops before its
 * first instruction, fill the table, and call that function. While it is stopped there,
 * the debugger attaches to as many ranks as it wants. When the function returns, we set
 * all ranks free by SIGCONT. A debugger that attaches to a running mpiexec reads the
 * table, which is filled in every job.
 *
 * The names are the interface's. They are in the dynamic symbol table (mpir.list), so
 * that they are found in a file that has been stripped. The presence of those without a
 * value is what they say.
 */
#ifndef WEFT_LAUNCH_MPIR_H
#define WEFT_LAUNCH_MPIR_H

#include <stdbool.h>

typedef struct {
    char *host_name;
    char *executable_name; /* its path */
    int pid;               /* on that host */
} MPIR_PROCDESC;

enum { MPIR_NULL = 0, MPIR_DEBUG_SPAWNED = 1, MPIR_DEBUG_ABORTING = 2 };

extern volatile int MPIR_being_debugged; /* the debugger's to set */
extern MPIR_PROCDESC *MPIR_proctable;    /* by rank */
extern int MPIR_proctable_size;
extern volatile int MPIR_debug_state;
extern char *volatile MPIR_debug_abort_string;
extern int MPIR_i_am_starter;      /* mpiexec itself is no rank */
extern int MPIR_acquired_pre_main; /* ranks stop before main() */
extern int MPIR_partial_attach_ok; /* we set ranks free, attached or not */
extern int MPIR_force_to_main;     /* main() is what the user wants to see */
void MPIR_Breakpoint(void);

/* Takes the notices of the keeper (notice.h). True: the table has just been filled, and a
 * debugger that wanted to look at it has done so. */
bool mpir_take_notices(void);

#endif
