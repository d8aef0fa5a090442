#include "coll/data.h"

#include <assert.h>
#include <stdlib.h>

enum { ALIGNMENT = 16 }; /* of memory for elements: that of malloc */

uint64_t weft_coll_count(const struct weft_coll_side *side, int block)
{
    if (side->counts == NULL) {
        return (uint64_t)side->count;
    }
    return side->has_large_counts ? (uint64_t)((const MPI_Count *)side->counts)[block]
                                  : (uint64_t)((const int *)side->counts)[block];
}

int64_t weft_coll_displ(const struct weft_coll_side *side, int block)
{
    if (side->displs == NULL) {
        return 0;
    }
    return side->has_large_displs ? ((const MPI_Aint *)side->displs)[block]
                                  : ((const int *)side->displs)[block];
}

struct weft_datatype *weft_coll_type(const struct weft_coll_side *side, int block)
{
    return side->types != NULL ? side->types[block] : side->type;
}

struct weft_data weft_coll_space(const struct weft_coll_side *side, uint64_t count)
{
    if (side->type == NULL) {
        return (struct weft_data){0};
    }
    return weft_data_of(side->buffer, (MPI_Count)count, side->type,
                        count * side->type->size);
}

struct weft_data weft_coll_block(const struct weft_coll_side *side, int block)
{
    struct weft_datatype *type = weft_coll_type(side, block);
    const uint64_t count = weft_coll_count(side, block);
    const int64_t unit = side->types != NULL ? 1 : type->extent;
    const uintptr_t at =
        (uintptr_t)side->buffer + (uintptr_t)(weft_coll_displ(side, block) * unit);

    return weft_data_of((const void *)at, (MPI_Count)count, type, count * type->size);
}

/* The bytes that an element occupies, relative to its address. A function of the user may
 * copy a whole struct, with the padding behind its last member. */
struct cell {
    int64_t low;
    int64_t high;
};

static struct cell cell_of(const struct weft_datatype *type)
{
    const int64_t ub = type->lb + type->extent;
    const struct cell data = {type->true_lb, type->true_lb + type->true_extent};

    return type->lb <= data.low && ub >= data.high ? (struct cell){type->lb, ub} : data;
}

/* Rounds downwards, also below 0. */
static int64_t align_down(int64_t at)
{
    return at & -(int64_t)ALIGNMENT;
}

enum weft_rc weft_coll_scratch_make(struct weft_coll_scratch *scratch,
                                    struct weft_datatype *type, uint64_t bytes,
                                    uint32_t blocks)
{
    const uint64_t count = bytes / type->size;
    const int64_t apart = type->extent < 0 ? -type->extent : type->extent;
    const struct cell cell = cell_of(type);
    const int64_t low = align_down(cell.low);
    const int64_t beyond = cell.high - cell.low - apart;
    int64_t before_last;
    char *memory;

    assert(count > 0 && blocks > 0 && bytes % type->size == 0);
    scratch->gap = beyond > 0 ? -align_down(-beyond) : 0;
    before_last = (int64_t)(count - 1) * apart + (int64_t)(blocks - 1) * scratch->gap;
    memory = malloc((size_t)(before_last + cell.high - low));
    if (memory == NULL) {
        return WEFT_ERR_NOMEM;
    }
    scratch->data = weft_data_of(memory - low + (type->extent < 0 ? before_last : 0),
                                 (MPI_Count)count, type, bytes);
    scratch->data.memory = memory;
    scratch->gap = type->extent < 0 ? -scratch->gap : scratch->gap;
    return WEFT_OK;
}

struct weft_data weft_coll_scratch_span(const struct weft_coll_scratch *scratch,
                                        const struct weft_span *span)
{
    struct weft_data data = weft_data_part(&scratch->data, span->offset, span->bytes);

    data.buffer = (const void *)((uintptr_t)data.buffer +
                                 (uintptr_t)((int64_t)span->block * scratch->gap));
    return data;
}

/* Where the first element of whole elements begins, as the user counts. */
static void *element(const struct weft_data *data, const struct weft_datatype *type)
{
    if (data->type == NULL) {
        return (void *)((uintptr_t)data->buffer - (uintptr_t)type->true_lb);
    }
    assert(data->skip % type->size == 0);
    return (void *)((uintptr_t)data->buffer +
                    (uintptr_t)((int64_t)(data->skip / type->size) * type->extent));
}

void weft_coll_reduce(const struct weft_operation *op, struct weft_datatype *type,
                      const struct weft_data *from, const struct weft_data *to)
{
    assert(from->bytes == to->bytes && from->bytes % type->size == 0);
    weft_operation_apply(op, type, element(from, type), element(to, type),
                         from->bytes / type->size);
}
