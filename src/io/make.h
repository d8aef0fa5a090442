/*
 * make.h - opening, closing and deleting files. Each takes the lock itself.
 */
#ifndef WEFT_IO_MAKE_H
#define WEFT_IO_MAKE_H

#include "io/file.h"

struct weft_file_ask {
    const char *call;
    struct weft_comm *comm;
    const char *name;
    int amode;
    int fault; /* what is wrong with the arguments of this member, or 0 */
    const struct weft_info *info; /* or NULL */
};

/* Called by all members. Rank 0 creates the file, and the others open it after that.
 * Returns a fault, the same for all; then no member has opened it. */
WEFT_MUST_CHECK int weft_file_open(const struct weft_file_ask *ask,
                                   struct weft_file **out);

/* Called by all members: as MPI_File_sync, then the file is closed whatever the fault.
 * The object stays, so that the fault can be raised on it, until the second call. */
WEFT_MUST_CHECK int weft_file_close(struct weft_file *file, const char *call);
void weft_file_free(struct weft_file *file);

/* Of one process. Returns a fault. */
WEFT_MUST_CHECK int weft_file_delete(const char *name);

#endif
