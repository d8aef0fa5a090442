/*
 * rma_accumulate.c - MPI-5.0 chapter 12.3.4 and 12.3.5: accumulates and atomic
 * operations.
 */
#include "binding.h"

#include "rma.h"

int PMPI_Accumulate(const void *origin_addr, int origin_count,
                    MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                    int target_count, MPI_Datatype target_datatype, MPI_Op op,
                    MPI_Win win)
{
    WEFT_RECORD_PLAIN(Accumulate);
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

    return weft_rma_checked(&args, NULL);
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

int PMPI_Accumulate_c(const void *origin_addr, MPI_Count origin_count,
                      MPI_Datatype origin_datatype, int target_rank, MPI_Aint target_disp,
                      MPI_Count target_count, MPI_Datatype target_datatype, MPI_Op op,
                      MPI_Win win)
{
    WEFT_RECORD_PLAIN(Accumulate_c);
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

    return weft_rma_checked(&args, NULL);
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

int PMPI_Fetch_and_op(const void *origin_addr, void *result_addr, MPI_Datatype datatype,
                      int target_rank, MPI_Aint target_disp, MPI_Op op, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Fetch_and_op);
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

    return weft_rma_checked(&args, NULL);
}
WEFT_WEAK_ALIAS(MPI_Fetch_and_op, PMPI_Fetch_and_op);

int PMPI_Compare_and_swap(const void *origin_addr, const void *compare_addr,
                          void *result_addr, MPI_Datatype datatype, int target_rank,
                          MPI_Aint target_disp, MPI_Win win)
{
    WEFT_RECORD_PLAIN(Compare_and_swap);
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

    return weft_rma_checked(&args, NULL);
}
WEFT_WEAK_ALIAS(MPI_Compare_and_swap, PMPI_Compare_and_swap);
