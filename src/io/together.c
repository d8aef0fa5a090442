#include "io/together.h"

#include "base/crc32c.h"
#include "coll/coll.h"
#include "io/agree.h"
#include "io/manage.h"
#include "io/representation.h"
#include "io/seek.h"
#include "io/pointer.h"

#include <errno.h>
#include <string.h>

/* All members gave the same number, and no fault. */
static int compare(struct weft_file *file, int64_t number, int fault, const char *call)
{
    int64_t numbers[3] = {fault, number, -number};
    enum weft_rc rc = weft_io_largest(file->comm, call, numbers, 3);

    if (rc != WEFT_OK) {
        return weft_io_fault_of(rc);
    }
    if (numbers[0] != 0) {
        return (int)numbers[0];
    }
    return numbers[1] == -numbers[2] ? 0 : WEFT_IO_NOT_SAME;
}

/* The first member does what is done once for all of them. */
static int first_does(struct weft_file *file, const char *call, uint64_t number,
                      int (*act)(const struct weft_file *file, uint64_t number))
{
    int fault = file->comm->rank == 0 ? act(file, number) : 0;
    enum weft_rc rc = weft_coll_bcast(file->comm, call, &fault, sizeof(fault), 0);

    return rc == WEFT_OK ? fault : weft_io_fault_of(rc);
}

int weft_file_set_size(struct weft_file *file, int64_t size, int fault, const char *call)
{
    fault = compare(file, size, fault, call);
    return fault != 0 ? fault : first_does(file, call, (uint64_t)size, weft_file_resize);
}

int weft_file_preallocate(struct weft_file *file, int64_t size, int fault,
                          const char *call)
{
    fault = compare(file, size, fault, call);
    return fault != 0 ? fault : first_does(file, call, (uint64_t)size, weft_file_reserve);
}

int weft_file_sync(struct weft_file *file, const char *call)
{
    return weft_io_agree(file->comm, call, weft_file_flush(file));
}

int weft_file_set_atomic(struct weft_file *file, bool is_atomic, const char *call)
{
    int fault = compare(file, is_atomic, 0, call);

    if (fault == 0) {
        weft_lock();
        file->is_atomic = is_atomic;
        weft_unlock();
    }
    return fault;
}

/* ---- the shared pointer ---- */

static int reset_shared(struct weft_file *file, uint64_t etype, const char *call)
{
    int fault = file->comm->rank == 0 ? weft_pointer_set(file, etype, call) : 0;

    return weft_io_agree(file->comm, call, fault);
}

int weft_file_seek_shared(struct weft_file *file, int64_t etype, int64_t whence,
                          int fault, const char *call)
{
    uint64_t now = 0;
    int64_t there = 0;

    if (fault == 0) {
        fault = compare(file, whence, 0, call);
    } else {
        fault = compare(file, 0, fault, call);
    }
    fault = fault == 0 ? compare(file, etype, 0, call) : fault;
    if (fault == 0) {
        fault = weft_pointer_add(file, 0, call, &now);
    }
    if (fault == 0) {
        fault = weft_file_seek_from(file, now, etype, (int)whence, &there);
    }
    fault = weft_io_agree(file->comm, call, fault);
    return fault != 0 ? fault : reset_shared(file, (uint64_t)there, call);
}

/* ---- views ---- */

/* What must be the same in the views of all members, as one number. */
static int64_t sum_of(const struct weft_view *view)
{
    const char *name = view->representation->name;

    return (int64_t)(weft_crc32c(name, strlen(name)) ^ view->etype_bytes << 32);
}

static void replace_view(struct weft_file *file, struct weft_view *made)
{
    weft_lock();
    weft_view_release(file->view);
    file->view = made;
    file->position = 0;
    weft_unlock();
}

/* Where the shared pointer is, as a file offset. */
static int find_current(struct weft_file *file, const char *call, uint64_t *offset)
{
    uint64_t etype = 0;
    int fault = weft_pointer_add(file, 0, call, &etype);

    *offset = weft_view_offset(file->view, etype * file->view->etype_bytes);
    return weft_io_agree(file->comm, call, fault); /* nobody moves it before */
}

int weft_file_set_view(struct weft_file *file, struct weft_view *view, bool is_current,
                       int fault, const char *call)
{
    struct weft_view *made = NULL;

    if (fault == 0) {
        /* In a file that is written no blocks overlap: that was checked. */
        view->is_overlapping = !weft_file_is_written(file) && weft_view_overlaps(view);
        weft_lock();
        fault = weft_io_fault_of(weft_view_make(view, &made));
        weft_unlock();
    }
    fault = compare(file, made != NULL ? sum_of(made) : 0, fault, call);
    if (fault == 0 && is_current) {
        fault = find_current(file, call, &made->displacement);
    }
    if (fault != 0 && made != NULL) {
        weft_lock();
        weft_view_release(made);
        weft_unlock();
    }
    if (fault != 0) {
        return fault;
    }
    replace_view(file, made);
    return reset_shared(file, 0, call);
}
