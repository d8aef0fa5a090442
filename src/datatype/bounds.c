#include "datatype/bounds.h"

#include "datatype/placement.h"

struct span {
    bool is_empty;
    int64_t low;
    int64_t high;
};

struct bounds {
    bool is_overflown;
    struct span data;
    struct span markers;
    size_t size;
    size_t elements;
    uint32_t align;
};

static int64_t add(struct bounds *b, int64_t x, int64_t y)
{
    int64_t sum = 0;

    b->is_overflown |= __builtin_add_overflow(x, y, &sum);
    return sum;
}

static int64_t multiply(struct bounds *b, int64_t x, int64_t y)
{
    int64_t product = 0;

    b->is_overflown |= __builtin_mul_overflow(x, y, &product);
    return product;
}

static void widen(struct span *span, int64_t low, int64_t high)
{
    span->low = span->is_empty || low < span->low ? low : span->low;
    span->high = span->is_empty || high > span->high ? high : span->high;
    span->is_empty = false;
}

/* `length` elements in a row, at `offset`. */
static void place(struct bounds *b, int64_t offset, MPI_Count length,
                  const struct weft_datatype *type)
{
    int64_t last;
    int64_t low;
    int64_t high;

    if (length == 0 || (type->size == 0 && !type->has_markers)) {
        return;
    }
    last = multiply(b, length - 1, type->extent);
    low = add(b, offset, last < 0 ? last : 0);
    high = add(b, offset, last < 0 ? 0 : last);
    if (type->size > 0) {
        widen(&b->data, add(b, low, type->true_lb),
              add(b, high, add(b, type->true_lb, type->true_extent)));
        b->align = type->align > b->align ? type->align : b->align;
    }
    if (type->has_markers) {
        widen(&b->markers, add(b, low, type->lb),
              add(b, high, add(b, type->lb, type->extent)));
    }
}

static void count_data(struct bounds *b, MPI_Count rows, MPI_Count length,
                       const struct weft_datatype *type)
{
    int64_t all = multiply(b, multiply(b, rows, length), (int64_t)type->size);

    b->size = (size_t)add(b, (int64_t)b->size, all);
    if (!b->is_overflown && type->size > 0) { /* an element has a byte at least */
        b->elements += (size_t)rows * (size_t)length * type->elements;
    }
}

/* Only the first and the last of a vector's blocks can be outermost. */
static void place_vector(struct bounds *b, const struct weft_datatype *type)
{
    const struct weft_contents *c = type->contents;
    const MPI_Count count = weft_contents_number(c, 0);
    const MPI_Count length = weft_contents_number(c, 1);
    const struct weft_datatype *old = c->type[0];
    int64_t stride;

    if (count == 0 || length == 0) {
        return;
    }
    place(b, 0, length, old);
    count_data(b, count, length, old);
    if (count > 1 && (old->size > 0 || old->has_markers)) {
        stride = c->combiner == MPI_COMBINER_VECTOR
                     ? multiply(b, weft_contents_number(c, 2), old->extent)
                     : weft_contents_bytes(c, 0, 2);
        place(b, multiply(b, count - 1, stride), length, old);
    }
}

static void place_all(struct bounds *b, const struct weft_datatype *type)
{
    const int combiner = type->contents->combiner;
    const bool is_scaled =
        combiner == MPI_COMBINER_INDEXED || combiner == MPI_COMBINER_INDEXED_BLOCK;
    const MPI_Count n = weft_placements(type);

    for (MPI_Count i = 0; i < n; i++) {
        struct weft_placement p = weft_placement_at(type, i);

        if (p.length > 0 && is_scaled && p.type->extent != 0) {
            const MPI_Count first = combiner == MPI_COMBINER_INDEXED
                                        ? 1 + weft_contents_number(type->contents, 0)
                                        : 2;

            p.offset = multiply(b, weft_contents_number(type->contents, first + i),
                                p.type->extent);
        }
        place(b, p.offset, p.length, p.type);
        count_data(b, 1, p.length, p.type);
    }
}

static int64_t distance(struct bounds *b, const struct span *span)
{
    int64_t length = 0;

    if (!span->is_empty) {
        b->is_overflown |= __builtin_sub_overflow(span->high, span->low, &length);
    }
    return length;
}

static void set_bounds(struct weft_datatype *type, struct bounds *b)
{
    type->size = b->size;
    type->elements = b->elements;
    type->align = b->align;
    type->true_lb = b->data.is_empty ? 0 : b->data.low;
    type->true_extent = distance(b, &b->data);
    if (!b->markers.is_empty) {
        type->has_markers = true;
        type->lb = b->markers.low;
        type->extent = distance(b, &b->markers);
    } else {
        const int64_t rest = b->align > 1 ? type->true_extent % (int64_t)b->align : 0;

        type->lb = type->true_lb;
        type->extent = add(b, type->true_extent, rest == 0 ? 0 : b->align - rest);
    }
}

enum weft_rc weft_find_bounds(struct weft_datatype *type)
{
    struct bounds b = {.data = {.is_empty = true}, .markers = {.is_empty = true}};
    const struct weft_contents *c = type->contents;

    if (c->combiner == MPI_COMBINER_VECTOR || c->combiner == MPI_COMBINER_HVECTOR) {
        place_vector(&b, type);
    } else {
        place_all(&b, type);
    }
    set_bounds(type, &b);
    return b.is_overflown ? WEFT_ERR_ARGUMENT : WEFT_OK;
}
