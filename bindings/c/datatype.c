/*
 * datatype.c - MPI-5.0 chapter 5: making, committing and freeing datatypes. A function
 * and its _c twin differ in the width of their numbers, which struct weft_numbers hides.
 */
#include "binding.h"

#include "check/datatype.h"
#include "check/rc.h"
#include "datatype/attribute.h"
#include "datatype/fortran.h"
#include "engine/lock.h"
#include "wireup/recorder.h"

#include <stdlib.h>

/* What all of them have in common: an old type, and a place for the new one. */
static int check_old(const char *function, MPI_Datatype oldtype,
                     struct weft_datatype **old, const MPI_Datatype *newtype)
{
    int err = weft_check_type(function, oldtype, old);

    return err != MPI_SUCCESS ? err : weft_check_out(function, NULL, newtype, "newtype");
}

/* Gives the new handle, or says what went wrong. */
static int give(const char *function, enum weft_rc rc, const struct weft_datatype *made,
                MPI_Datatype *newtype)
{
    weft_recorder_count();
    if (rc == WEFT_OK) {
        *newtype = made->handle;
        return MPI_SUCCESS;
    }
    if (rc == WEFT_ERR_ARGUMENT) {
        return weft_raise(function, WEFT_E_TYPE_HUGE);
    }
    return weft_raise_rc(NULL, rc, function);
}

static int contiguous_checked(const char *function, bool is_large, MPI_Count count,
                              MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    struct weft_datatype *old;
    struct weft_datatype *made;
    enum weft_rc rc;
    int err = check_old(function, oldtype, &old, newtype);

    if (err == MPI_SUCCESS) {
        err = weft_check_number(function, "count", count);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_type_contiguous(is_large, count, old, &made);
    weft_unlock();
    return give(function, rc, made, newtype);
}

int PMPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return contiguous_checked("MPI_Type_contiguous", false, count, oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_contiguous, PMPI_Type_contiguous);

int PMPI_Type_contiguous_c(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return contiguous_checked("MPI_Type_contiguous_c", true, count, oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_contiguous_c, PMPI_Type_contiguous_c);

static int vector_checked(const char *function, int combiner, bool is_large,
                          MPI_Count count, MPI_Count length, MPI_Count stride,
                          MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    struct weft_datatype *old;
    struct weft_datatype *made;
    enum weft_rc rc;
    int err = check_old(function, oldtype, &old, newtype);

    if (err == MPI_SUCCESS) {
        err = weft_check_number(function, "count", count);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_number(function, "blocklength", length);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_type_vector(combiner, is_large, count, length, stride, old, &made);
    weft_unlock();
    return give(function, rc, made, newtype);
}

int PMPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype,
                     MPI_Datatype *newtype)
{
    return vector_checked("MPI_Type_vector", MPI_COMBINER_VECTOR, false, count,
                          blocklength, stride, oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_vector, PMPI_Type_vector);

int PMPI_Type_vector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                       MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return vector_checked("MPI_Type_vector_c", MPI_COMBINER_VECTOR, true, count,
                          blocklength, stride, oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_vector_c, PMPI_Type_vector_c);

int PMPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride,
                             MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return vector_checked("MPI_Type_create_hvector", MPI_COMBINER_HVECTOR, false, count,
                          blocklength, stride, oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_hvector, PMPI_Type_create_hvector);

int PMPI_Type_create_hvector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                               MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return vector_checked("MPI_Type_create_hvector_c", MPI_COMBINER_HVECTOR, true, count,
                          blocklength, stride, oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_hvector_c, PMPI_Type_create_hvector_c);

static int indexed_checked(const char *function, int combiner, bool is_large,
                           MPI_Count count, struct weft_numbers lengths,
                           struct weft_numbers places, MPI_Datatype oldtype,
                           MPI_Datatype *newtype)
{
    struct weft_datatype *old;
    struct weft_datatype *made;
    enum weft_rc rc;
    int err = check_old(function, oldtype, &old, newtype);

    if (err == MPI_SUCCESS) {
        err = weft_check_number(function, "count", count);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_lengths(function, "array_of_blocklengths", count, lengths);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_places(function, "array_of_displacements", count, places);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_type_indexed(combiner, is_large, count, lengths, places, old, &made);
    weft_unlock();
    return give(function, rc, made, newtype);
}

int PMPI_Type_indexed(int count, const int array_of_blocklengths[],
                      const int array_of_displacements[], MPI_Datatype oldtype,
                      MPI_Datatype *newtype)
{
    return indexed_checked("MPI_Type_indexed", MPI_COMBINER_INDEXED, false, count,
                           (struct weft_numbers){.integer = array_of_blocklengths},
                           (struct weft_numbers){.integer = array_of_displacements},
                           oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_indexed, PMPI_Type_indexed);

int PMPI_Type_indexed_c(MPI_Count count, const MPI_Count array_of_blocklengths[],
                        const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
                        MPI_Datatype *newtype)
{
    return indexed_checked("MPI_Type_indexed_c", MPI_COMBINER_INDEXED, true, count,
                           (struct weft_numbers){.count = array_of_blocklengths},
                           (struct weft_numbers){.count = array_of_displacements},
                           oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_indexed_c, PMPI_Type_indexed_c);

int PMPI_Type_create_hindexed(int count, const int array_of_blocklengths[],
                              const MPI_Aint array_of_displacements[],
                              MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return indexed_checked("MPI_Type_create_hindexed", MPI_COMBINER_HINDEXED, false,
                           count, (struct weft_numbers){.integer = array_of_blocklengths},
                           (struct weft_numbers){.address = array_of_displacements},
                           oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_hindexed, PMPI_Type_create_hindexed);

int PMPI_Type_create_hindexed_c(MPI_Count count, const MPI_Count array_of_blocklengths[],
                                const MPI_Count array_of_displacements[],
                                MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return indexed_checked("MPI_Type_create_hindexed_c", MPI_COMBINER_HINDEXED, true,
                           count, (struct weft_numbers){.count = array_of_blocklengths},
                           (struct weft_numbers){.count = array_of_displacements},
                           oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_hindexed_c, PMPI_Type_create_hindexed_c);

static int indexed_block_checked(const char *function, int combiner, bool is_large,
                                 MPI_Count count, MPI_Count length,
                                 struct weft_numbers places, MPI_Datatype oldtype,
                                 MPI_Datatype *newtype)
{
    struct weft_datatype *old;
    struct weft_datatype *made;
    enum weft_rc rc;
    int err = check_old(function, oldtype, &old, newtype);

    if (err == MPI_SUCCESS) {
        err = weft_check_number(function, "count", count);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_number(function, "blocklength", length);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_places(function, "array_of_displacements", count, places);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_type_indexed_block(combiner, is_large, count, length, places, old, &made);
    weft_unlock();
    return give(function, rc, made, newtype);
}

int PMPI_Type_create_indexed_block(int count, int blocklength,
                                   const int array_of_displacements[],
                                   MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return indexed_block_checked("MPI_Type_create_indexed_block",
                                 MPI_COMBINER_INDEXED_BLOCK, false, count, blocklength,
                                 (struct weft_numbers){.integer = array_of_displacements},
                                 oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_indexed_block, PMPI_Type_create_indexed_block);

int PMPI_Type_create_indexed_block_c(MPI_Count count, MPI_Count blocklength,
                                     const MPI_Count array_of_displacements[],
                                     MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return indexed_block_checked("MPI_Type_create_indexed_block_c",
                                 MPI_COMBINER_INDEXED_BLOCK, true, count, blocklength,
                                 (struct weft_numbers){.count = array_of_displacements},
                                 oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_indexed_block_c, PMPI_Type_create_indexed_block_c);

int PMPI_Type_create_hindexed_block(int count, int blocklength,
                                    const MPI_Aint array_of_displacements[],
                                    MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return indexed_block_checked("MPI_Type_create_hindexed_block",
                                 MPI_COMBINER_HINDEXED_BLOCK, false, count, blocklength,
                                 (struct weft_numbers){.address = array_of_displacements},
                                 oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_hindexed_block, PMPI_Type_create_hindexed_block);

int PMPI_Type_create_hindexed_block_c(MPI_Count count, MPI_Count blocklength,
                                      const MPI_Count array_of_displacements[],
                                      MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return indexed_block_checked("MPI_Type_create_hindexed_block_c",
                                 MPI_COMBINER_HINDEXED_BLOCK, true, count, blocklength,
                                 (struct weft_numbers){.count = array_of_displacements},
                                 oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_hindexed_block_c, PMPI_Type_create_hindexed_block_c);

/* The types behind the handles, to be freed, or NULL where that is an error in *err. */
static struct weft_datatype **find_types(const char *function, MPI_Count count,
                                         const MPI_Datatype *handles, int *err)
{
    struct weft_datatype **types = malloc((size_t)(count + 1) * sizeof(*types));

    if (types == NULL) {
        *err = weft_raise_rc(NULL, WEFT_ERR_NOMEM, function);
        return NULL;
    }
    for (MPI_Count i = 0; i < count; i++) {
        *err = weft_check_type(function, handles[i], &types[i]);
        if (*err != MPI_SUCCESS) {
            free(types);
            return NULL;
        }
    }
    return types;
}

static int struct_checked(const char *function, bool is_large, MPI_Count count,
                          struct weft_numbers lengths, struct weft_numbers places,
                          const MPI_Datatype *handles, MPI_Datatype *newtype)
{
    struct weft_datatype **types;
    struct weft_datatype *made;
    enum weft_rc rc;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, newtype, "newtype");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_number(function, "count", count);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_lengths(function, "array_of_blocklengths", count, lengths);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_places(function, "array_of_displacements", count, places);
    }
    if (err == MPI_SUCCESS && count > 0) {
        err = weft_check_out(function, NULL, handles, "array_of_types");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    types = find_types(function, count, handles, &err);
    if (types == NULL) {
        return err;
    }
    weft_lock();
    rc = weft_type_struct(is_large, count, lengths, places, types, &made);
    weft_unlock();
    free(types);
    return give(function, rc, made, newtype);
}

int PMPI_Type_create_struct(int count, const int array_of_blocklengths[],
                            const MPI_Aint array_of_displacements[],
                            const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    return struct_checked("MPI_Type_create_struct", false, count,
                          (struct weft_numbers){.integer = array_of_blocklengths},
                          (struct weft_numbers){.address = array_of_displacements},
                          array_of_types, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_struct, PMPI_Type_create_struct);

int PMPI_Type_create_struct_c(MPI_Count count, const MPI_Count array_of_blocklengths[],
                              const MPI_Count array_of_displacements[],
                              const MPI_Datatype array_of_types[], MPI_Datatype *newtype)
{
    return struct_checked("MPI_Type_create_struct_c", true, count,
                          (struct weft_numbers){.count = array_of_blocklengths},
                          (struct weft_numbers){.count = array_of_displacements},
                          array_of_types, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_struct_c, PMPI_Type_create_struct_c);

static int resized_checked(const char *function, bool is_large, MPI_Datatype oldtype,
                           MPI_Count lb, MPI_Count extent, MPI_Datatype *newtype)
{
    struct weft_datatype *old;
    struct weft_datatype *made;
    enum weft_rc rc;
    int err = check_old(function, oldtype, &old, newtype);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_type_resized(is_large, lb, extent, old, &made);
    weft_unlock();
    return give(function, rc, made, newtype);
}

int PMPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent,
                             MPI_Datatype *newtype)
{
    return resized_checked("MPI_Type_create_resized", false, oldtype, lb, extent,
                           newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_resized, PMPI_Type_create_resized);

int PMPI_Type_create_resized_c(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent,
                               MPI_Datatype *newtype)
{
    return resized_checked("MPI_Type_create_resized_c", true, oldtype, lb, extent,
                           newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_resized_c, PMPI_Type_create_resized_c);

/* As the copy callbacks want it; if one fails there is no duplicate. */
static int copy_attributes(MPI_Datatype oldtype, struct weft_datatype *old,
                           struct weft_datatype *made)
{
    const int err = weft_attributes_copy(
        WEFT_KIND_DATATYPE, oldtype, weft_datatype_attributes(old), &made->attributes);

    if (err == MPI_SUCCESS) {
        return err;
    }
    (void)weft_attributes_clear(WEFT_KIND_DATATYPE, made->handle, &made->attributes);
    weft_attributes_forget(&made->attributes);
    weft_lock();
    weft_datatype_free(made);
    weft_unlock();
    return weft_raise("MPI_Type_dup", err, WEFT_T_KEY_COPY, err);
}

int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    struct weft_datatype *old;
    struct weft_datatype *made;
    enum weft_rc rc;
    int err = check_old("MPI_Type_dup", oldtype, &old, newtype);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_type_dup(old, &made);
    weft_unlock();
    if (rc == WEFT_OK) {
        err = copy_attributes(oldtype, old, made);
    }
    return err != MPI_SUCCESS ? err : give("MPI_Type_dup", rc, made, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_dup, PMPI_Type_dup);

static int subarray_checked(const char *function, bool is_large, int dimensions,
                            struct weft_numbers sizes, struct weft_numbers part_sizes,
                            struct weft_numbers starts, int order, MPI_Datatype oldtype,
                            MPI_Datatype *newtype)
{
    struct weft_datatype *old;
    struct weft_datatype *made;
    enum weft_rc rc;
    int err = check_old(function, oldtype, &old, newtype);

    if (err == MPI_SUCCESS) {
        err = weft_check_subarray(function, dimensions, sizes, part_sizes, starts, order);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_type_subarray(is_large, dimensions, sizes, part_sizes, starts, order, old,
                            &made);
    weft_unlock();
    return give(function, rc, made, newtype);
}

int PMPI_Type_create_subarray(int ndims, const int array_of_sizes[],
                              const int array_of_subsizes[], const int array_of_starts[],
                              int order, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return subarray_checked("MPI_Type_create_subarray", false, ndims,
                            (struct weft_numbers){.integer = array_of_sizes},
                            (struct weft_numbers){.integer = array_of_subsizes},
                            (struct weft_numbers){.integer = array_of_starts}, order,
                            oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_subarray, PMPI_Type_create_subarray);

int PMPI_Type_create_subarray_c(int ndims, const MPI_Count array_of_sizes[],
                                const MPI_Count array_of_subsizes[],
                                const MPI_Count array_of_starts[], int order,
                                MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return subarray_checked("MPI_Type_create_subarray_c", true, ndims,
                            (struct weft_numbers){.count = array_of_sizes},
                            (struct weft_numbers){.count = array_of_subsizes},
                            (struct weft_numbers){.count = array_of_starts}, order,
                            oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_subarray_c, PMPI_Type_create_subarray_c);

static int darray_checked(const char *function, bool is_large,
                          const struct weft_grid *grid, MPI_Datatype oldtype,
                          MPI_Datatype *newtype)
{
    struct weft_datatype *old;
    struct weft_datatype *made;
    enum weft_rc rc;
    int err = check_old(function, oldtype, &old, newtype);

    if (err == MPI_SUCCESS) {
        err = weft_check_process_grid(function, grid);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_type_darray(is_large, grid, old, &made);
    weft_unlock();
    return give(function, rc, made, newtype);
}

int PMPI_Type_create_darray(int size, int rank, int ndims, const int array_of_gsizes[],
                            const int array_of_distribs[], const int array_of_dargs[],
                            const int array_of_psizes[], int order, MPI_Datatype oldtype,
                            MPI_Datatype *newtype)
{
    const struct weft_grid grid = {size,
                                   rank,
                                   ndims,
                                   {.integer = array_of_gsizes},
                                   array_of_distribs,
                                   array_of_dargs,
                                   array_of_psizes,
                                   order};

    return darray_checked("MPI_Type_create_darray", false, &grid, oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_darray, PMPI_Type_create_darray);

int PMPI_Type_create_darray_c(int size, int rank, int ndims,
                              const MPI_Count array_of_gsizes[],
                              const int array_of_distribs[], const int array_of_dargs[],
                              const int array_of_psizes[], int order,
                              MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    const struct weft_grid grid = {size,
                                   rank,
                                   ndims,
                                   {.count = array_of_gsizes},
                                   array_of_distribs,
                                   array_of_dargs,
                                   array_of_psizes,
                                   order};

    return darray_checked("MPI_Type_create_darray_c", true, &grid, oldtype, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_darray_c, PMPI_Type_create_darray_c);

/* ---- Fortran's kinds, and types found by what they are ---- */

static int f90_checked(const char *function, int combiner, int precision, int range,
                       MPI_Datatype *newtype)
{
    struct weft_datatype *made;
    enum weft_rc rc;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, newtype, "newtype");
    }
    if (err == MPI_SUCCESS && precision == MPI_UNDEFINED && range == MPI_UNDEFINED) {
        err = weft_raise(function, WEFT_E_TYPE_F90_NONE);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_type_f90(combiner, precision, range, &made);
    weft_unlock();
    if (rc == WEFT_ERR_ARGUMENT) {
        return weft_raise(function, WEFT_E_TYPE_F90, precision, range);
    }
    return give(function, rc, made, newtype);
}

int PMPI_Type_create_f90_real(int p, int r, MPI_Datatype *newtype)
{
    return f90_checked("MPI_Type_create_f90_real", MPI_COMBINER_F90_REAL, p, r, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_f90_real, PMPI_Type_create_f90_real);

int PMPI_Type_create_f90_complex(int p, int r, MPI_Datatype *newtype)
{
    return f90_checked("MPI_Type_create_f90_complex", MPI_COMBINER_F90_COMPLEX, p, r,
                       newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_f90_complex, PMPI_Type_create_f90_complex);

int PMPI_Type_create_f90_integer(int r, MPI_Datatype *newtype)
{
    return f90_checked("MPI_Type_create_f90_integer", MPI_COMBINER_F90_INTEGER,
                       MPI_UNDEFINED, r, newtype);
}
WEFT_WEAK_ALIAS(MPI_Type_create_f90_integer, PMPI_Type_create_f90_integer);

int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype *datatype)
{
    static const char name[] = "MPI_Type_match_size";
    MPI_Datatype found;
    int err = weft_check_open(name);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, datatype, "datatype");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    found = size > 0 ? weft_type_match_size(typeclass, (size_t)size) : MPI_DATATYPE_NULL;
    if (found == MPI_DATATYPE_NULL) {
        return weft_raise(name, WEFT_E_TYPE_MATCH_SIZE, typeclass, size);
    }
    *datatype = found;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Type_match_size, PMPI_Type_match_size);

int PMPI_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type,
                              MPI_Datatype *pair_type)
{
    static const char name[] = "MPI_Type_get_value_index";
    struct weft_datatype *ignored;
    int err = weft_check_type(name, value_type, &ignored);

    if (err == MPI_SUCCESS) {
        err = weft_check_type(name, index_type, &ignored);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, pair_type, "pair_type");
    }
    if (err == MPI_SUCCESS) {
        *pair_type = weft_type_value_index(value_type, index_type);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Type_get_value_index, PMPI_Type_get_value_index);

/* ---- committing and freeing ---- */

/* The handle that `datatype` points to. */
static int check_pointed(const char *function, const MPI_Datatype *datatype,
                         struct weft_datatype **type)
{
    int err = weft_check_out(function, NULL, datatype, "datatype");

    return err != MPI_SUCCESS ? err : weft_check_type(function, *datatype, type);
}

int PMPI_Type_commit(MPI_Datatype *datatype)
{
    struct weft_datatype *type;
    enum weft_rc rc;
    int err = check_pointed("MPI_Type_commit", datatype, &type);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_datatype_commit(type);
    weft_unlock();
    return weft_raise_rc(NULL, rc, "MPI_Type_commit");
}
WEFT_WEAK_ALIAS(MPI_Type_commit, PMPI_Type_commit);

int PMPI_Type_free(MPI_Datatype *datatype)
{
    struct weft_datatype *type;
    int err = check_pointed("MPI_Type_free", datatype, &type);

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (type->is_predefined) {
        return weft_raise("MPI_Type_free", WEFT_E_TYPE_PREDEFINED,
                          weft_datatype_name(type));
    }
    if (weft_datatype_handles(type) == 0) { /* an operation still has it */
        return weft_raise("MPI_Type_free", WEFT_E_TYPE_FREED, weft_datatype_name(type));
    }
    /* Others of it may come from MPI_Type_get_contents. */
    if (weft_datatype_handles(type) == 1) {
        err = weft_attributes_clear(WEFT_KIND_DATATYPE, *datatype, &type->attributes);
        if (err != MPI_SUCCESS) {
            return weft_raise("MPI_Type_free", err, WEFT_T_KEY_DELETE_ANY, err);
        }
    }
    weft_lock();
    weft_datatype_free(type);
    weft_unlock();
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Type_free, PMPI_Type_free);
