/*
 * rma.c - MPI-5.0 chapter 12.3: put and get.
 */
#include "binding.h"

#include "rma.h"

#include "check/p2p.h"
#include "rma/combine.h"
#include "rma/fast.h"

#include "engine/lock.h"

/* The request of an operation that is over when it is called. */
static int give_done(MPI_Request *request)
{
    if (request != NULL) {
        *request = weft_request_sent.handle;
    }
    return MPI_SUCCESS;
}

int weft_rma_checked(const struct weft_rma_args *args, MPI_Request *request)
{
    struct weft_request *made = NULL;
    struct weft_rma_call call;
    struct weft_win *win;
    bool is_empty;
    enum weft_rc rc;
    int err = weft_check_rma(args, &win, &call, &is_empty);

    if (err == MPI_SUCCESS && args->has_request) {
        err = weft_check_win_out(args->function, win, request, "request");
    }
    if (err != MPI_SUCCESS || is_empty) {
        return err == MPI_SUCCESS ? give_done(request) : err;
    }
    rc = weft_rma_start(win, &call, args->has_request ? &made : NULL);
    if (rc == WEFT_OK && request != NULL) {
        *request = made != NULL ? made->handle : weft_request_sent.handle;
    }
    return weft_raise_win_rc(win, rc, args->function);
}

int weft_rma_noted(const struct weft_rma_args *args, enum weft_call_number call,
                   const void *site)
{
    int err;

    weft_record_plain(call, site);
    err = weft_rma_checked(args, NULL);
    weft_record_end();
    return err;
}

/*
 * The short way (rma/fast.h) of data that are one block of the same type and length on
 * both sides. False: there is none for this call.
 */
static inline bool move(const void *ours, MPI_Count origin_count, MPI_Datatype type,
                        int rank, MPI_Aint disp, MPI_Count target_count,
                        MPI_Datatype target_type, MPI_Win handle, bool is_put)
{
    struct weft_win *win = weft_win_from_handle(handle);
    const struct weft_near *near;
    uint32_t bytes;
    char *theirs;

    if (weft_unlikely(win == NULL || type != target_type ||
                      origin_count != target_count ||
                      !weft_is_plain_buffer(ours, origin_count, type, &bytes))) {
        return false;
    }
    theirs = weft_fast_place(win, rank, disp, bytes, &near);
    if (weft_unlikely(theirs == NULL)) {
        return weft_fast_copy(win, rank, disp, (void *)(uintptr_t)ours, bytes, is_put) ||
               (weft_combine_is_any(win) &&
                weft_combine_more(win, rank, disp, (void *)(uintptr_t)ours, bytes,
                                  is_put));
    }
    if (is_put) {
        weft_copy(theirs, ours, bytes);
    } else {
        weft_copy((void *)(uintptr_t)ours, theirs, bytes);
    }
    return true;
}

/*
 * The shortest way: the same, for a window that has its place (rma/win.h), memory that is
 * mapped, and an epoch for the target alone. Nothing is called, so that the caller need
 * not save its arguments. False: move() knows more.
 */
static inline bool find(const void *ours, MPI_Count origin_count, MPI_Datatype type,
                        int rank, MPI_Aint disp, MPI_Count target_count,
                        MPI_Datatype target_type, MPI_Win handle, char **theirs,
                        size_t *bytes)
{
    struct weft_win *win;

    return weft_likely(weft_win_from_place(handle, &win) && type == target_type &&
                       origin_count == target_count &&
                       weft_is_plain_block(ours, origin_count, type, bytes) &&
                       weft_fast_address(win, rank, disp, *bytes, theirs));
}

/* What is too long to be copied in line. */
static __attribute__((noinline)) int copy_long(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    weft_recorder_count();
    return MPI_SUCCESS;
}

static inline int copy(void *to, const void *from, size_t bytes)
{
    if (weft_unlikely(bytes > WEFT_COPY_INLINE)) {
        return copy_long(to, from, bytes);
    }
    weft_copy(to, from, bytes);
    return MPI_SUCCESS;
}

static __attribute__((noinline)) int put_slowly(const void *origin_addr, int origin_count,
                                                MPI_Datatype origin_datatype,
                                                int target_rank, MPI_Aint target_disp,
                                                int target_count,
                                                MPI_Datatype target_datatype, MPI_Win win)
{
    const struct weft_rma_args args = {
        .function = "MPI_Put",
        .kind = WEFT_RMA_PUT,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .win = win,
    };

    return weft_rma_noted(&args, WEFT_CALL_Put, __builtin_return_address(0));
}

/* The arguments of put_slowly() are not made before it is clear that they are needed. */
static __attribute__((noinline)) int
put_otherwise(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
              int target_rank, MPI_Aint target_disp, int target_count,
              MPI_Datatype target_datatype, MPI_Win win)
{
    return weft_likely(move(origin_addr, origin_count, origin_datatype, target_rank,
                            target_disp, target_count, target_datatype, win, true))
               ? MPI_SUCCESS
               : put_slowly(origin_addr, origin_count, origin_datatype, target_rank,
                            target_disp, target_count, target_datatype, win);
}

int PMPI_Put(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
             int target_rank, MPI_Aint target_disp, int target_count,
             MPI_Datatype target_datatype, MPI_Win win)
{
    size_t bytes;
    char *theirs;

    if (find(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
             target_count, target_datatype, win, &theirs, &bytes)) {
        return copy(theirs, origin_addr, bytes);
    }
    return put_otherwise(origin_addr, origin_count, origin_datatype, target_rank,
                         target_disp, target_count, target_datatype, win);
}
WEFT_WEAK_ALIAS(MPI_Put, PMPI_Put);

static __attribute__((noinline)) int get_slowly(void *origin_addr, int origin_count,
                                                MPI_Datatype origin_datatype,
                                                int target_rank, MPI_Aint target_disp,
                                                int target_count,
                                                MPI_Datatype target_datatype, MPI_Win win)
{
    const struct weft_rma_args args = {
        .function = "MPI_Get",
        .kind = WEFT_RMA_GET,
        .result = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .win = win,
    };

    return weft_rma_noted(&args, WEFT_CALL_Get, __builtin_return_address(0));
}

/* The arguments of get_slowly() are not made before it is clear that they are needed. */
static __attribute__((noinline)) int
get_otherwise(void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
              int target_rank, MPI_Aint target_disp, int target_count,
              MPI_Datatype target_datatype, MPI_Win win)
{
    return weft_likely(move(origin_addr, origin_count, origin_datatype, target_rank,
                            target_disp, target_count, target_datatype, win, false))
               ? MPI_SUCCESS
               : get_slowly(origin_addr, origin_count, origin_datatype, target_rank,
                            target_disp, target_count, target_datatype, win);
}

int PMPI_Get(void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
             int target_rank, MPI_Aint target_disp, int target_count,
             MPI_Datatype target_datatype, MPI_Win win)
{
    size_t bytes;
    char *theirs;

    if (find(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
             target_count, target_datatype, win, &theirs, &bytes)) {
        return copy(origin_addr, theirs, bytes);
    }
    return get_otherwise(origin_addr, origin_count, origin_datatype, target_rank,
                         target_disp, target_count, target_datatype, win);
}
WEFT_WEAK_ALIAS(MPI_Get, PMPI_Get);

int PMPI_Rput(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
              int target_rank, MPI_Aint target_disp, int target_count,
              MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Rput);

    const struct weft_rma_args args = {
        .function = "MPI_Rput",
        .kind = WEFT_RMA_PUT,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .win = win,
        .has_request = true,
    };

    return weft_rma_checked(&args, request);
}
WEFT_WEAK_ALIAS(MPI_Rput, PMPI_Rput);

int PMPI_Rget(void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
              int target_rank, MPI_Aint target_disp, int target_count,
              MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Rget);

    const struct weft_rma_args args = {
        .function = "MPI_Rget",
        .kind = WEFT_RMA_GET,
        .result = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .win = win,
        .has_request = true,
    };

    return weft_rma_checked(&args, request);
}
WEFT_WEAK_ALIAS(MPI_Rget, PMPI_Rget);

static __attribute__((noinline)) int
put_c_slowly(const void *origin_addr, MPI_Count origin_count,
             MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
             MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    const struct weft_rma_args args = {
        .function = "MPI_Put_c",
        .kind = WEFT_RMA_PUT,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .win = win,
    };

    return weft_rma_noted(&args, WEFT_CALL_Put_c, __builtin_return_address(0));
}

/* The arguments of put_c_slowly() are not made before it is clear that they are needed.
 */
static __attribute__((noinline)) int
put_c_otherwise(const void *origin_addr, MPI_Count origin_count,
                MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    return weft_likely(move(origin_addr, origin_count, origin_datatype, target_rank,
                            target_disp, target_count, target_datatype, win, true))
               ? MPI_SUCCESS
               : put_c_slowly(origin_addr, origin_count, origin_datatype, target_rank,
                              target_disp, target_count, target_datatype, win);
}

int PMPI_Put_c(const void *origin_addr, MPI_Count origin_count,
               MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
               MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win)
{
    size_t bytes;
    char *theirs;

    if (find(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
             target_count, target_datatype, win, &theirs, &bytes)) {
        return copy(theirs, origin_addr, bytes);
    }
    return put_c_otherwise(origin_addr, origin_count, origin_datatype, target_rank,
                           target_disp, target_count, target_datatype, win);
}
WEFT_WEAK_ALIAS(MPI_Put_c, PMPI_Put_c);

static __attribute__((noinline)) int
get_c_slowly(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
             int target_rank, MPI_Aint target_disp, MPI_Count target_count,
             MPI_Datatype target_datatype, MPI_Win win)
{
    const struct weft_rma_args args = {
        .function = "MPI_Get_c",
        .kind = WEFT_RMA_GET,
        .result = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .win = win,
    };

    return weft_rma_noted(&args, WEFT_CALL_Get_c, __builtin_return_address(0));
}

/* The arguments of get_c_slowly() are not made before it is clear that they are needed.
 */
static __attribute__((noinline)) int
get_c_otherwise(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                MPI_Datatype target_datatype, MPI_Win win)
{
    return weft_likely(move(origin_addr, origin_count, origin_datatype, target_rank,
                            target_disp, target_count, target_datatype, win, false))
               ? MPI_SUCCESS
               : get_c_slowly(origin_addr, origin_count, origin_datatype, target_rank,
                              target_disp, target_count, target_datatype, win);
}

int PMPI_Get_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
               int target_rank, MPI_Aint target_disp, MPI_Count target_count,
               MPI_Datatype target_datatype, MPI_Win win)
{
    size_t bytes;
    char *theirs;

    if (find(origin_addr, origin_count, origin_datatype, target_rank, target_disp,
             target_count, target_datatype, win, &theirs, &bytes)) {
        return copy(origin_addr, theirs, bytes);
    }
    return get_c_otherwise(origin_addr, origin_count, origin_datatype, target_rank,
                           target_disp, target_count, target_datatype, win);
}
WEFT_WEAK_ALIAS(MPI_Get_c, PMPI_Get_c);

int PMPI_Rput_c(const void *origin_addr, MPI_Count origin_count,
                MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                MPI_Count target_count, MPI_Datatype target_datatype, MPI_Win win,
                MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Rput_c);

    const struct weft_rma_args args = {
        .function = "MPI_Rput_c",
        .kind = WEFT_RMA_PUT,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .win = win,
        .has_request = true,
    };

    return weft_rma_checked(&args, request);
}
WEFT_WEAK_ALIAS(MPI_Rput_c, PMPI_Rput_c);

int PMPI_Rget_c(void *origin_addr, MPI_Count origin_count, MPI_Datatype origin_datatype,
                int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                MPI_Datatype target_datatype, MPI_Win win, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Rget_c);

    const struct weft_rma_args args = {
        .function = "MPI_Rget_c",
        .kind = WEFT_RMA_GET,
        .result = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .win = win,
        .has_request = true,
    };

    return weft_rma_checked(&args, request);
}
WEFT_WEAK_ALIAS(MPI_Rget_c, PMPI_Rget_c);
