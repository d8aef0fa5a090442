#include "io/make.h"

#include "coll/coll.h"
#include "coll/nodes.h"
#include "comm/make.h"
#include "engine/engine.h"
#include "io/agree.h"
#include "io/collective.h"
#include "io/manage.h"
#include "io/representation.h"
#include "io/pointer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MODE = 0666 }; /* less what the umask takes */

/* ---- the descriptor ---- */

static int flags_of(int amode, bool is_first)
{
    int flags = O_CLOEXEC;

    if ((amode & MPI_MODE_RDWR) != 0) {
        flags |= O_RDWR;
    } else {
        flags |= (amode & MPI_MODE_WRONLY) != 0 ? O_WRONLY : O_RDONLY;
    }
    if (is_first && (amode & MPI_MODE_CREATE) != 0) {
        flags |= O_CREAT | ((amode & MPI_MODE_EXCL) != 0 ? O_EXCL : 0);
    }
    return flags;
}

static int open_here(struct weft_file *file, bool is_first)
{
    struct stat about;

    do {
        file->fd = open(file->name, flags_of(file->amode, is_first), MODE);
    } while (file->fd < 0 && errno == EINTR);
    if (file->fd < 0) {
        return errno;
    }
    return fstat(file->fd, &about) == 0 && S_ISDIR(about.st_mode) ? EISDIR : 0;
}

static void close_here(struct weft_file *file)
{
    if (file->fd >= 0) {
        (void)close(file->fd); /* what is written was told by sync */
        file->fd = -1;
    }
}

/* ---- opening ---- */

/* Do all members ask for the same, and is nothing wrong with what they ask? */
static int compare(const struct weft_file_ask *ask, struct weft_comm *own)
{
    int64_t numbers[3] = {ask->fault, ask->amode, -(int64_t)ask->amode};
    enum weft_rc rc = weft_io_largest(own, ask->call, numbers, 3);

    if (rc != WEFT_OK) {
        return weft_io_fault_of(rc);
    }
    if (numbers[0] != 0) {
        return (int)numbers[0];
    }
    return numbers[1] == -numbers[2] ? 0 : WEFT_IO_NOT_SAME;
}

/* The first member opens, and creates if that is asked for; then the others do. */
static int open_in_turn(struct weft_file *file, const char *call)
{
    int fault = 0;
    enum weft_rc rc;

    if (file->comm->rank == 0) {
        fault = open_here(file, true);
    }
    rc = weft_coll_bcast(file->comm, call, &fault, sizeof(fault), 0);
    if (rc != WEFT_OK) {
        return weft_io_fault_of(rc);
    }
    if (fault == 0 && file->comm->rank != 0) {
        fault = open_here(file, false);
    }
    return weft_io_agree(file->comm, call, fault);
}

/* The name of a file from any directory, to be freed, or NULL. */
static char *absolute(const char *name)
{
    char *here = name[0] != '/' ? getcwd(NULL, 0) : NULL;
    char *path = NULL;

    if (here == NULL) { /* or nobody can tell where this is */
        return strdup(name);
    }
    if (asprintf(&path, "%s/%s", here, name) < 0) {
        path = NULL;
    }
    free(here);
    return path;
}

/* With the lock. */
static enum weft_rc take(const struct weft_file_ask *ask, struct weft_comm *own,
                         bool is_one_node, struct weft_file **out)
{
    struct weft_datatype *byte = weft_datatype_from_handle(MPI_BYTE);
    const struct weft_view view = {
        .etype = byte,
        .filetype = byte,
        .in_file = byte,
        .etype_bytes = 1,
        .representation = weft_representation_native(),
    };
    struct weft_file *file;
    enum weft_rc rc = weft_file_take(&file);

    if (rc != WEFT_OK) {
        return rc;
    }
    file->comm = own;
    file->amode = ask->amode;
    file->name = strdup(ask->name);
    file->path = absolute(ask->name);
    file->hints = weft_file_hints_default(is_one_node);
    weft_object_lock();
    weft_file_hints_update(&file->hints, ask->info);
    weft_object_unlock();
    rc = file->name != NULL && file->path != NULL ? weft_view_make(&view, &file->view)
                                                  : WEFT_ERR_NOMEM;
    if (rc == WEFT_OK) {
        rc = weft_collective_open(file);
    }
    if (rc != WEFT_OK) {
        weft_file_give(file);
        return rc;
    }
    *out = file;
    return WEFT_OK;
}

static void give(struct weft_file *file)
{
    struct weft_comm *own = file->comm;

    weft_lock();
    weft_collective_close(file);
    weft_file_give(file);
    weft_engine_leave();
    weft_unlock();
    (void)weft_comm_free(own); /* it has no attributes */
}

/* What the members do together, once this one has an object. */
static int meet(struct weft_file *file, const struct weft_file_ask *ask)
{
    uint64_t start = 0;
    int fault = open_in_turn(file, ask->call);

    if (fault == 0 && (ask->amode & MPI_MODE_APPEND) != 0) {
        fault = weft_file_size(file, &start);
    }
    if (fault == 0) {
        file->position = start;
        fault = weft_pointer_open(file, start, ask->call);
    }
    return fault;
}

/* A member without memory for its object still takes part until all know. */
static int open_with(const struct weft_file_ask *ask, struct weft_comm *own,
                     struct weft_file **out)
{
    struct weft_file_ask mine = *ask;
    const struct weft_spread *spread = NULL;
    struct weft_file *file = NULL;
    enum weft_rc rc = weft_coll_spread(own->group, &spread);
    int fault;

    weft_lock();
    if (mine.fault == 0 && rc == WEFT_OK) {
        rc = take(ask, own, spread == NULL, &file);
    }
    mine.fault = mine.fault != 0 ? mine.fault : weft_io_fault_of(rc);
    weft_unlock();
    fault = compare(&mine, own);
    if (file == NULL) {
        (void)weft_comm_free(own);
        return fault;
    }
    if (fault == 0) {
        fault = meet(file, ask);
    }
    if (fault != 0) {
        close_here(file);
        give(file);
        return fault;
    }
    *out = file;
    return 0;
}

int weft_file_open(const struct weft_file_ask *ask, struct weft_file **out)
{
    struct weft_comm *own;
    enum weft_rc rc;

    weft_assert_unlocked();
    rc = weft_comm_create(ask->call, ask->comm, ask->comm->group, &own);
    return rc == WEFT_OK ? open_with(ask, own, out) : weft_io_fault_of(rc);
}

/* ---- closing ---- */

/* The file whose descriptor was as `about` says, wherever the process is now. If another
 * file has its name, that one stays. */
static int delete_it(const struct weft_file *file, const struct stat *about)
{
    struct stat now;

    if (stat(file->path, &now) != 0) {
        return errno;
    }
    return now.st_dev == about->st_dev && now.st_ino == about->st_ino
               ? weft_file_delete(file->path)
               : ENOENT;
}

/* Once no member has it open any more. */
static int delete_closed(const struct weft_file *file, const struct stat *about,
                         const char *call)
{
    int fault = 0;

    if (weft_coll_barrier(file->comm, call) == WEFT_OK && file->comm->rank == 0) {
        fault = delete_it(file, about);
    }
    return weft_io_agree(file->comm, call, fault);
}

int weft_file_close(struct weft_file *file, const char *call)
{
    const bool is_deleted = (file->amode & MPI_MODE_DELETE_ON_CLOSE) != 0;
    int fault = is_deleted ? 0 : weft_file_flush(file);
    struct stat about = {.st_ino = 0};

    weft_assert_unlocked();
    if (is_deleted && fstat(file->fd, &about) != 0) {
        fault = errno;
    }
    close_here(file);
    fault = weft_io_agree(file->comm, call, fault);
    weft_pointer_close(file, call);
    if (is_deleted && fault == 0) {
        fault = delete_closed(file, &about, call);
    }
    return fault;
}

void weft_file_free(struct weft_file *file)
{
    give(file);
}

int weft_file_delete(const char *name)
{
    struct stat about;

    if (lstat(name, &about) == 0 && S_ISDIR(about.st_mode)) {
        return EISDIR; /* unlink() says EISDIR or EPERM */
    }
    return unlink(name) == 0 ? 0 : errno;
}
