/*
 * subarray.c - array sections as buffers: their datatype is made from the descriptor.
 *
 * The descriptor gives the size of an element, and for each dimension the number of
 * elements and the bytes from one to the next. MPI sees the elements in Fortran's order,
 * as if they lay side by side. Datatypes may be freed while a message with them is under
 * way, so nothing here has to wait for the end of a nonblocking call.
 */
#include "fortran.h"

bool weft_is_contiguous(const CFI_cdesc_t *array)
{
    CFI_index_t step = (CFI_index_t)array->elem_len;

    for (int i = 0; i < array->rank; i++) {
        if (array->dim[i].extent < 0) { /* assumed size: the last dimension */
            return true;
        }
        if (array->dim[i].extent == 0) {
            return true;
        }
        if (array->dim[i].extent != 1 && array->dim[i].sm != step) {
            return false;
        }
        step *= array->dim[i].extent;
    }
    return true;
}

/* Replaces *type, which is freed unless it is `keep`. After an error *type is
 * MPI_DATATYPE_NULL. */
static int put_vector(MPI_Count count, MPI_Count step, MPI_Datatype keep,
                      MPI_Datatype *type)
{
    MPI_Datatype made = MPI_DATATYPE_NULL;
    int err = PMPI_Type_create_hvector_c(count, 1, step, *type, &made);

    if (*type != keep) {
        PMPI_Type_free(type);
    }
    *type = made;
    return err;
}

/* All elements of the first `rank` dimensions. */
static int make_whole(const CFI_cdesc_t *array, int rank, MPI_Datatype unit,
                      MPI_Datatype *made)
{
    int err = MPI_SUCCESS;

    *made = unit;
    for (int i = 0; i < rank && err == MPI_SUCCESS; i++) {
        err = put_vector(array->dim[i].extent, array->dim[i].sm, unit, made);
    }
    return err;
}

static int join(MPI_Datatype whole, MPI_Aint at, MPI_Datatype rest, MPI_Datatype *made)
{
    const int lengths[2] = {1, 1};
    const MPI_Aint places[2] = {0, at};
    const MPI_Datatype types[2] = {whole, rest};

    return PMPI_Type_create_struct(2, lengths, places, types, made);
}

/* The first `count` elements, more than 0, of the first `rank` dimensions. After an error
 * *made is MPI_DATATYPE_NULL. */
static int make_first(const CFI_cdesc_t *array, int rank, MPI_Count count,
                      MPI_Datatype unit, MPI_Datatype *made)
{
    MPI_Count slice = 1;
    MPI_Datatype whole;
    MPI_Datatype rest;
    int err;

    *made = MPI_DATATYPE_NULL;
    if (rank == 0) {
        return PMPI_Type_dup(unit, made);
    }
    for (int i = 0; i + 1 < rank; i++) {
        slice *= array->dim[i].extent;
    }
    if (count < slice) {
        return make_first(array, rank - 1, count, unit, made);
    }
    err = make_whole(array, rank - 1, unit, &whole);
    if (err == MPI_SUCCESS) {
        err = put_vector(count / slice, array->dim[rank - 1].sm, unit, &whole);
    }
    if (err != MPI_SUCCESS || count % slice == 0) {
        *made = whole;
        return err;
    }
    err = make_first(array, rank - 1, count % slice, unit, &rest);
    if (err == MPI_SUCCESS) {
        err =
            join(whole, (MPI_Aint)(count / slice) * array->dim[rank - 1].sm, rest, made);
        PMPI_Type_free(&rest);
    }
    PMPI_Type_free(&whole);
    return err;
}

/*
 * Finds the datatype of one element, and how many elements `count` items of `type` are.
 * Types without gaps may be smaller or larger than an element. *unit has to be freed if
 * it is not `type`.
 */
static int find_unit(struct weft_call call, const CFI_cdesc_t *array, MPI_Datatype type,
                     MPI_Count *count, MPI_Datatype *unit)
{
    const MPI_Count element = (MPI_Count)array->elem_len;
    MPI_Count lb;
    MPI_Count extent;
    MPI_Count size;
    int err = PMPI_Type_get_extent_c(type, &lb, &extent);

    if (err == MPI_SUCCESS) {
        err = PMPI_Type_size_c(type, &size);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    *unit = type;
    if (lb == 0 && extent == element) {
        return MPI_SUCCESS;
    }
    if (lb != 0 || size != extent || size == 0) {
        return weft_refuse(call, WEFT_F_SECTION_GAPS);
    }
    if ((*count * size) % element != 0) {
        return weft_refuse(call, WEFT_F_SECTION_PIECE);
    }
    *count = *count * size / element;
    return element % size == 0 ? PMPI_Type_contiguous_c(element / size, type, unit)
                               : PMPI_Type_contiguous_c(element, MPI_BYTE, unit);
}

static MPI_Count elements_of(const CFI_cdesc_t *array)
{
    MPI_Count count = 1;

    for (int i = 0; i < array->rank; i++) {
        count *= array->dim[i].extent;
    }
    return count;
}

/* The first `count` items; *count is the number of elements then. */
static int make_section(struct weft_call call, struct weft_subarray *sub,
                        const CFI_cdesc_t *array, int partitions, MPI_Count *count)
{
    MPI_Datatype unit;
    int err = find_unit(call, array, sub->type, count, &unit);

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (*count <= elements_of(array) / partitions) {
        err = make_first(array, array->rank, *count, unit, &sub->made);
    } else {
        err = partitions > 1 ? weft_refuse(call, WEFT_F_SECTION_PARTITIONS)
                             : weft_refuse(call, WEFT_F_SECTION_SHORT);
    }
    if (unit != sub->type) {
        PMPI_Type_free(&unit);
    }
    sub->count = 1;
    return err;
}

/*
 * Bytes from one partition of `count` elements to the next, or 0 if they are not always
 * the same. They are if all partitions begin in one dimension. A dimension whose elements
 * continue the steps of the one before belongs to it.
 */
static MPI_Aint find_step(const CFI_cdesc_t *array, int partitions, MPI_Count count)
{
    const CFI_dim_t *dim = array->dim;
    MPI_Count slice = 1;

    for (int i = 0; i < array->rank && count % slice == 0; i++) {
        MPI_Count length = dim[i].extent;

        for (int j = i + 1; j < array->rank; j++) {
            if (dim[j].sm != dim[j - 1].sm * dim[j - 1].extent) {
                break;
            }
            length *= dim[j].extent;
        }
        if (count / slice <= length / partitions) {
            return (MPI_Aint)(count / slice) * dim[i].sm;
        }
        slice *= dim[i].extent;
    }
    return 0;
}

static int make_partition(struct weft_call call, struct weft_subarray *sub,
                          const CFI_cdesc_t *array, int partitions)
{
    MPI_Count count = sub->count;
    int err = make_section(call, sub, array, partitions, &count);
    MPI_Datatype part = sub->made;
    MPI_Aint step;

    if (err != MPI_SUCCESS || partitions == 1) {
        return err;
    }
    step = find_step(array, partitions, count);
    err = step == 0 ? weft_refuse(call, WEFT_F_SECTION_STEPS)
                    : PMPI_Type_create_resized(part, 0, step, &sub->made);
    if (err != MPI_SUCCESS) {
        sub->made = MPI_DATATYPE_NULL;
    }
    PMPI_Type_free(&part);
    return err;
}

int weft_subarray_open(struct weft_call call, struct weft_subarray *sub,
                       const CFI_cdesc_t *array, MPI_Count count, MPI_Datatype type,
                       int partitions)
{
    int err;

    sub->address = weft_buffer(array->base_addr);
    sub->count = count;
    sub->type = type;
    sub->made = MPI_DATATYPE_NULL;
    if (count <= 0 || weft_is_contiguous(array) || type == MPI_DATATYPE_NULL) {
        return MPI_SUCCESS; /* the call itself refuses MPI_DATATYPE_NULL */
    }
    err = partitions > 0 ? make_partition(call, sub, array, partitions)
                         : make_section(call, sub, array, 1, &count);
    if (err == MPI_SUCCESS) {
        err = PMPI_Type_commit(&sub->made);
        sub->type = sub->made;
    }
    return err;
}

void weft_subarray_close(struct weft_subarray *sub)
{
    if (sub->made != MPI_DATATYPE_NULL) {
        PMPI_Type_free(&sub->made);
    }
}
