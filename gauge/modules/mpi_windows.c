/*
 * mpi_windows.c - windows of MPI: put, get, and the epochs of active targets.
 *
 * The window has a displacement unit of one byte, and spans MPI_COMM_WORLD. Its errors
 * are returned and reported as those of messages are.
 */
#include "gauge/modules/mpi_object.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

static enum gauge_rc make(struct mpi *mpi, size_t size, bool is_allocated, void **memory)
{
    if (is_allocated) {
        return judge(MPI_Win_allocate((MPI_Aint)size, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                                      memory, &mpi->window),
                     "MPI_Win_allocate");
    }
    mpi->created = aligned_alloc(PAGE, (size + PAGE - 1) / PAGE * PAGE);
    if (mpi->created == NULL) {
        return gauge_mpi_fail("mpi: no memory for a window of %zu bytes", size);
    }
    *memory = mpi->created;
    return judge(MPI_Win_create(mpi->created, (MPI_Aint)size, 1, MPI_INFO_NULL,
                                MPI_COMM_WORLD, &mpi->window),
                 "MPI_Win_create");
}

static enum gauge_rc windows_open(struct gauge_module *module, size_t size,
                                  bool is_allocated, void **memory)
{
    struct mpi *mpi = mpi_of(module);
    enum gauge_rc rc = GAUGE_OK;

    mpi->chosen = MPI_GROUP_NULL;
    mpi->created = NULL;
    rc = make(mpi, size, is_allocated, memory);
    if (rc != GAUGE_OK) {
        free(mpi->created);
        mpi->created = NULL;
        return rc;
    }
    MPI_Win_set_errhandler(mpi->window, MPI_ERRORS_RETURN);
    memset(*memory, 0, size);
    return judge(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
}

static void forget_chosen(struct mpi *mpi)
{
    if (mpi->chosen != MPI_GROUP_NULL) {
        MPI_Group_free(&mpi->chosen);
    }
}

static void windows_close(struct gauge_module *module)
{
    struct mpi *mpi = mpi_of(module);

    forget_chosen(mpi);
    MPI_Win_free(&mpi->window);
    free(mpi->created);
    mpi->created = NULL;
}

static enum gauge_rc windows_choose(struct gauge_module *module, const int *ends,
                                    int count)
{
    struct mpi *mpi = mpi_of(module);
    int *ranks = calloc((size_t)count, sizeof(*ranks));
    MPI_Group world = MPI_GROUP_NULL;
    enum gauge_rc rc = GAUGE_OK;

    if (ranks == NULL) {
        return gauge_mpi_fail("mpi: no memory for %d ends", count);
    }
    for (int i = 0; i < count; i++) {
        ranks[i] = rank_of(module, ends[i]);
    }
    forget_chosen(mpi);
    rc = judge(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    if (rc == GAUGE_OK) {
        rc = judge(MPI_Group_incl(world, count, ranks, &mpi->chosen), "MPI_Group_incl");
        MPI_Group_free(&world);
    }
    free(ranks);
    return rc;
}

static enum gauge_rc windows_post(struct gauge_module *module)
{
    const struct mpi *mpi = mpi_of(module);

    return judge(MPI_Win_post(mpi->chosen, 0, mpi->window), "MPI_Win_post");
}

static enum gauge_rc windows_wait(struct gauge_module *module)
{
    return judge(MPI_Win_wait(mpi_of(module)->window), "MPI_Win_wait");
}

static enum gauge_rc windows_start(struct gauge_module *module)
{
    const struct mpi *mpi = mpi_of(module);

    return judge(MPI_Win_start(mpi->chosen, 0, mpi->window), "MPI_Win_start");
}

static enum gauge_rc windows_complete(struct gauge_module *module)
{
    return judge(MPI_Win_complete(mpi_of(module)->window), "MPI_Win_complete");
}

static enum gauge_rc windows_fence(struct gauge_module *module, bool is_first,
                                   bool is_last)
{
    int promise =
        (is_first ? MPI_MODE_NOPRECEDE : 0) | (is_last ? MPI_MODE_NOSUCCEED : 0);

    return judge(MPI_Win_fence(promise, mpi_of(module)->window), "MPI_Win_fence");
}

static enum gauge_rc windows_put(struct gauge_module *module, int target, size_t at,
                                 const void *buffer, size_t size)
{
    return judge(MPI_Put(buffer, (int)size, MPI_BYTE, rank_of(module, target),
                         (MPI_Aint)at, (int)size, MPI_BYTE, mpi_of(module)->window),
                 "MPI_Put");
}

static enum gauge_rc windows_get(struct gauge_module *module, int target, size_t at,
                                 void *buffer, size_t size)
{
    return judge(MPI_Get(buffer, (int)size, MPI_BYTE, rank_of(module, target),
                         (MPI_Aint)at, (int)size, MPI_BYTE, mpi_of(module)->window),
                 "MPI_Get");
}

const struct gauge_one_sided gauge_mpi_windows = {
    .open = windows_open,
    .close = windows_close,
    .choose = windows_choose,
    .post = windows_post,
    .wait = windows_wait,
    .start = windows_start,
    .complete = windows_complete,
    .fence = windows_fence,
    .put = windows_put,
    .get = windows_get,
};
