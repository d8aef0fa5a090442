#include "rma/apply.h"

#include "datatype/cursor.h"
#include "datatype/reduce.h"

#include <assert.h>
#include <string.h>

enum { BLOCK = 1024 }; /* bytes; larger than any element */

bool weft_rma_is_defined(MPI_Op op, const struct weft_datatype *type)
{
    return op == MPI_REPLACE || op == MPI_NO_OP || weft_reduce_is_defined(op, type);
}

bool weft_rma_can_swap(const struct weft_datatype *type)
{
    return weft_reduce_is_defined(MPI_BAND, type) ||
           weft_reduce_is_defined(MPI_LAND, type);
}

/* Packed elements as they lie in an array of the C type, and back. */
static void unfold(const struct weft_datatype *type, const void *packed, void *array,
                   size_t count)
{
    struct weft_cursor cursor;

    weft_cursor_init(&cursor, &type->layout, type->extent, count, array);
    weft_cursor_unpack(&cursor, packed, count * type->size);
}

static void fold(const struct weft_datatype *type, const void *array, void *packed,
                 size_t count)
{
    struct weft_cursor cursor;

    weft_cursor_init(&cursor, &type->layout, type->extent, count, array);
    weft_cursor_pack(&cursor, packed, count * type->size);
}

/* Do packed elements lie here as in an array of the C type? */
static bool is_plain(const struct weft_datatype *type, const void *memory)
{
    return type->is_plain && (size_t)type->extent == type->size &&
           (uintptr_t)memory % type->size == 0;
}

void weft_rma_apply(MPI_Op op, const struct weft_datatype *type, const void *in,
                    void *values, size_t bytes)
{
    _Alignas(64) char ours[BLOCK];
    _Alignas(64) char theirs[BLOCK];
    const size_t most = BLOCK / (size_t)type->extent;
    size_t left = bytes / type->size;

    assert(bytes % type->size == 0 && most > 0);
    if (op == MPI_NO_OP) {
        return;
    }
    if (op == MPI_REPLACE) {
        memcpy(values, in, bytes);
        return;
    }
    if (is_plain(type, in) && is_plain(type, values)) {
        weft_reduce_apply(op, type, in, values, left);
        return;
    }
    while (left > 0) {
        const size_t some = left < most ? left : most;

        unfold(type, in, ours, some);
        unfold(type, values, theirs, some);
        weft_reduce_apply(op, type, ours, theirs, some);
        fold(type, theirs, values, some);
        in = (const char *)in + some * type->size;
        values = (char *)values + some * type->size;
        left -= some;
    }
}

void weft_rma_swap(const struct weft_datatype *type, const void *compare, const void *by,
                   void *value)
{
    if (memcmp(value, compare, type->size) == 0) {
        memcpy(value, by, type->size);
    }
}
