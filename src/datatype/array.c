/*
 * array.c - built from the fastest dimension outwards, of vectors and shifts. Strides are
 * always in bytes of the whole array, so that the extents on the way do not matter.
 */
#include "datatype/array.h"

#include <stdlib.h>
#include <string.h>

/* Replaces *type by what was made of it. */
static enum weft_rc replace(enum weft_rc rc, struct weft_datatype **type,
                            struct weft_datatype *made)
{
    weft_datatype_free(*type);
    *type = rc == WEFT_OK ? made : NULL;
    return rc;
}

static enum weft_rc repeat(struct weft_datatype **type, MPI_Count count, MPI_Count stride)
{
    struct weft_datatype *made = NULL;
    enum weft_rc rc =
        weft_type_vector(MPI_COMBINER_HVECTOR, true, count, 1, stride, *type, &made);

    return replace(rc, type, made);
}

static enum weft_rc shift(struct weft_datatype **type, MPI_Count offset)
{
    struct weft_datatype *made = NULL;
    enum weft_rc rc = weft_type_indexed_block(
        MPI_COMBINER_HINDEXED_BLOCK, true, 1, 1,
        (struct weft_numbers){.count = (const MPI_Count[]){offset}}, *type, &made);

    return replace(rc, type, made);
}

/* The array's bounds, and the user's description around what was built. */
static enum weft_rc finish(struct weft_contents *contents, MPI_Count extent,
                           struct weft_datatype **type, struct weft_datatype **out)
{
    struct weft_datatype *made = NULL;
    enum weft_rc rc = weft_type_resized(true, 0, extent, *type, &made);

    rc = replace(rc, type, made);
    if (rc != WEFT_OK) {
        free(contents);
        return rc;
    }
    rc = weft_type_describe(contents, *type, out);
    weft_datatype_free(*type);
    return rc;
}

/* The k-th fastest dimension. */
static int dimension(int order, int dimensions, int k)
{
    return order == MPI_ORDER_FORTRAN ? k : dimensions - 1 - k;
}

static bool multiply(MPI_Count a, MPI_Count b, MPI_Count *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* A type of our own, with one handle, that stands for the old one. */
static enum weft_rc begin(struct weft_datatype *old, struct weft_datatype **out)
{
    return weft_type_contiguous(true, 1, old, out);
}

static enum weft_rc build_subarray(int n, struct weft_numbers sizes,
                                   struct weft_numbers part_sizes,
                                   struct weft_numbers starts, int order,
                                   struct weft_datatype **type, MPI_Count *stride)
{
    MPI_Count offset = 0;
    enum weft_rc rc = WEFT_OK;

    for (int k = 0; k < n && rc == WEFT_OK; k++) {
        const int d = dimension(order, n, k);
        MPI_Count step;

        if (!multiply(weft_number_at(&starts, d), *stride, &step)) {
            rc = WEFT_ERR_ARGUMENT;
            break;
        }
        offset += step;
        rc = repeat(type, weft_number_at(&part_sizes, d), *stride);
        if (rc == WEFT_OK && !multiply(*stride, weft_number_at(&sizes, d), stride)) {
            rc = WEFT_ERR_ARGUMENT;
        }
    }
    return rc == WEFT_OK ? shift(type, offset) : rc;
}

static void copy_numbers(int *to, MPI_Count *to_wide, struct weft_numbers from, int n)
{
    for (int i = 0; i < n; i++) {
        if (to_wide != NULL) {
            to_wide[i] = weft_number_at(&from, i);
        } else {
            to[i] = (int)weft_number_at(&from, i);
        }
    }
}

static struct weft_contents *subarray_contents(bool is_large, int n,
                                               struct weft_numbers sizes,
                                               struct weft_numbers part_sizes,
                                               struct weft_numbers starts, int order,
                                               struct weft_datatype *old)
{
    struct weft_contents *c = weft_contents_new(
        MPI_COMBINER_SUBARRAY, is_large ? 2 : 3 * n + 2, 0, is_large ? 3 * n : 0, 1);
    MPI_Count *wide;

    if (c == NULL) {
        return NULL;
    }
    wide = is_large ? c->count : NULL;
    c->type[0] = old;
    c->integer[0] = n;
    c->integer[c->integers - 1] = order;
    copy_numbers(c->integer + 1, wide, sizes, n);
    copy_numbers(c->integer + 1 + n, is_large ? wide + n : NULL, part_sizes, n);
    copy_numbers(c->integer + 1 + 2 * n, is_large ? wide + 2 * n : NULL, starts, n);
    return c;
}

enum weft_rc weft_type_subarray(bool is_large, int dimensions, struct weft_numbers sizes,
                                struct weft_numbers part_sizes,
                                struct weft_numbers starts, int order,
                                struct weft_datatype *old, struct weft_datatype **out)
{
    MPI_Count stride = old->extent;
    struct weft_datatype *type;
    struct weft_contents *contents;
    enum weft_rc rc = begin(old, &type);

    if (rc != WEFT_OK) {
        return rc;
    }
    rc = build_subarray(dimensions, sizes, part_sizes, starts, order, &type, &stride);
    if (rc == WEFT_OK) {
        contents = subarray_contents(is_large, dimensions, sizes, part_sizes, starts,
                                     order, old);
        rc = contents != NULL ? finish(contents, stride, &type, out) : WEFT_ERR_NOMEM;
        if (contents == NULL) {
            weft_datatype_free(type);
        }
    } else if (type != NULL) {
        weft_datatype_free(type);
    }
    return rc;
}

/* ---- distributed arrays (MPI-5.0, 5.1.4) ---- */

MPI_Count weft_grid_block(const struct weft_grid *grid, int i)
{
    const MPI_Count size = weft_number_at(&grid->sizes, i);
    const int processes = grid->process_counts[i];

    if (grid->distributions[i] == MPI_DISTRIBUTE_NONE) {
        return size;
    }
    if (grid->arguments[i] != MPI_DISTRIBUTE_DFLT_DARG) {
        return grid->arguments[i];
    }
    return grid->distributions[i] == MPI_DISTRIBUTE_CYCLIC
               ? 1
               : size / processes + (size % processes != 0);
}

/* Our place in dimension `i`: ranks are in row-major order, whatever the array's is. */
static int coordinate(const struct weft_grid *grid, int i)
{
    int behind = 1;

    for (int k = grid->dimensions - 1; k > i; k--) {
        behind *= grid->process_counts[k];
    }
    return grid->rank / behind % grid->process_counts[i];
}

/* Blocks of `block` elements, every `step`-th one ours; the last may be shorter. */
static enum weft_rc build_cyclic(struct weft_datatype **type, MPI_Count block,
                                 MPI_Count full, MPI_Count rest, MPI_Count step,
                                 MPI_Count stride)
{
    struct weft_datatype *parts[2] = {NULL, NULL};
    struct weft_datatype *made = NULL;
    const MPI_Count ones[] = {1, 1};
    const MPI_Count offsets[] = {0, full * step * stride};
    enum weft_rc rc =
        weft_type_vector(MPI_COMBINER_HVECTOR, true, block, 1, stride, *type, &parts[0]);

    if (rc == WEFT_OK) {
        rc = repeat(&parts[0], full, step * stride);
    }
    if (rc == WEFT_OK) {
        rc = weft_type_vector(MPI_COMBINER_HVECTOR, true, rest, 1, stride, *type,
                              &parts[1]);
    }
    if (rc == WEFT_OK) {
        rc = weft_type_struct(true, 2, (struct weft_numbers){.count = ones},
                              (struct weft_numbers){.count = offsets}, parts, &made);
    }
    for (int i = 0; i < 2; i++) {
        if (parts[i] != NULL) {
            weft_datatype_free(parts[i]);
        }
    }
    return replace(rc, type, made);
}

static enum weft_rc build_dimension(const struct weft_grid *grid, int d,
                                    struct weft_datatype **type, MPI_Count stride)
{
    const MPI_Count size = weft_number_at(&grid->sizes, d);
    const MPI_Count block = weft_grid_block(grid, d);
    const MPI_Count first = block * coordinate(grid, d);
    const MPI_Count step = block * grid->process_counts[d];
    const MPI_Count left = size > first ? size - first : 0; /* from our first one on */
    MPI_Count full = left / step;
    MPI_Count rest = left % step;
    enum weft_rc rc;

    if (grid->distributions[d] == MPI_DISTRIBUTE_CYCLIC) {
        if (rest >= block) {
            full++;
            rest = 0;
        }
        rc = build_cyclic(type, block, full, rest, step, stride);
    } else {
        rc = repeat(type, left < block ? left : block, stride);
    }
    return rc == WEFT_OK ? shift(type, left > 0 ? first * stride : 0) : rc;
}

static struct weft_contents *darray_contents(bool is_large, const struct weft_grid *grid,
                                             struct weft_datatype *old)
{
    const int n = grid->dimensions;
    struct weft_contents *c = weft_contents_new(
        MPI_COMBINER_DARRAY, is_large ? 3 * n + 4 : 4 * n + 4, 0, is_large ? n : 0, 1);
    int *at;

    if (c == NULL) {
        return NULL;
    }
    c->type[0] = old;
    c->integer[0] = grid->processes;
    c->integer[1] = grid->rank;
    c->integer[2] = n;
    at = c->integer + 3;
    copy_numbers(at, is_large ? c->count : NULL, grid->sizes, n);
    at += is_large ? 0 : n;
    memcpy(at, grid->distributions, (size_t)n * sizeof(int));
    memcpy(at + n, grid->arguments, (size_t)n * sizeof(int));
    memcpy(at + 2 * n, grid->process_counts, (size_t)n * sizeof(int));
    at[3 * n] = grid->order;
    return c;
}

enum weft_rc weft_type_darray(bool is_large, const struct weft_grid *grid,
                              struct weft_datatype *old, struct weft_datatype **out)
{
    MPI_Count stride = old->extent;
    struct weft_datatype *type;
    struct weft_contents *contents;
    enum weft_rc rc = begin(old, &type);

    for (int k = 0; k < grid->dimensions && rc == WEFT_OK; k++) {
        const int d = dimension(grid->order, grid->dimensions, k);
        MPI_Count all;

        if (!multiply(stride, weft_number_at(&grid->sizes, d), &all)) {
            weft_datatype_free(type);
            return WEFT_ERR_ARGUMENT;
        }
        rc = build_dimension(grid, d, &type, stride);
        stride = all;
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    contents = darray_contents(is_large, grid, old);
    if (contents == NULL) {
        weft_datatype_free(type);
        return WEFT_ERR_NOMEM;
    }
    return finish(contents, stride, &type, out);
}
