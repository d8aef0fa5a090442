/*
 * rma_accumulate.c - MPI-5.0 chapter 12.3.4 and 12.3.5: accumulates and atomic
 * operations.
 */
#include "binding.h"

#include "rma.h"

#include "check/p2p.h"
#include "rma/fast.h"

/* The short way (rma/fast.h) of elements that are one block on both sides. */
struct place {
    struct weft_win *win;
    const struct weft_near *near;
    const struct weft_datatype *type;
    char *memory;
    uint32_t bytes;
};

/* False: there is none for this call. Without `memory` it is not mapped. */
static inline bool find(struct place *place, const void *in, MPI_Count count,
                        MPI_Datatype handle, int rank, MPI_Aint disp, MPI_Win win)
{
    place->win = weft_win_from_handle(win);
    if (weft_unlikely(place->win == NULL ||
                      !weft_is_plain_buffer(in, count, handle, &place->bytes) ||
                      place->bytes > WEFT_UPDATE_BYTES)) {
        return false;
    }
    place->type = weft_datatype_from_handle(handle);
    place->memory = weft_fast_place(place->win, rank, disp, place->bytes, &place->near);
    return true;
}

/* `old` is where the values before go, or NULL. */
static inline bool update(const void *in, void *old, MPI_Count count, MPI_Datatype handle,
                          int rank, MPI_Aint disp, MPI_Op op, MPI_Win win)
{
    struct place at;

    if (weft_unlikely(!find(&at, in, count, handle, rank, disp, win) ||
                      !weft_rma_is_defined(op, at.type))) {
        return false;
    }
    if (weft_unlikely(at.memory == NULL)) {
        const struct weft_direct_update one = {op, at.type, in, NULL, old, at.bytes};

        return weft_fast_change(at.win, rank, disp, &one);
    }
    weft_fast_update(at.win, at.near, op, at.type, in, at.memory, old, at.bytes);
    return true;
}

static inline bool swap(const void *in, const void *compare, void *old,
                        MPI_Datatype handle, int rank, MPI_Aint disp, MPI_Win win)
{
    struct place at;

    if (weft_unlikely(compare == NULL || old == NULL ||
                      !find(&at, in, 1, handle, rank, disp, win) ||
                      !weft_rma_can_swap(at.type))) {
        return false;
    }
    if (weft_unlikely(at.memory == NULL)) {
        const struct weft_direct_update one = {MPI_REPLACE, at.type, in,
                                               compare,     old,     at.bytes};

        return weft_fast_change(at.win, rank, disp, &one);
    }
    weft_update_begin(at.win, at.near->words);
    weft_copy(old, at.memory, at.bytes);
    weft_rma_swap(at.type, compare, in, at.memory);
    weft_update_end(at.near->words);
    weft_recorder_count();
    return true;
}

static __attribute__((noinline)) int
accumulate_slowly(const void *origin_addr, int origin_count, MPI_Datatype origin_datatype,
                  int target_rank, MPI_Aint target_disp, int target_count,
                  MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    const struct weft_rma_args args = {
        .function = "MPI_Accumulate",
        .kind = WEFT_RMA_ACCUMULATE,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .op = op,
        .win = win,
    };

    return weft_rma_noted(&args, WEFT_CALL_Accumulate, __builtin_return_address(0));
}

int PMPI_Accumulate(const void *origin_addr, int origin_count,
                    MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                    int target_count, MPI_Datatype target_datatype, MPI_Op op,
                    MPI_Win win)
{
    if (weft_likely(origin_datatype == target_datatype && origin_count == target_count &&
                    op != MPI_NO_OP &&
                    update(origin_addr, NULL, origin_count, origin_datatype, target_rank,
                           target_disp, op, win))) {
        return MPI_SUCCESS;
    }
    return accumulate_slowly(origin_addr, origin_count, origin_datatype, target_rank,
                             target_disp, target_count, target_datatype, op, win);
}
WEFT_WEAK_ALIAS(MPI_Accumulate, PMPI_Accumulate);

int PMPI_Get_accumulate(const void *origin_addr, int origin_count,
                        MPI_Datatype origin_datatype, void *result_addr, int result_count,
                        MPI_Datatype result_datatype, int target_rank,
                        MPI_Aint target_disp, int target_count,
                        MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Get_accumulate);

    const struct weft_rma_args args = {
        .function = "MPI_Get_accumulate",
        .kind = WEFT_RMA_GET_ACCUMULATE,
        .origin = {origin_addr, origin_count, origin_datatype},
        .result = {result_addr, result_count, result_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .op = op,
        .win = win,
    };

    return weft_rma_checked(&args, NULL);
}
WEFT_WEAK_ALIAS(MPI_Get_accumulate, PMPI_Get_accumulate);

int PMPI_Raccumulate(const void *origin_addr, int origin_count,
                     MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                     int target_count, MPI_Datatype target_datatype, MPI_Op op,
                     MPI_Win win, MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Raccumulate);

    const struct weft_rma_args args = {
        .function = "MPI_Raccumulate",
        .kind = WEFT_RMA_ACCUMULATE,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .op = op,
        .win = win,
        .has_request = true,
    };

    return weft_rma_checked(&args, request);
}
WEFT_WEAK_ALIAS(MPI_Raccumulate, PMPI_Raccumulate);

int PMPI_Rget_accumulate(const void *origin_addr, int origin_count,
                         MPI_Datatype origin_datatype, void *result_addr,
                         int result_count, MPI_Datatype result_datatype, int target_rank,
                         MPI_Aint target_disp, int target_count,
                         MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                         MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Rget_accumulate);

    const struct weft_rma_args args = {
        .function = "MPI_Rget_accumulate",
        .kind = WEFT_RMA_GET_ACCUMULATE,
        .origin = {origin_addr, origin_count, origin_datatype},
        .result = {result_addr, result_count, result_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .op = op,
        .win = win,
        .has_request = true,
    };

    return weft_rma_checked(&args, request);
}
WEFT_WEAK_ALIAS(MPI_Rget_accumulate, PMPI_Rget_accumulate);

static __attribute__((noinline)) int
accumulate_c_slowly(const void *origin_addr, MPI_Count origin_count,
                    MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                    MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                    MPI_Win win)
{
    const struct weft_rma_args args = {
        .function = "MPI_Accumulate_c",
        .kind = WEFT_RMA_ACCUMULATE,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .op = op,
        .win = win,
    };

    return weft_rma_noted(&args, WEFT_CALL_Accumulate_c, __builtin_return_address(0));
}

int PMPI_Accumulate_c(const void *origin_addr, MPI_Count origin_count,
                      MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                      MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                      MPI_Win win)
{
    if (weft_likely(origin_datatype == target_datatype && origin_count == target_count &&
                    op != MPI_NO_OP &&
                    update(origin_addr, NULL, origin_count, origin_datatype, target_rank,
                           target_disp, op, win))) {
        return MPI_SUCCESS;
    }
    return accumulate_c_slowly(origin_addr, origin_count, origin_datatype, target_rank,
                               target_disp, target_count, target_datatype, op, win);
}
WEFT_WEAK_ALIAS(MPI_Accumulate_c, PMPI_Accumulate_c);

int PMPI_Get_accumulate_c(const void *origin_addr, MPI_Count origin_count,
                          MPI_Datatype origin_datatype, void *result_addr,
                          MPI_Count result_count, MPI_Datatype result_datatype,
                          int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                          MPI_Datatype target_datatype, MPI_Op op, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Get_accumulate_c);

    const struct weft_rma_args args = {
        .function = "MPI_Get_accumulate_c",
        .kind = WEFT_RMA_GET_ACCUMULATE,
        .origin = {origin_addr, origin_count, origin_datatype},
        .result = {result_addr, result_count, result_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .op = op,
        .win = win,
    };

    return weft_rma_checked(&args, NULL);
}
WEFT_WEAK_ALIAS(MPI_Get_accumulate_c, PMPI_Get_accumulate_c);

int PMPI_Raccumulate_c(const void *origin_addr, MPI_Count origin_count,
                       MPI_Datatype origin_datatype, int target_rank,
                       MPI_Aint target_disp, MPI_Count target_count,
                       MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                       MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Raccumulate_c);

    const struct weft_rma_args args = {
        .function = "MPI_Raccumulate_c",
        .kind = WEFT_RMA_ACCUMULATE,
        .origin = {origin_addr, origin_count, origin_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .op = op,
        .win = win,
        .has_request = true,
    };

    return weft_rma_checked(&args, request);
}
WEFT_WEAK_ALIAS(MPI_Raccumulate_c, PMPI_Raccumulate_c);

int PMPI_Rget_accumulate_c(const void *origin_addr, MPI_Count origin_count,
                           MPI_Datatype origin_datatype, void *result_addr,
                           MPI_Count result_count, MPI_Datatype result_datatype,
                           int target_rank, MPI_Aint target_disp, MPI_Count target_count,
                           MPI_Datatype target_datatype, MPI_Op op, MPI_Win win,
                           MPI_Request *request)
{
    WEFT_RECORD_PLAIN(Rget_accumulate_c);

    const struct weft_rma_args args = {
        .function = "MPI_Rget_accumulate_c",
        .kind = WEFT_RMA_GET_ACCUMULATE,
        .origin = {origin_addr, origin_count, origin_datatype},
        .result = {result_addr, result_count, result_datatype},
        .target = {NULL, target_count, target_datatype},
        .rank = target_rank,
        .disp = target_disp,
        .op = op,
        .win = win,
        .has_request = true,
    };

    return weft_rma_checked(&args, request);
}
WEFT_WEAK_ALIAS(MPI_Rget_accumulate_c, PMPI_Rget_accumulate_c);

static __attribute__((noinline)) int
fetch_and_op_slowly(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                    int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
    const struct weft_rma_args args = {
        .function = "MPI_Fetch_and_op",
        .kind = WEFT_RMA_GET_ACCUMULATE,
        .origin = {origin_addr, 1, datatype},
        .result = {result_addr, 1, datatype},
        .target = {NULL, 1, datatype},
        .rank = target_rank,
        .disp = target_disp,
        .op = op,
        .needs_predefined = true,
        .win = win,
    };

    return weft_rma_noted(&args, WEFT_CALL_Fetch_and_op, __builtin_return_address(0));
}

int PMPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                      int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
    if (weft_likely(result_addr != NULL && update(origin_addr, result_addr, 1, datatype,
                                                  target_rank, target_disp, op, win))) {
        return MPI_SUCCESS;
    }
    return fetch_and_op_slowly(origin_addr, result_addr, datatype, target_rank,
                               target_disp, op, win);
}
WEFT_WEAK_ALIAS(MPI_Fetch_and_op, PMPI_Fetch_and_op);

static __attribute__((noinline)) int
compare_and_swap_slowly(const void *origin_addr, const void *compare_addr,
                        void *result_addr, MPI_Datatype datatype, int target_rank,
                        MPI_Aint target_disp, MPI_Win win)
{
    const struct weft_rma_args args = {
        .function = "MPI_Compare_and_swap",
        .kind = WEFT_RMA_SWAP,
        .origin = {origin_addr, 1, datatype},
        .result = {result_addr, 1, datatype},
        .compare = compare_addr,
        .target = {NULL, 1, datatype},
        .rank = target_rank,
        .disp = target_disp,
        .op = MPI_REPLACE,
        .needs_predefined = true,
        .win = win,
    };

    return weft_rma_noted(&args, WEFT_CALL_Compare_and_swap, __builtin_return_address(0));
}

int PMPI_Compare_and_swap(const void *origin_addr, const void *compare_addr,
                          void *result_addr, MPI_Datatype datatype, int target_rank,
                          MPI_Aint target_disp, MPI_Win win)
{
    if (weft_likely(swap(origin_addr, compare_addr, result_addr, datatype, target_rank,
                         target_disp, win))) {
        return MPI_SUCCESS;
    }
    return compare_and_swap_slowly(origin_addr, compare_addr, result_addr, datatype,
                                   target_rank, target_disp, win);
}
WEFT_WEAK_ALIAS(MPI_Compare_and_swap, PMPI_Compare_and_swap);
