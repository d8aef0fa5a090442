#include "io/in_file.h"

#include "datatype/array.h"
#include "datatype/external.h"
#include "datatype/placement.h"
#include "engine/lock.h"
#include "io/fault.h"

#include <stdlib.h>

/* ---- basic elements ---- */

static int basic_size(const struct weft_representation *representation,
                      const struct weft_datatype *basic, uint64_t *bytes)
{
    MPI_Aint extent = 0;

    switch (representation->kind) {
    case WEFT_REPRESENTATION_MEMORY:
        *bytes = basic->size;
        return 0;
    case WEFT_REPRESENTATION_EXTERNAL32:
        *bytes = weft_external_size(basic);
        return 0;
    case WEFT_REPRESENTATION_USER:
        break;
    }
    if (representation->extent(basic->handle, &extent, representation->extra_state) !=
            MPI_SUCCESS ||
        extent < 0) {
        return WEFT_IO_CONVERSION;
    }
    *bytes = (uint64_t)extent;
    return 0;
}

int weft_in_file_size(const struct weft_representation *representation,
                      const struct weft_datatype *type, uint64_t *bytes)
{
    uint64_t one = 0;
    int fault = 0;

    if (representation->kind == WEFT_REPRESENTATION_MEMORY) {
        *bytes = type->size;
        return 0;
    }
    if (type->contents == NULL) {
        return basic_size(representation, type, bytes);
    }
    *bytes = 0;
    for (MPI_Count i = 0; i < weft_placements(type) && fault == 0; i++) {
        const struct weft_placement p = weft_placement_at(type, i);

        fault = weft_in_file_size(representation, p.type, &one);
        *bytes += (uint64_t)p.length * one;
    }
    return fault;
}

/* Are all basic elements the same in file and memory, gaps between them included? */
static bool is_same(const struct weft_representation *representation,
                    const struct weft_datatype *type, int *fault)
{
    uint64_t bytes = 0;
    bool is_same_so_far = true;

    if (representation->kind == WEFT_REPRESENTATION_MEMORY) {
        return true;
    }
    if (type->contents == NULL) {
        *fault = basic_size(representation, type, &bytes);
        return *fault == 0 && bytes == (uint64_t)type->extent;
    }
    for (MPI_Count i = 0; i < type->contents->types && is_same_so_far; i++) {
        is_same_so_far = is_same(representation, type->contents->type[i], fault);
    }
    return is_same_so_far;
}

/* ---- making the type once more, of other types; with the lock ---- */

/* `n` numbers that a form with int has at `integer`, and the other at `count`. */
static struct weft_numbers numbers(const struct weft_contents *c, MPI_Count integer,
                                   MPI_Count count)
{
    return c->is_large ? (struct weft_numbers){.count = c->count + count}
                       : (struct weft_numbers){.integer = c->integer + integer};
}

static struct weft_numbers bytes_of(const struct weft_contents *c, MPI_Count address,
                                    MPI_Count count)
{
    return c->is_large ? (struct weft_numbers){.count = c->count + count}
                       : (struct weft_numbers){.address = c->address + address};
}

static MPI_Count number(const struct weft_contents *c, MPI_Count i)
{
    return c->is_large ? c->count[i] : c->integer[i];
}

static enum weft_rc make_vector(const struct weft_contents *c, struct weft_datatype *old,
                                struct weft_datatype **out)
{
    const bool is_bytes = c->combiner == MPI_COMBINER_HVECTOR;
    const MPI_Count stride = is_bytes && !c->is_large ? c->address[0] : number(c, 2);

    return weft_type_vector(c->combiner, c->is_large, number(c, 0), number(c, 1), stride,
                            old, out);
}

static enum weft_rc make_indexed(const struct weft_contents *c, struct weft_datatype *old,
                                 struct weft_datatype **out)
{
    const MPI_Count n = number(c, 0);
    const struct weft_numbers displacements = c->combiner == MPI_COMBINER_HINDEXED
                                                  ? bytes_of(c, 0, 1 + n)
                                                  : numbers(c, 1 + n, 1 + n);

    return weft_type_indexed(c->combiner, c->is_large, n, numbers(c, 1, 1), displacements,
                             old, out);
}

static enum weft_rc make_blocks(const struct weft_contents *c, struct weft_datatype *old,
                                struct weft_datatype **out)
{
    const struct weft_numbers displacements =
        c->combiner == MPI_COMBINER_HINDEXED_BLOCK ? bytes_of(c, 0, 2) : numbers(c, 2, 2);

    return weft_type_indexed_block(c->combiner, c->is_large, number(c, 0), number(c, 1),
                                   displacements, old, out);
}

static enum weft_rc make_subarray(const struct weft_contents *c,
                                  struct weft_datatype *old, struct weft_datatype **out)
{
    const int n = c->integer[0];
    const int order = c->integer[c->integers - 1];

    return weft_type_subarray(c->is_large, n, numbers(c, 1, 0), numbers(c, 1 + n, n),
                              numbers(c, 1 + 2 * n, 2 * n), order, old, out);
}

static enum weft_rc make_darray(const struct weft_contents *c, struct weft_datatype *old,
                                struct weft_datatype **out)
{
    const int n = c->integer[2];
    const int *rest = c->integer + 3 + (c->is_large ? 0 : n);
    const struct weft_grid grid = {
        .processes = c->integer[0],
        .rank = c->integer[1],
        .dimensions = n,
        .sizes = numbers(c, 3, 0),
        .distributions = rest,
        .arguments = rest + n,
        .process_counts = rest + 2 * n,
        .order = rest[3 * n],
    };

    return weft_type_darray(c->is_large, &grid, old, out);
}

static enum weft_rc make_resized(const struct weft_contents *c, struct weft_datatype *old,
                                 struct weft_datatype **out)
{
    const struct weft_numbers bounds = bytes_of(c, 0, 0);

    return weft_type_resized(c->is_large, weft_number_at(&bounds, 0),
                             weft_number_at(&bounds, 1), old, out);
}

static enum weft_rc make_like(const struct weft_contents *c, struct weft_datatype **types,
                              struct weft_datatype **out)
{
    switch (c->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        return weft_type_contiguous(c->is_large, number(c, 0), types[0], out);
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return make_vector(c, types[0], out);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
        return make_indexed(c, types[0], out);
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
        return make_blocks(c, types[0], out);
    case MPI_COMBINER_STRUCT:
        return weft_type_struct(c->is_large, number(c, 0), numbers(c, 1, 1),
                                bytes_of(c, 0, 1 + number(c, 0)), types, out);
    case MPI_COMBINER_SUBARRAY:
        return make_subarray(c, types[0], out);
    case MPI_COMBINER_DARRAY:
        return make_darray(c, types[0], out);
    case MPI_COMBINER_RESIZED:
        return make_resized(c, types[0], out);
    default:
        return weft_type_dup(types[0], out);
    }
}

/* ---- the whole ---- */

/* With the lock: nobody frees the handle of a new type; its reference stays. */
static enum weft_rc without_handle(enum weft_rc rc, struct weft_datatype *type)
{
    if (rc == WEFT_OK) {
        weft_datatype_keep(type);
        weft_datatype_free(type);
    }
    return rc;
}

/* A basic element that is a block of another size there. */
static int make_basic(uint64_t bytes, struct weft_datatype **out)
{
    struct weft_datatype *byte = weft_datatype_from_handle(MPI_BYTE);
    enum weft_rc rc;

    weft_lock();
    rc = weft_type_contiguous(true, (MPI_Count)bytes, byte, out);
    rc = without_handle(rc, *out);
    weft_unlock();
    return weft_io_fault_of(rc);
}

static int make_type(const struct weft_representation *representation,
                     struct weft_datatype *type, struct weft_datatype **out);

static int make_derived(const struct weft_representation *representation,
                        const struct weft_contents *c, struct weft_datatype **out)
{
    struct weft_datatype **types =
        calloc((size_t)c->types, sizeof(struct weft_datatype *));
    enum weft_rc rc;
    MPI_Count made = 0;
    int fault = types == NULL ? weft_io_fault_of(WEFT_ERR_NOMEM) : 0;

    while (fault == 0 && made < c->types) {
        fault = make_type(representation, c->type[made], &types[made]);
        made += fault == 0;
    }
    weft_lock();
    if (fault == 0) {
        rc = make_like(c, types, out);
        fault = weft_io_fault_of(without_handle(rc, *out));
    }
    for (MPI_Count i = 0; i < made; i++) {
        weft_datatype_release(types[i]);
    }
    weft_unlock();
    free(types);
    return fault;
}

static int make_type(const struct weft_representation *representation,
                     struct weft_datatype *type, struct weft_datatype **out)
{
    uint64_t bytes = 0;
    int fault = 0;

    if (is_same(representation, type, &fault)) {
        weft_lock();
        weft_datatype_keep(type);
        weft_unlock();
        *out = type;
        return 0;
    }
    if (fault != 0) {
        return fault;
    }
    if (type->contents != NULL) {
        return make_derived(representation, type->contents, out);
    }
    fault = basic_size(representation, type, &bytes);
    return fault == 0 ? make_basic(bytes, out) : fault;
}

int weft_in_file_type(const struct weft_representation *representation,
                      struct weft_datatype *type, struct weft_datatype **out)
{
    int fault = make_type(representation, type, out);

    if (fault == 0) {
        weft_lock();
        fault = weft_io_fault_of(weft_datatype_commit(*out));
        if (fault != 0) {
            weft_datatype_release(*out);
        }
        weft_unlock();
    }
    return fault;
}
