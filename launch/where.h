/*
 * where.h - from an address in a rank to a place in the program: file, line and function.
 *
 * Debug information is read by libdw, in a child process, for three reasons: a file that
 * is damaged or is truncated meanwhile can end the child and not mpiexec; a child can be
 * given up when it takes too long; and mpiexec does not grow. libdw is loaded there, by
 * the first lookup. Where it is missing, an address is said as module and offset.
 *
 * Only files of this host are read: no debuginfod server is asked.
 */
#ifndef WEFT_LAUNCH_WHERE_H
#define WEFT_LAUNCH_WHERE_H

#include "wireup/trace.h"

#include <stddef.h>
#include <sys/types.h>

enum { WHERE_TEXT = 480 };

struct where;

/* For one report. All lookups until where_close() together may take 1.5 s; what is asked
 * later is said without debug information. NULL: no memory. */
struct where *where_open(void);
void where_close(struct where *where);

/*
 * The place of a call by its return address:
 *
 *   "solver.c:118 (exchange)"           with debug information
 *   "exchange+0x1f in /path/program"    with symbols
 *   "/path/program+0x1156"              with neither; addr2line takes the number;
 *                                       and if the file has been replaced since
 *   ""                                  if the address is in no module
 *
 * The numbers of the second and third are those of the call, one byte before the return
 * address. Each place is looked up once, whatever number of ranks has it. The text is
 * valid until where_close(). `where` may be NULL: the answer is "".
 */
const char *where_name(struct where *where, const struct weft_trace_module *modules,
                       int count, uint64_t address);

/*
 * The innermost functions of a process on this host, of its first thread, down to main:
 * "step.c:31 (relax), called from solver.c:90 (main)"; or why they are not known. The
 * process is held by ptrace for as long as its registers and stack are copied; one that
 * was stopped stays so. The text is valid until the next call.
 */
const char *where_stack(struct where *where, pid_t pid);

/* ---- between its files ---- */

/* What the child is asked; it answers by a text, "?" if it does not know. */
struct where_question {
    pid_t pid; /* its stack; 0: the place of the address */
    struct weft_trace_module module;
    uint64_t address; /* as the file has it, without the bias */
};

/* Answers questions that come from a socket until that is closed (where_child.c). */
void where_serve(int fd);

/* Is there anything to ask a child for? */
bool where_has_dwarf(void);

/* Loads libdw, before all that follows; NULL: it is not there (where_dwarf.c). */
void *where_load(void);

/* The place of an address; `text` stays as it is if that is not known. */
void where_say_place(const struct where_question *question, char *text);

/* File, line and function of an address in a module; false: they are not known. */
struct Dwfl_Module;
bool where_say_line(struct Dwfl_Module *module, uint64_t address, char *text);

/* The stack of a process (where_stack.c). `library` is that of libdw. */
void where_say_stack(void *library, pid_t pid, char *text);

#endif
