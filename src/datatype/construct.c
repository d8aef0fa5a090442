#include "datatype/construct.h"

#include "datatype/compile.h"

#include <stdlib.h>
#include <string.h>

/* ---- placements: the contents read as positions in bytes ---- */

static MPI_Count number(const struct weft_contents *c, MPI_Count i)
{
    return c->is_large ? c->count[i] : c->integer[i];
}

/* Displacements in bytes are addresses in one form and counts in the other. */
static MPI_Count byte_number(const struct weft_contents *c, MPI_Count i, MPI_Count before)
{
    return c->is_large ? c->count[before + i] : c->address[i];
}

/* Wraps around where the placement is empty; weft_type_describe refuses the others. */
static int64_t scale(MPI_Count a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

MPI_Count weft_placements(const struct weft_datatype *type)
{
    const struct weft_contents *c = type->contents;

    switch (c->combiner) {
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return number(c, 0);
    default:
        return 1;
    }
}

struct weft_placement weft_placement_at(const struct weft_datatype *type, MPI_Count i)
{
    const struct weft_contents *c = type->contents;
    struct weft_placement p = {0, 1, c->types > 0 ? c->type[0] : NULL};
    MPI_Count n;

    if (type->inner != NULL) {
        p.type = type->inner;
        return p;
    }
    switch (c->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        p.length = number(c, 0);
        break;
    case MPI_COMBINER_VECTOR:
        p.length = number(c, 1);
        p.offset = scale(i, scale(number(c, 2), p.type->extent));
        break;
    case MPI_COMBINER_HVECTOR:
        p.length = number(c, 1);
        p.offset = scale(i, byte_number(c, 0, 2));
        break;
    case MPI_COMBINER_INDEXED:
        n = number(c, 0);
        p.length = number(c, 1 + i);
        p.offset = scale(number(c, 1 + n + i), p.type->extent);
        break;
    case MPI_COMBINER_HINDEXED:
        n = number(c, 0);
        p.length = number(c, 1 + i);
        p.offset = byte_number(c, i, 1 + n);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        p.length = number(c, 1);
        p.offset = scale(number(c, 2 + i), p.type->extent);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        p.length = number(c, 1);
        p.offset = byte_number(c, i, 2);
        break;
    case MPI_COMBINER_STRUCT:
        n = number(c, 0);
        p.length = number(c, 1 + i);
        p.offset = byte_number(c, i, 1 + n);
        p.type = c->type[i];
        break;
    default: /* DUP, RESIZED: the old type, once */
        break;
    }
    return p;
}

/* ---- bounds (MPI-5.0, 5.1.7) ---- */

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
    const MPI_Count count = number(c, 0);
    const MPI_Count length = number(c, 1);
    const struct weft_datatype *old = c->type[0];
    int64_t stride;

    if (count == 0 || length == 0) {
        return;
    }
    place(b, 0, length, old);
    count_data(b, count, length, old);
    if (count > 1 && (old->size > 0 || old->has_markers)) {
        stride = c->combiner == MPI_COMBINER_VECTOR
                     ? multiply(b, number(c, 2), old->extent)
                     : byte_number(c, 0, 2);
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
            const MPI_Count first =
                combiner == MPI_COMBINER_INDEXED ? 1 + number(type->contents, 0) : 2;

            p.offset = multiply(b, number(type->contents, first + i), p.type->extent);
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

static enum weft_rc find_bounds(struct weft_datatype *type)
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

/* ---- making ---- */

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
    rc = find_bounds(type);
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
    if (rc == WEFT_OK && old->given_name != NULL) {
        rc = weft_datatype_set_name(*out, old->given_name);
    }
    if (rc != WEFT_OK) {
        weft_datatype_free(*out);
    }
    return rc;
}
