/*
 * win_make.c - MPI-5.0 chapter 12.2: windows are made and freed, and memory is attached
 * to dynamic ones.
 */
#include "binding.h"

#include "check/info.h"
#include "check/rc.h"
#include "check/win.h"
#include "engine/lock.h"
#include "rma/attach.h"
#include "rma/make.h"
#include "rma/near.h"

#include <limits.h>

/* ---- making ---- */

static int check_sizes(const struct weft_win_ask *ask)
{
    if (ask->size < 0) {
        return weft_raise_comm(ask->comm, ask->call, WEFT_E_WIN_SIZE,
                               (long long)ask->size);
    }
    if (ask->unit < 1) {
        return weft_raise_comm(ask->comm, ask->call, WEFT_E_WIN_UNIT,
                               (long long)ask->unit);
    }
    if (ask->flavor == MPI_WIN_FLAVOR_CREATE && ask->base == NULL && ask->size > 0) {
        return weft_raise_comm(ask->comm, ask->call, WEFT_E_WIN_BASE,
                               (long long)ask->size);
    }
    return MPI_SUCCESS;
}

static int raise_made(const struct weft_win_ask *ask, enum weft_rc rc)
{
    if (ask->flavor == MPI_WIN_FLAVOR_SHARED && rc == WEFT_ERR_UNSUPPORTED) {
        return weft_raise_comm(ask->comm, ask->call, WEFT_E_WIN_SHARED);
    }
    if (ask->flavor == MPI_WIN_FLAVOR_SHARED && rc == WEFT_ERR_NOMEM) {
        return weft_raise_comm(ask->comm, ask->call, WEFT_E_WIN_NO_SHARED,
                               (long long)ask->size);
    }
    return weft_raise_rc(ask->comm, rc, ask->call);
}

/* `ask` has what the user gave but for the communicator and the info. `base` is where the
 * address of memory goes that the library allocates, or NULL. */
static int make_checked(struct weft_win_ask *ask, MPI_Comm comm, MPI_Info info,
                        void **base, MPI_Win *win)
{
    struct weft_info *hints = NULL;
    struct weft_win *made;
    enum weft_rc rc;
    int err = weft_check_intra(ask->call, comm, &ask->comm);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(ask->call, ask->comm, win, "win");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_info_or_null(ask->call, ask->comm, info, &hints);
    }
    if (err == MPI_SUCCESS) {
        err = check_sizes(ask);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    ask->info = hints;
    rc = weft_win_make(ask, &made);
    if (rc == WEFT_OK) {
        *win = made->handle;
        if (base != NULL) {
            *base = made->base;
        }
    }
    return raise_made(ask, rc);
}

static int allocate_checked(const char *function, int flavor, MPI_Aint size,
                            MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                            void *baseptr, MPI_Win *win)
{
    struct weft_win_ask ask = {
        .call = function, .flavor = flavor, .size = size, .unit = disp_unit};
    struct weft_comm *c;
    int err = weft_check_comm(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, baseptr, "baseptr");
    }
    return err == MPI_SUCCESS ? make_checked(&ask, comm, info, baseptr, win) : err;
}

int PMPI_Win_create(void *base, MPI_Aint size, int disp_unit, MPI_Info info,
                    MPI_Comm comm, MPI_Win *win)
{
    WEFT_RECORD(Win_create, comm, WEFT_PLANE_RMA, WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);
    struct weft_win_ask ask = {.call = "MPI_Win_create",
                               .flavor = MPI_WIN_FLAVOR_CREATE,
                               .base = base,
                               .size = size,
                               .unit = disp_unit};

    return make_checked(&ask, comm, info, NULL, win);
}
WEFT_WEAK_ALIAS(MPI_Win_create, PMPI_Win_create);

int PMPI_Win_create_c(void *base, MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                      MPI_Comm comm, MPI_Win *win)
{
    WEFT_RECORD(Win_create_c, comm, WEFT_PLANE_RMA, WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);
    struct weft_win_ask ask = {.call = "MPI_Win_create_c",
                               .flavor = MPI_WIN_FLAVOR_CREATE,
                               .base = base,
                               .size = size,
                               .unit = disp_unit};

    return make_checked(&ask, comm, info, NULL, win);
}
WEFT_WEAK_ALIAS(MPI_Win_create_c, PMPI_Win_create_c);

int PMPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                      void *baseptr, MPI_Win *win)
{
    WEFT_RECORD(Win_allocate, comm, WEFT_PLANE_RMA, WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);

    return allocate_checked("MPI_Win_allocate", MPI_WIN_FLAVOR_ALLOCATE, size, disp_unit,
                            info, comm, baseptr, win);
}
WEFT_WEAK_ALIAS(MPI_Win_allocate, PMPI_Win_allocate);

int PMPI_Win_allocate_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info, MPI_Comm comm,
                        void *baseptr, MPI_Win *win)
{
    WEFT_RECORD(Win_allocate_c, comm, WEFT_PLANE_RMA, WEFT_DOING_UNKNOWN, MPI_ANY_TAG, 0);

    return allocate_checked("MPI_Win_allocate_c", MPI_WIN_FLAVOR_ALLOCATE, size,
                            disp_unit, info, comm, baseptr, win);
}
WEFT_WEAK_ALIAS(MPI_Win_allocate_c, PMPI_Win_allocate_c);

int PMPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                             void *baseptr, MPI_Win *win)
{
    WEFT_RECORD(Win_allocate_shared, comm, WEFT_PLANE_RMA, WEFT_DOING_UNKNOWN,
                MPI_ANY_TAG, 0);

    return allocate_checked("MPI_Win_allocate_shared", MPI_WIN_FLAVOR_SHARED, size,
                            disp_unit, info, comm, baseptr, win);
}
WEFT_WEAK_ALIAS(MPI_Win_allocate_shared, PMPI_Win_allocate_shared);

int PMPI_Win_allocate_shared_c(MPI_Aint size, MPI_Aint disp_unit, MPI_Info info,
                               MPI_Comm comm, void *baseptr, MPI_Win *win)
{
    WEFT_RECORD(Win_allocate_shared_c, comm, WEFT_PLANE_RMA, WEFT_DOING_UNKNOWN,
                MPI_ANY_TAG, 0);

    return allocate_checked("MPI_Win_allocate_shared_c", MPI_WIN_FLAVOR_SHARED, size,
                            disp_unit, info, comm, baseptr, win);
}
WEFT_WEAK_ALIAS(MPI_Win_allocate_shared_c, PMPI_Win_allocate_shared_c);

int PMPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    WEFT_RECORD(Win_create_dynamic, comm, WEFT_PLANE_RMA, WEFT_DOING_UNKNOWN, MPI_ANY_TAG,
                0);
    struct weft_win_ask ask = {
        .call = "MPI_Win_create_dynamic", .flavor = MPI_WIN_FLAVOR_DYNAMIC, .unit = 1};

    return make_checked(&ask, comm, info, NULL, win);
}
WEFT_WEAK_ALIAS(MPI_Win_create_dynamic, PMPI_Win_create_dynamic);

/* ---- the end ---- */

int PMPI_Win_free(MPI_Win *win)
{
    WEFT_RECORD_PLAIN(Win_free);
    static const char function[] = "MPI_Win_free";
    struct weft_win *w;
    int err = weft_check_out(function, NULL, win, "win");

    if (err == MPI_SUCCESS) {
        err = weft_check_win(function, *win, &w);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_epoch(function, w, weft_epoch_may_free(&w->epoch));
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    err = weft_attributes_clear(WEFT_KIND_WIN, *win, &w->attributes);
    if (err != MPI_SUCCESS) {
        return weft_raise_win(w, function, err, WEFT_T_RAISED);
    }
    err = weft_raise_win_rc(w, weft_win_leave(w, function), function);
    weft_win_free(w, err == MPI_SUCCESS, function);
    *win = MPI_WIN_NULL;
    return err;
}
WEFT_WEAK_ALIAS(MPI_Win_free, PMPI_Win_free);

/* ---- dynamic windows ---- */

static int check_dynamic(const char *function, MPI_Win win, struct weft_win **out)
{
    int err = weft_check_win(function, win, out);

    if (err == MPI_SUCCESS && (*out)->flavor != MPI_WIN_FLAVOR_DYNAMIC) {
        err = weft_raise_win(*out, function, WEFT_E_WIN_FLAVOR, "MPI_Win_create_dynamic");
    }
    return err;
}

int PMPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    static const char function[] = "MPI_Win_attach";
    struct weft_win *w;
    enum weft_rc rc;
    int err = check_dynamic(function, win, &w);

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (size < 0) {
        return weft_raise_win(w, function, WEFT_E_WIN_SIZE, (long long)size);
    }
    if (base == NULL && size > 0) {
        return weft_raise_win(w, function, WEFT_E_WIN_BASE, (long long)size);
    }
    weft_lock();
    rc = weft_region_attach(w, base, (uint64_t)size);
    weft_unlock();
    return rc == WEFT_ERR_ARGUMENT
               ? weft_raise_win(w, function, WEFT_E_WIN_ATTACH, (long long)size)
               : weft_raise_win_rc(w, rc, function);
}
WEFT_WEAK_ALIAS(MPI_Win_attach, PMPI_Win_attach);

int PMPI_Win_detach(MPI_Win win, const void *base)
{
    static const char function[] = "MPI_Win_detach";
    struct weft_win *w;
    bool was_there;
    int err = check_dynamic(function, win, &w);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    was_there = weft_region_detach(w, base);
    weft_unlock();
    return was_there ? MPI_SUCCESS : weft_raise_win(w, function, WEFT_E_WIN_DETACH, base);
}
WEFT_WEAK_ALIAS(MPI_Win_detach, PMPI_Win_detach);

/* ---- shared windows ---- */

/* The lowest rank whose memory is not empty and is shared with the caller; MPI_PROC_NULL
 * if there is none. */
static int first_shared(struct weft_win *w)
{
    for (int r = 0; r < w->comm->size; r++) {
        if (weft_win_size_of(&w->parts, r) > 0 && weft_near_is_shared(w, r) &&
            weft_near_map(w, r) != NULL) {
            return r;
        }
    }
    return MPI_PROC_NULL;
}

/* Memory that loads and stores of the caller do not reach has no bytes here. */
static void tell_part(struct weft_win *w, int rank, MPI_Aint *size, MPI_Aint *unit,
                      void *baseptr)
{
    char *memory = NULL;

    rank = rank == MPI_PROC_NULL ? first_shared(w) : rank;
    *size = 0;
    *unit = w->unit;
    if (rank != MPI_PROC_NULL) {
        const uint64_t bytes = weft_win_size_of(&w->parts, rank);

        memory = bytes > 0 ? weft_near_map(w, rank) : NULL;
        *size = memory != NULL ? (MPI_Aint)bytes : 0;
        *unit = (MPI_Aint)weft_win_unit_of(&w->parts, rank);
    }
    *(void **)baseptr = memory;
}

static int query_checked(const char *function, MPI_Win win, int rank, MPI_Aint *size,
                         MPI_Aint *unit, void *baseptr)
{
    struct weft_win *w;
    int err = weft_check_win(function, win, &w);

    if (err == MPI_SUCCESS && w->flavor == MPI_WIN_FLAVOR_DYNAMIC) {
        err = weft_raise_win(w, function, WEFT_E_WIN_FLAVOR, "MPI_Win_allocate_shared");
    }
    if (err == MPI_SUCCESS && rank != MPI_PROC_NULL) {
        err = weft_check_win_rank(function, w, rank);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_win_out(function, w, size, "size");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_win_out(function, w, baseptr, "baseptr");
    }
    if (err == MPI_SUCCESS) {
        tell_part(w, rank, size, unit, baseptr);
    }
    return err;
}

int PMPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint *size, int *disp_unit,
                          void *baseptr)
{
    MPI_Aint unit = 1;
    int err = disp_unit != NULL
                  ? query_checked("MPI_Win_shared_query", win, rank, size, &unit, baseptr)
                  : weft_check_out("MPI_Win_shared_query", NULL, disp_unit, "disp_unit");

    if (err == MPI_SUCCESS) {
        *disp_unit = unit <= INT_MAX ? (int)unit : MPI_UNDEFINED;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Win_shared_query, PMPI_Win_shared_query);

int PMPI_Win_shared_query_c(MPI_Win win, int rank, MPI_Aint *size, MPI_Aint *disp_unit,
                            void *baseptr)
{
    return disp_unit != NULL
               ? query_checked("MPI_Win_shared_query_c", win, rank, size, disp_unit,
                               baseptr)
               : weft_check_out("MPI_Win_shared_query_c", NULL, disp_unit, "disp_unit");
}
WEFT_WEAK_ALIAS(MPI_Win_shared_query_c, PMPI_Win_shared_query_c);
