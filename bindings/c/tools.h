/*
 * tools.h - what the files of MPI_T share.
 *
 * MPI_T never runs an error handler: what is wrong is what the function returns. It works
 * before MPI_Init and after MPI_Finalize. Enumerations belong to control variables, so
 * the handle of one is its variable's index plus one.
 */
#ifndef WEFT_BINDING_TOOLS_H
#define WEFT_BINDING_TOOLS_H

#include "binding.h"

/*
 * Takes the library's lock. MPI_T_ERR_NOT_INITIALIZED: no tool has called
 * MPI_T_init_thread, and the lock was not taken.
 */
int weft_tools_enter(void);

/* Gives it back, and returns `err`. */
int weft_tools_leave(int err);

/*
 * A text of `size` bytes for the user, as MPI-5.0 15.3.3 says: as much as fits and its
 * end go to `to`, the length it needs to *length. Either may be NULL.
 */
void weft_tools_give_bytes(char *to, int *length, const char *text, size_t size);
void weft_tools_give_text(char *to, int *length, const char *text);

/* Writes a result that the user may not want. */
void weft_tools_give_int(int *to, int value);

#endif
