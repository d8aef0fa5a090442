/*
 * datatype_query.c - MPI-5.0 chapter 5: what a datatype is: sizes, extents, names, and
 * how it was made.
 */
#include "binding.h"

#include "check/datatype.h"
#include "check/rc.h"
#include "engine/lock.h"

#include <limits.h>
#include <string.h>

static int size_checked(const char *function, MPI_Datatype datatype, MPI_Count *size)
{
    struct weft_datatype *type;
    int err = weft_check_type(function, datatype, &type);

    if (err == MPI_SUCCESS) {
        *size = (MPI_Count)type->size;
    }
    return err;
}

int PMPI_Type_size(MPI_Datatype datatype, int *size)
{
    MPI_Count wide = 0;
    int err = weft_check_out("MPI_Type_size", NULL, size, "size");

    if (err == MPI_SUCCESS) {
        err = size_checked("MPI_Type_size", datatype, &wide);
    }
    if (err == MPI_SUCCESS) {
        *size = wide > INT_MAX ? MPI_UNDEFINED : (int)wide;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Type_size, PMPI_Type_size);

int PMPI_Type_size_c(MPI_Datatype datatype, MPI_Count *size)
{
    int err = weft_check_out("MPI_Type_size_c", NULL, size, "size");

    return err != MPI_SUCCESS ? err : size_checked("MPI_Type_size_c", datatype, size);
}
WEFT_WEAK_ALIAS(MPI_Type_size_c, PMPI_Type_size_c);

int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
    int err = weft_check_out("MPI_Type_size_x", NULL, size, "size");

    return err != MPI_SUCCESS ? err : size_checked("MPI_Type_size_x", datatype, size);
}
WEFT_WEAK_ALIAS(MPI_Type_size_x, PMPI_Type_size_x);

static int extent_checked(const char *function, MPI_Datatype datatype, bool is_true,
                          MPI_Count *lb, MPI_Count *extent)
{
    struct weft_datatype *type;
    int err = weft_check_type(function, datatype, &type);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, lb, is_true ? "true_lb" : "lb");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, extent, is_true ? "true_extent" : "extent");
    }
    if (err == MPI_SUCCESS) {
        *lb = is_true ? type->true_lb : type->lb;
        *extent = is_true ? type->true_extent : type->extent;
    }
    return err;
}

/* An MPI_Aint holds what an MPI_Count holds, but is not the same type. */
static int narrow_extent_checked(const char *function, MPI_Datatype datatype,
                                 bool is_true, MPI_Aint *lb, MPI_Aint *extent)
{
    MPI_Count wide_lb = 0;
    MPI_Count wide_extent = 0;
    int err = extent_checked(function, datatype, is_true, lb == NULL ? NULL : &wide_lb,
                             extent == NULL ? NULL : &wide_extent);

    _Static_assert(sizeof(MPI_Aint) == sizeof(MPI_Count), "no extent is cut off");
    if (err == MPI_SUCCESS) {
        *lb = (MPI_Aint)wide_lb;
        *extent = (MPI_Aint)wide_extent;
    }
    return err;
}

int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent)
{
    return narrow_extent_checked("MPI_Type_get_extent", datatype, false, lb, extent);
}
WEFT_WEAK_ALIAS(MPI_Type_get_extent, PMPI_Type_get_extent);

int PMPI_Type_get_extent_c(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    return extent_checked("MPI_Type_get_extent_c", datatype, false, lb, extent);
}
WEFT_WEAK_ALIAS(MPI_Type_get_extent_c, PMPI_Type_get_extent_c);

int PMPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    return extent_checked("MPI_Type_get_extent_x", datatype, false, lb, extent);
}
WEFT_WEAK_ALIAS(MPI_Type_get_extent_x, PMPI_Type_get_extent_x);

int PMPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint *true_lb,
                              MPI_Aint *true_extent)
{
    return narrow_extent_checked("MPI_Type_get_true_extent", datatype, true, true_lb,
                                 true_extent);
}
WEFT_WEAK_ALIAS(MPI_Type_get_true_extent, PMPI_Type_get_true_extent);

int PMPI_Type_get_true_extent_c(MPI_Datatype datatype, MPI_Count *true_lb,
                                MPI_Count *true_extent)
{
    return extent_checked("MPI_Type_get_true_extent_c", datatype, true, true_lb,
                          true_extent);
}
WEFT_WEAK_ALIAS(MPI_Type_get_true_extent_c, PMPI_Type_get_true_extent_c);

int PMPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count *true_lb,
                                MPI_Count *true_extent)
{
    return extent_checked("MPI_Type_get_true_extent_x", datatype, true, true_lb,
                          true_extent);
}
WEFT_WEAK_ALIAS(MPI_Type_get_true_extent_x, PMPI_Type_get_true_extent_x);

/* ---- names ---- */

int PMPI_Type_set_name(MPI_Datatype datatype, const char *type_name)
{
    struct weft_datatype *type;
    enum weft_rc rc;
    int err = weft_check_type("MPI_Type_set_name", datatype, &type);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Type_set_name", NULL, type_name, "type_name");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_datatype_set_name(type, type_name);
    weft_unlock();
    return weft_raise_rc(NULL, rc, "MPI_Type_set_name");
}
WEFT_WEAK_ALIAS(MPI_Type_set_name, PMPI_Type_set_name);

int PMPI_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
    static const char name[] = "MPI_Type_get_name";
    struct weft_datatype *type;
    int err = weft_check_open(name);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, type_name, "type_name");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, resultlen, "resultlen");
    }
    if (err == MPI_SUCCESS && datatype == MPI_DATATYPE_NULL) {
        strcpy(type_name, "MPI_DATATYPE_NULL"); /* which has a name, too */
        *resultlen = (int)strlen(type_name);
        return MPI_SUCCESS;
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_type(name, datatype, &type);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    strcpy(type_name, weft_datatype_name(type)); /* shorter than MPI_MAX_OBJECT_NAME */
    weft_unlock();
    *resultlen = (int)strlen(type_name);
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Type_get_name, PMPI_Type_get_name);

/* ---- how it was made ---- */

static const struct weft_contents named = {.combiner = MPI_COMBINER_NAMED};

static int find_contents(const char *function, MPI_Datatype datatype,
                         const struct weft_contents **out)
{
    struct weft_datatype *type;
    int err = weft_check_type(function, datatype, &type);

    if (err == MPI_SUCCESS) {
        *out = type->contents != NULL ? type->contents : &named;
    }
    return err;
}

int PMPI_Type_get_envelope(MPI_Datatype datatype, int *num_integers, int *num_addresses,
                           int *num_datatypes, int *combiner)
{
    static const char name[] = "MPI_Type_get_envelope";
    const struct weft_contents *c = NULL;
    int err = find_contents(name, datatype, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, num_integers, "num_integers");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, num_addresses, "num_addresses");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, num_datatypes, "num_datatypes");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, combiner, "combiner");
    }
    if (err == MPI_SUCCESS) {
        *num_integers = (int)c->integers;
        *num_addresses = (int)c->addresses;
        *num_datatypes = (int)c->types;
        *combiner = c->combiner;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Type_get_envelope, PMPI_Type_get_envelope);

int PMPI_Type_get_envelope_c(MPI_Datatype datatype, MPI_Count *num_integers,
                             MPI_Count *num_addresses, MPI_Count *num_large_counts,
                             MPI_Count *num_datatypes, int *combiner)
{
    static const char name[] = "MPI_Type_get_envelope_c";
    const struct weft_contents *c = NULL;
    int err = find_contents(name, datatype, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, num_integers, "num_integers");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, num_addresses, "num_addresses");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, num_large_counts, "num_large_counts");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, num_datatypes, "num_datatypes");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(name, NULL, combiner, "combiner");
    }
    if (err == MPI_SUCCESS) {
        *num_integers = c->integers;
        *num_addresses = c->addresses;
        *num_large_counts = c->counts;
        *num_datatypes = c->types;
        *combiner = c->combiner;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Type_get_envelope_c, PMPI_Type_get_envelope_c);

/* `needed` entries fit into an array of `most`. */
static int check_room(const char *function, const char *name, MPI_Count needed,
                      MPI_Count most, const void *array)
{
    if (most < needed) {
        return weft_raise(function, WEFT_E_TYPE_ROOM, name, (long long)most,
                          (long long)needed);
    }
    return needed == 0 ? MPI_SUCCESS : weft_check_out(function, NULL, array, name);
}

/* The user gets a handle of each type, to be freed unless it is predefined. */
static void give_types(const struct weft_contents *c, MPI_Datatype *handles)
{
    weft_lock();
    for (MPI_Count i = 0; i < c->types; i++) {
        weft_datatype_share(c->type[i]);
        handles[i] = c->type[i]->handle;
    }
    weft_unlock();
}

static int contents_checked(const char *function, MPI_Datatype datatype,
                            MPI_Count max_integers, MPI_Count max_addresses,
                            MPI_Count max_counts, MPI_Count max_datatypes, int *integers,
                            MPI_Aint *addresses, MPI_Count *counts, MPI_Datatype *types)
{
    const struct weft_contents *c = NULL;
    int err = find_contents(function, datatype, &c);

    if (err == MPI_SUCCESS && c == &named) {
        err = weft_raise(function, WEFT_E_TYPE_NO_CONTENTS);
    }
    if (err == MPI_SUCCESS) {
        err = check_room(function, "array_of_integers", c->integers, max_integers,
                         integers);
    }
    if (err == MPI_SUCCESS) {
        err = check_room(function, "array_of_addresses", c->addresses, max_addresses,
                         addresses);
    }
    if (err == MPI_SUCCESS) {
        err =
            check_room(function, "array_of_large_counts", c->counts, max_counts, counts);
    }
    if (err == MPI_SUCCESS) {
        err = check_room(function, "array_of_datatypes", c->types, max_datatypes, types);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    for (MPI_Count i = 0; i < c->integers; i++) {
        integers[i] = c->integer[i];
    }
    for (MPI_Count i = 0; i < c->addresses; i++) {
        addresses[i] = c->address[i];
    }
    for (MPI_Count i = 0; i < c->counts; i++) {
        counts[i] = c->count[i];
    }
    give_types(c, types);
    return MPI_SUCCESS;
}

/* Of a type made by a function with _c there is nothing it could tell. */
int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses,
                           int max_datatypes, int array_of_integers[],
                           MPI_Aint array_of_addresses[],
                           MPI_Datatype array_of_datatypes[])
{
    static const char name[] = "MPI_Type_get_contents";
    const struct weft_contents *c = NULL;
    int err = find_contents(name, datatype, &c);

    if (err == MPI_SUCCESS && c->counts > 0) {
        err = weft_raise(name, WEFT_E_TYPE_LARGE);
    }
    return err != MPI_SUCCESS
               ? err
               : contents_checked(name, datatype, max_integers, max_addresses, 0,
                                  max_datatypes, array_of_integers, array_of_addresses,
                                  NULL, array_of_datatypes);
}
WEFT_WEAK_ALIAS(MPI_Type_get_contents, PMPI_Type_get_contents);

int PMPI_Type_get_contents_c(MPI_Datatype datatype, MPI_Count max_integers,
                             MPI_Count max_addresses, MPI_Count max_large_counts,
                             MPI_Count max_datatypes, int array_of_integers[],
                             MPI_Aint array_of_addresses[],
                             MPI_Count array_of_large_counts[],
                             MPI_Datatype array_of_datatypes[])
{
    return contents_checked("MPI_Type_get_contents_c", datatype, max_integers,
                            max_addresses, max_large_counts, max_datatypes,
                            array_of_integers, array_of_addresses, array_of_large_counts,
                            array_of_datatypes);
}
WEFT_WEAK_ALIAS(MPI_Type_get_contents_c, PMPI_Type_get_contents_c);
