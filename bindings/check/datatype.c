#include "check/datatype.h"

int weft_bad_type(const char *function, struct weft_comm *comm, MPI_Datatype handle)
{
    char text[128];

    if (handle == MPI_DATATYPE_NULL) {
        return weft_raise_comm(comm, function, WEFT_E_TYPE_NULL);
    }
    return weft_raise_comm(
        comm, function, MPI_ERR_TYPE, WEFT_T_HANDLE,
        weft_describe_handle(WEFT_KIND_DATATYPE, handle, text, sizeof(text)));
}

int weft_check_type(const char *function, MPI_Datatype handle, struct weft_datatype **out)
{
    int err = weft_check_open(function);

    if (err != MPI_SUCCESS) {
        return err;
    }
    *out = weft_datatype_from_handle(handle);
    return *out != NULL ? MPI_SUCCESS : weft_bad_type(function, NULL, handle);
}

int weft_check_committed(const char *function, struct weft_comm *comm,
                         const struct weft_datatype *type)
{
    char text[WEFT_DATATYPE_TEXT];

    if (type->is_committed) {
        return MPI_SUCCESS;
    }
    return weft_raise_comm(comm, function, WEFT_E_TYPE_UNCOMMITTED,
                           weft_datatype_describe(type, text, sizeof(text)));
}

int weft_check_number(const char *function, const char *name, MPI_Count number)
{
    return number >= 0
               ? MPI_SUCCESS
               : weft_raise(function, WEFT_E_COUNT_NAMED, name, (long long)number);
}

int weft_check_places(const char *function, const char *name, MPI_Count n,
                      struct weft_numbers numbers)
{
    if (n > 0 && numbers.integer == NULL && numbers.address == NULL &&
        numbers.count == NULL) {
        return weft_raise(function, WEFT_E_NULL_ARRAY, name, (long long)n);
    }
    return MPI_SUCCESS;
}

int weft_check_lengths(const char *function, const char *name, MPI_Count n,
                       struct weft_numbers numbers)
{
    int err = weft_check_places(function, name, n, numbers);

    for (MPI_Count i = 0; i < n && err == MPI_SUCCESS; i++) {
        const MPI_Count length = weft_number_at(&numbers, i);

        if (length < 0) {
            err =
                weft_raise(function, WEFT_E_ENTRY, name, (long long)i, (long long)length);
        }
    }
    return err;
}

static int check_dimensions(const char *function, int dimensions, int order)
{
    if (dimensions < 1) {
        return weft_raise(function, WEFT_E_TYPE_NDIMS, dimensions);
    }
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN) {
        return weft_raise(function, WEFT_E_TYPE_ORDER, order);
    }
    return MPI_SUCCESS;
}

static int check_box(const char *function, int i, MPI_Count size, MPI_Count part,
                     MPI_Count start)
{
    if (size < 1 || part < 1 || part > size || start < 0 || start > size - part) {
        return weft_raise(function, WEFT_E_TYPE_SUBARRAY, i, (long long)part,
                          (long long)start, (long long)size);
    }
    return MPI_SUCCESS;
}

int weft_check_subarray(const char *function, int dimensions, struct weft_numbers sizes,
                        struct weft_numbers part_sizes, struct weft_numbers starts,
                        int order)
{
    int err = check_dimensions(function, dimensions, order);

    if (err == MPI_SUCCESS) {
        err = weft_check_places(function, "array_of_sizes", dimensions, sizes);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_places(function, "array_of_subsizes", dimensions, part_sizes);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_places(function, "array_of_starts", dimensions, starts);
    }
    for (int i = 0; i < dimensions && err == MPI_SUCCESS; i++) {
        err = check_box(function, i, weft_number_at(&sizes, i),
                        weft_number_at(&part_sizes, i), weft_number_at(&starts, i));
    }
    return err;
}

static int check_distribution(const char *function, const struct weft_grid *grid, int i)
{
    const MPI_Count size = weft_number_at(&grid->sizes, i);
    const int how = grid->distributions[i];
    const int argument = grid->arguments[i];
    const int processes = grid->process_counts[i];

    if (size < 1 || processes < 1) {
        return weft_raise(function, WEFT_E_TYPE_DARRAY_SIZE, i, (long long)size,
                          processes);
    }
    if (how != MPI_DISTRIBUTE_NONE && how != MPI_DISTRIBUTE_BLOCK &&
        how != MPI_DISTRIBUTE_CYCLIC) {
        return weft_raise(function, WEFT_E_TYPE_DARRAY_HOW, i, how);
    }
    if (how == MPI_DISTRIBUTE_NONE) {
        return processes == 1
                   ? MPI_SUCCESS
                   : weft_raise(function, WEFT_E_TYPE_DARRAY_NONE, i, processes);
    }
    if (argument != MPI_DISTRIBUTE_DFLT_DARG && argument < 1) {
        return weft_raise(function, WEFT_E_TYPE_DARRAY_BLOCKS, i, argument);
    }
    if (how == MPI_DISTRIBUTE_BLOCK &&
        weft_grid_block(grid, i) < size / processes + (size % processes != 0)) {
        return weft_raise(function, WEFT_E_TYPE_DARRAY_SMALL, i, argument, processes,
                          (long long)size);
    }
    return MPI_SUCCESS;
}

int weft_check_process_grid(const char *function, const struct weft_grid *grid)
{
    const int n = grid->dimensions;
    long long processes = 1;
    int err = check_dimensions(function, n, grid->order);

    if (err == MPI_SUCCESS) {
        err = weft_check_places(function, "array_of_gsizes", n, grid->sizes);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, grid->distributions, "array_of_distribs");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, grid->arguments, "array_of_dargs");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, grid->process_counts, "array_of_psizes");
    }
    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        err = check_distribution(function, grid, i);
        if (err == MPI_SUCCESS && processes <= grid->processes) {
            processes *= grid->process_counts[i];
        }
    }
    if (err == MPI_SUCCESS &&
        (processes != grid->processes || grid->rank < 0 || grid->rank >= processes)) {
        err = weft_raise(function, WEFT_E_TYPE_DARRAY_RANK, grid->rank, grid->processes,
                         processes);
    }
    return err;
}
