#include "datatype/construct.h"

#include "datatype/bounds.h"
#include "engine/lock.h"

#include <stdlib.h>
#include <string.h>

struct weft_contents *weft_contents_new(int combiner, MPI_Count integers,
                                        MPI_Count addresses, MPI_Count counts,
                                        MPI_Count types)
{
    const size_t wide = (size_t)(addresses + counts + types) * 8;
    struct weft_contents *c =
        malloc(sizeof(*c) + wide + (size_t)integers * sizeof(*c->integer));

    _Static_assert(sizeof(MPI_Aint) == 8 && sizeof(MPI_Count) == 8 && sizeof(void *) == 8,
                   "one array behind the other, aligned");
    if (c != NULL) {
        *c = (struct weft_contents){
            .combiner = combiner,
            .is_large = counts > 0,
            .integers = integers,
            .addresses = addresses,
            .counts = counts,
            .types = types,
        };
        c->address = (MPI_Aint *)(c + 1);
        c->count = (MPI_Count *)(c->address + addresses);
        c->type = (struct weft_datatype **)(c->count + counts);
        c->integer = (int *)(c->type + types);
    }
    return c;
}

enum weft_rc weft_type_describe(struct weft_contents *contents,
                                const struct weft_datatype *inner,
                                struct weft_datatype **out)
{
    struct weft_datatype *type;
    enum weft_rc rc = weft_datatype_new(&type);

    weft_assert_locked();
    if (rc != WEFT_OK) {
        free(contents);
        return rc;
    }
    type->contents = contents;
    type->inner = inner;
    for (MPI_Count i = 0; i < contents->types; i++) {
        weft_datatype_keep(contents->type[i]);
    }
    if (inner != NULL) {
        weft_datatype_keep((struct weft_datatype *)(uintptr_t)inner);
    }
    rc = weft_find_bounds(type);
    if (rc == WEFT_OK) {
        *out = type;
    } else {
        weft_datatype_free(type);
    }
    return rc;
}

/* Copies `n` numbers to where contents keep them: the next free places of their kind. */
static void put(struct weft_contents *c, MPI_Count at, struct weft_numbers from,
                MPI_Count n)
{
    for (MPI_Count i = 0; i < n; i++) {
        if (c->is_large) {
            c->count[at + i] = weft_number_at(&from, i);
        } else {
            c->integer[at + i] = (int)weft_number_at(&from, i);
        }
    }
}

static void put_one(struct weft_contents *c, MPI_Count at, MPI_Count value)
{
    put(c, at, (struct weft_numbers){.count = &value}, 1);
}

static void put_bytes(struct weft_contents *c, MPI_Count before, struct weft_numbers from,
                      MPI_Count n)
{
    if (c->is_large) {
        put(c, before, from, n);
        return;
    }
    for (MPI_Count i = 0; i < n; i++) {
        c->address[i] = (MPI_Aint)weft_number_at(&from, i);
    }
}

/* `numbers` of which the last `bytes` are in bytes. */
static struct weft_contents *new_contents(int combiner, bool is_large, MPI_Count numbers,
                                          MPI_Count bytes, MPI_Count types)
{
    struct weft_contents *c =
        is_large ? weft_contents_new(combiner, 0, 0, numbers, types)
                 : weft_contents_new(combiner, numbers - bytes, bytes, 0, types);

    if (c != NULL) {
        c->is_large = is_large;
    }
    return c;
}

enum weft_rc weft_type_contiguous(bool is_large, MPI_Count count,
                                  struct weft_datatype *old, struct weft_datatype **out)
{
    struct weft_contents *c = new_contents(MPI_COMBINER_CONTIGUOUS, is_large, 1, 0, 1);

    if (c == NULL) {
        return WEFT_ERR_NOMEM;
    }
    put_one(c, 0, count);
    c->type[0] = old;
    return weft_type_describe(c, NULL, out);
}

enum weft_rc weft_type_vector(int combiner, bool is_large, MPI_Count count,
                              MPI_Count length, MPI_Count stride,
                              struct weft_datatype *old, struct weft_datatype **out)
{
    const bool is_bytes = combiner == MPI_COMBINER_HVECTOR;
    struct weft_contents *c = new_contents(combiner, is_large, 3, is_bytes ? 1 : 0, 1);

    if (c == NULL) {
        return WEFT_ERR_NOMEM;
    }
    put_one(c, 0, count);
    put_one(c, 1, length);
    if (is_bytes) {
        put_bytes(c, 2, (struct weft_numbers){.count = &stride}, 1);
    } else {
        put_one(c, 2, stride);
    }
    c->type[0] = old;
    return weft_type_describe(c, NULL, out);
}

enum weft_rc weft_type_indexed(int combiner, bool is_large, MPI_Count count,
                               struct weft_numbers lengths,
                               struct weft_numbers displacements,
                               struct weft_datatype *old, struct weft_datatype **out)
{
    const bool is_bytes = combiner == MPI_COMBINER_HINDEXED;
    struct weft_contents *c =
        new_contents(combiner, is_large, 1 + 2 * count, is_bytes ? count : 0, 1);

    if (c == NULL) {
        return WEFT_ERR_NOMEM;
    }
    put_one(c, 0, count);
    put(c, 1, lengths, count);
    if (is_bytes) {
        put_bytes(c, 1 + count, displacements, count);
    } else {
        put(c, 1 + count, displacements, count);
    }
    c->type[0] = old;
    return weft_type_describe(c, NULL, out);
}

enum weft_rc weft_type_indexed_block(int combiner, bool is_large, MPI_Count count,
                                     MPI_Count length, struct weft_numbers displacements,
                                     struct weft_datatype *old,
                                     struct weft_datatype **out)
{
    const bool is_bytes = combiner == MPI_COMBINER_HINDEXED_BLOCK;
    struct weft_contents *c =
        new_contents(combiner, is_large, 2 + count, is_bytes ? count : 0, 1);

    if (c == NULL) {
        return WEFT_ERR_NOMEM;
    }
    put_one(c, 0, count);
    put_one(c, 1, length);
    if (is_bytes) {
        put_bytes(c, 2, displacements, count);
    } else {
        put(c, 2, displacements, count);
    }
    c->type[0] = old;
    return weft_type_describe(c, NULL, out);
}

enum weft_rc weft_type_struct(bool is_large, MPI_Count count, struct weft_numbers lengths,
                              struct weft_numbers displacements,
                              struct weft_datatype *const *types,
                              struct weft_datatype **out)
{
    struct weft_contents *c =
        new_contents(MPI_COMBINER_STRUCT, is_large, 1 + 2 * count, count, count);

    if (c == NULL) {
        return WEFT_ERR_NOMEM;
    }
    put_one(c, 0, count);
    put(c, 1, lengths, count);
    put_bytes(c, 1 + count, displacements, count);
    for (MPI_Count i = 0; i < count; i++) {
        c->type[i] = types[i];
    }
    return weft_type_describe(c, NULL, out);
}

enum weft_rc weft_type_resized(bool is_large, MPI_Count lb, MPI_Count extent,
                               struct weft_datatype *old, struct weft_datatype **out)
{
    const MPI_Count both[] = {lb, extent};
    struct weft_contents *c = new_contents(MPI_COMBINER_RESIZED, is_large, 2, 2, 1);
    enum weft_rc rc;

    if (c == NULL) {
        return WEFT_ERR_NOMEM;
    }
    put_bytes(c, 0, (struct weft_numbers){.count = both}, 2);
    c->type[0] = old;
    rc = weft_type_describe(c, NULL, out);
    if (rc == WEFT_OK) {
        (*out)->lb = lb;
        (*out)->extent = extent;
        (*out)->has_markers = true;
        if (__builtin_add_overflow(lb, extent, &(MPI_Count){0})) {
            weft_datatype_free(*out);
            return WEFT_ERR_ARGUMENT;
        }
    }
    return rc;
}

enum weft_rc weft_type_dup(struct weft_datatype *old, struct weft_datatype **out)
{
    struct weft_contents *c = new_contents(MPI_COMBINER_DUP, false, 0, 0, 1);
    enum weft_rc rc;

    if (c == NULL) {
        return WEFT_ERR_NOMEM;
    }
    c->type[0] = old;
    rc = weft_type_describe(c, NULL, out);
    if (rc != WEFT_OK) {
        return rc;
    }
    /* Exactly as the old one, whatever rounding would say; operations know it, too. */
    (*out)->lb = old->lb;
    (*out)->extent = old->extent;
    (*out)->number = old->number;
    (*out)->pair_of = old->pair_of;
    if (old->is_committed) {
        rc = weft_datatype_commit(*out);
    }
    if (rc != WEFT_OK) {
        weft_datatype_free(*out);
    }
    return rc;
}
