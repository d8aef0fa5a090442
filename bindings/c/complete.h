/*
 * complete.h - completing requests, for all files whose calls do.
 */
#ifndef WEFT_BINDING_COMPLETE_H
#define WEFT_BINDING_COMPLETE_H

#include "binding.h"

/* Waits for a request, gives its status, frees it and sets the handle to null. */
int weft_complete(const char *function, MPI_Request *request, MPI_Status *status);

/* Takes a posted receive back whose partner call failed; it is freed either way. */
void weft_cancel_recv(MPI_Request *request);

#endif
