#include "io/seek.h"

#include "engine/lock.h"
#include "io/manage.h"

#include <errno.h>

/* The etype at the end of the file, by the view. */
static int find_end(struct weft_file *file, uint64_t *etype)
{
    uint64_t size = 0;
    int fault = weft_file_size(file, &size);

    weft_lock();
    *etype = weft_view_etype_at(file->view, size);
    weft_unlock();
    return fault == 0 && *etype == WEFT_VIEW_NO_ETYPE ? EOVERFLOW : fault;
}

int weft_file_seek_to(struct weft_file *file, uint64_t now, int64_t etype, int whence,
                      int64_t *out)
{
    uint64_t from = 0;
    int fault = 0;

    if (whence == MPI_SEEK_CUR) {
        from = now;
    } else if (whence == MPI_SEEK_END) {
        fault = find_end(file, &from);
    }
    if (fault == 0 && __builtin_add_overflow((int64_t)from, etype, out)) {
        fault = EOVERFLOW;
    }
    return fault;
}

int weft_file_seek_from(struct weft_file *file, uint64_t now, int64_t etype, int whence,
                        int64_t *out)
{
    int fault = weft_file_seek_to(file, now, etype, whence, out);

    return fault == 0 && *out < 0 ? EINVAL : fault;
}
