/*
 * rma.h - what the calls of one-sided operations share.
 */
#ifndef WEFT_BINDING_RMA_H
#define WEFT_BINDING_RMA_H

#include "check/record.h"
#include "check/rma.h"

/* Checks a call and starts it; `request` is where its handle goes, or NULL. */
int weft_rma_checked(const struct weft_rma_args *args, MPI_Request *request);

/* The same for a call that may have gone a shorter way: it is noted only now. */
int weft_rma_noted(const struct weft_rma_args *args, enum weft_call_number call,
                   const void *site);

#endif
