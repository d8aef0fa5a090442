/*
 * rma.h - what the calls of one-sided operations share.
 */
#ifndef WEFT_BINDING_RMA_H
#define WEFT_BINDING_RMA_H

#include "check/rma.h"

/* Checks a call and starts it; `request` is where its handle goes, or NULL. */
int weft_rma_checked(const struct weft_rma_args *args, MPI_Request *request);

#endif
