/*
 * rc.h - from what the rooms return to what users get.
 */
#ifndef WEFT_CHECK_RC_H
#define WEFT_CHECK_RC_H

#include "check/raise.h"

/* The error class of a return code; MPI_SUCCESS for WEFT_OK. */
int weft_class_of(enum weft_rc rc);

/* MPI_SUCCESS for WEFT_OK; anything else is raised on the communicator and returned. */
int weft_raise_rc(struct weft_comm *comm, enum weft_rc rc, const char *function);

#endif
