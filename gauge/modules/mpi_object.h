/*
 * mpi_object.h - what the files of the object that calls MPI share. Each sees whatever
 * mpi.h its compiler finds.
 */
#ifndef GAUGE_MPI_OBJECT_H
#define GAUGE_MPI_OBJECT_H

#include "gauge/modules/mpi.h"

#include <mpi.h>

#pragma GCC visibility push(hidden)
extern const struct gauge_one_sided gauge_mpi_windows; /* mpi_windows.c */
extern const struct gauge_files gauge_mpi_files;       /* mpi_files.c */

/* Of gauge_fail()'s kind; the module's init() takes it over from the program. */
extern enum gauge_rc (*gauge_mpi_fail)(const char *format, ...);
/* Reports what a call has returned; GAUGE_FAILED. */
enum gauge_rc gauge_mpi_complain(int code, const char *call);
#pragma GCC visibility pop

struct mpi {
    int *rank; /* of every end */
    /* The window that is open, if any. */
    MPI_Win window;
    MPI_Group chosen; /* partners in epochs, or MPI_GROUP_NULL */
    void *created;    /* memory that is ours and not the library's, or NULL */
    MPI_File file;    /* that is open, if any */
};

static inline struct mpi *mpi_of(const struct gauge_module *module)
{
    return module->state;
}

static inline int rank_of(const struct gauge_module *module, int end)
{
    return mpi_of(module)->rank[end];
}

static inline enum gauge_rc judge(int code, const char *call)
{
    return code == MPI_SUCCESS ? GAUGE_OK : gauge_mpi_complain(code, call);
}

#endif
