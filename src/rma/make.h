/*
 * make.h - windows are made and freed by all members of a communicator. Bindings have
 * checked the arguments. The functions take the lock themselves.
 */
#ifndef WEFT_RMA_MAKE_H
#define WEFT_RMA_MAKE_H

#include "rma/win.h"

struct weft_win_ask {
    const char *call; /* the MPI function */
    struct weft_comm *comm;
    int flavor;
    void *base; /* of a window that is created */
    MPI_Aint size;
    MPI_Aint unit;
    const struct weft_info *info; /* or NULL */
};

/* WEFT_ERR_UNSUPPORTED: a window of shared memory whose members are on several nodes. */
WEFT_MUST_CHECK enum weft_rc weft_win_make(const struct weft_win_ask *ask,
                                           struct weft_win **out);

/* The end of a window whose attributes are gone: returns when all members have called it,
 * or when one of them has failed. */
WEFT_MUST_CHECK enum weft_rc weft_win_leave(struct weft_win *win, const char *call);

/* Frees the window. If not all have left it, because one has failed, those that live may
 * still name it in packets: what is left of it answers them until the process ends, and
 * refuses operations, for it has no memory. */
void weft_win_free(struct weft_win *win, bool is_left_by_all, const char *call);

#endif
