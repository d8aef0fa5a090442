/*
 * rma.h - argument checks of one-sided operations: see check.h for what they answer.
 */
#ifndef WEFT_CHECK_RMA_H
#define WEFT_CHECK_RMA_H

#include "check/win.h"
#include "rma/start.h"

/* A buffer as the user names it; all of it 0: there is none. */
struct weft_rma_side {
    const void *buffer;
    MPI_Count count;
    MPI_Datatype type;
};

/* A call as the user has made it. */
struct weft_rma_args {
    const char *function;
    enum weft_rma_kind kind;
    struct weft_rma_side origin;
    struct weft_rma_side result;
    const void *compare;         /* of MPI_Compare_and_swap: an element of `origin` */
    struct weft_rma_side target; /* without a buffer */
    int rank;
    MPI_Aint disp;
    MPI_Op op;
    MPI_Win win;
    bool needs_predefined; /* the type is one that the standard names */
    bool has_request;
};

/* Checks a call. *is_empty: there is nothing to do, as the target is MPI_PROC_NULL or
 * nothing moves. */
int weft_check_rma(const struct weft_rma_args *args, struct weft_win **win,
                   struct weft_rma_call *call, bool *is_empty);

#endif
