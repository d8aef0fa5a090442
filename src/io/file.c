#include "io/file.h"

#include "engine/lock.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST = 8 }; /* files in the pool's first block */

static struct weft_pool pool;

void weft_files_open(void)
{
    weft_pool_init(&pool, sizeof(struct weft_file), FIRST, 1u << WEFT_HANDLE_INDEX_BITS);
    weft_handle_register(WEFT_KIND_FILE, &pool);
}

struct weft_file *weft_file_from_handle(MPI_File handle)
{
    return weft_handle_find(WEFT_KIND_FILE, (uintptr_t)handle);
}

enum weft_rc weft_file_take(struct weft_file **out)
{
    void *object;
    uintptr_t handle;
    enum weft_rc rc = weft_handle_take(WEFT_KIND_FILE, &object, &handle);

    weft_assert_locked();
    if (rc == WEFT_OK) {
        struct weft_file *file = object;

        *file = (struct weft_file){
            .handle = (MPI_File)handle,
            .fd = -1,
            .ops = weft_file_posix(),
            .mutex = PTHREAD_MUTEX_INITIALIZER,
        };
        file->errhandler = weft_errhandler_use_at(&weft_file_errhandler);
        *out = file;
    }
    return rc;
}

void weft_file_give(struct weft_file *file)
{
    weft_assert_locked();
    assert(file->split == NULL && file->shared == NULL);
    if (file->view != NULL) {
        weft_view_release(file->view);
    }
    weft_errhandler_release(file->errhandler);
    free(file->name);
    free(file->path);
    weft_handle_give(WEFT_KIND_FILE, (uintptr_t)file->handle);
}
