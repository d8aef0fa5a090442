#include "datatype/placement.h"

#include <assert.h>

/* Wraps around where the placement is empty; weft_type_describe refuses the others. */
static int64_t scale(MPI_Count a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

MPI_Count weft_placements(const struct weft_datatype *type)
{
    const struct weft_contents *c = type->contents;

    assert(c != NULL);
    switch (c->combiner) {
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return weft_contents_number(c, 0);
    default:
        return 1;
    }
}

struct weft_placement weft_placement_at(const struct weft_datatype *type, MPI_Count i)
{
    const struct weft_contents *c = type->contents;
    struct weft_placement p = {0, 1, c->types > 0 ? c->type[0] : NULL};
    MPI_Count n;

    assert(c != NULL && i >= 0);
    if (type->inner != NULL) {
        p.type = type->inner;
        return p;
    }
    switch (c->combiner) {
    case MPI_COMBINER_CONTIGUOUS:
        p.length = weft_contents_number(c, 0);
        break;
    case MPI_COMBINER_VECTOR:
        p.length = weft_contents_number(c, 1);
        p.offset = scale(i, scale(weft_contents_number(c, 2), p.type->extent));
        break;
    case MPI_COMBINER_HVECTOR:
        p.length = weft_contents_number(c, 1);
        p.offset = scale(i, weft_contents_bytes(c, 0, 2));
        break;
    case MPI_COMBINER_INDEXED:
        n = weft_contents_number(c, 0);
        p.length = weft_contents_number(c, 1 + i);
        p.offset = scale(weft_contents_number(c, 1 + n + i), p.type->extent);
        break;
    case MPI_COMBINER_HINDEXED:
        n = weft_contents_number(c, 0);
        p.length = weft_contents_number(c, 1 + i);
        p.offset = weft_contents_bytes(c, i, 1 + n);
        break;
    case MPI_COMBINER_INDEXED_BLOCK:
        p.length = weft_contents_number(c, 1);
        p.offset = scale(weft_contents_number(c, 2 + i), p.type->extent);
        break;
    case MPI_COMBINER_HINDEXED_BLOCK:
        p.length = weft_contents_number(c, 1);
        p.offset = weft_contents_bytes(c, i, 2);
        break;
    case MPI_COMBINER_STRUCT:
        n = weft_contents_number(c, 0);
        p.length = weft_contents_number(c, 1 + i);
        p.offset = weft_contents_bytes(c, i, 1 + n);
        p.type = c->type[i];
        break;
    default: /* DUP, RESIZED: the old type, once */
        break;
    }
    return p;
}
