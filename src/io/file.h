/*
 * file.h - the object behind a file handle.
 *
 * A file has a communicator of its own. Fields that do not change from its opening to its
 * end need no lock: `comm`, `amode`, `fd`, `ops`, `name`. The others need the library's.
 *
 *   open.c            the room opens
 *   file.c            objects: take, find, give
 *   make.c            opening, closing and deleting: needs all members
 *   manage.c          sizes, and what is on disk
 *   together.c        what all members change: sizes, views, atomic mode
 *   agree.c           all members get the same fault (fault.h)
 *   hints.c           what the user has said about a file
 *   view.c            which bytes a process sees; pure
 *   representation.c  the ways in which data lie in a file; convert.c: from and to them;
 *                     in_file.c: datatypes there
 *   place.c           where a call begins; seek.c: where a pointer goes
 *   pointer.c         the file pointer that all members share
 *   access.c          bytes between file and memory; blocks. sieve.c: many small ones
 *   lock.c            locks of parts of a file
 *   move.c            a read or write (call.h) of one process
 *   op.c              a read or write that goes on behind a request
 *   collective.c      a read or write of all members
 */
#ifndef WEFT_IO_FILE_H
#define WEFT_IO_FILE_H

#include "core/comm.h"
#include "core/handle.h"
#include "io/access.h"
#include "io/hints.h"
#include "io/view.h"

#include <pthread.h>

struct weft_collective; /* collective.c */
struct weft_win;        /* rma/win.h */

struct weft_file {
    MPI_File handle;
    struct weft_comm *comm; /* its own */
    int amode;
    int fd;
    const struct weft_file_ops *ops;
    char *name; /* as the user wrote it */
    char *path; /* the same from any directory */
    struct weft_errhandler *errhandler;
    struct weft_file_hints hints;
    struct weft_view *view;
    uint64_t position;             /* of the process's own file pointer, in etypes */
    struct weft_win *shared;       /* the pointer that members share (pointer.h) */
    struct weft_request *split;    /* of a split collective under way, or NULL */
    const char *split_kind;        /* what its end call is named after, as "read_all" */
    pthread_mutex_t mutex;         /* of threads that lock a part (lock.h) */
    struct weft_collective *spare; /* for a call of all members without memory */
    bool is_spare_taken;
    bool is_atomic;
    bool is_dirty; /* written here since the last sync */
};

/* For weft_io_open(). */
void weft_files_open(void);

/* The file behind a handle, or NULL. Needs no lock for a file that the caller knows to
 * live. */
struct weft_file *weft_file_from_handle(MPI_File handle);

/* With the lock: takes an empty file, and gives one back with what it has, but for the
 * communicator and the descriptor. */
WEFT_MUST_CHECK enum weft_rc weft_file_take(struct weft_file **out);
void weft_file_give(struct weft_file *file);

static inline bool weft_file_is_written(const struct weft_file *file)
{
    return (file->amode & MPI_MODE_RDONLY) == 0;
}

#endif
