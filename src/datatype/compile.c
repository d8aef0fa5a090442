/*
 * compile.c - each way to make a type becomes a repetition or a row of the layouts of the
 * types it is made of (layout.c); these are pointed to and not copied. Nesting as deep as
 * the user's is walked by recursion.
 */
#include "datatype/compile.h"

#include "datatype/placement.h"
#include "engine/lock.h"

#include <assert.h>

/* The layout of `length` elements in a row. */
static enum weft_rc compile_elements(struct weft_layout *layout,
                                     const struct weft_datatype *type, MPI_Count length,
                                     struct weft_piece *out)
{
    return weft_layout_repeat(layout, &type->layout.top, (uint64_t)length, type->extent,
                              out);
}

static enum weft_rc compile_vector(struct weft_datatype *type, struct weft_piece *out)
{
    const MPI_Count count = weft_placements(type);
    struct weft_placement second;
    struct weft_piece block;
    enum weft_rc rc;

    *out = (struct weft_piece){.count = 0};
    if (count == 0) {
        return WEFT_OK;
    }
    second = weft_placement_at(type, 1); /* which lies where the stride says */
    rc = compile_elements(&type->layout, second.type, second.length, &block);
    return rc != WEFT_OK ? rc
                         : weft_layout_repeat(&type->layout, &block, (uint64_t)count,
                                              second.offset, out);
}

static enum weft_rc compile_row(struct weft_datatype *type, struct weft_piece *out)
{
    const MPI_Count n = weft_placements(type);
    struct weft_row row;
    enum weft_rc rc = weft_row_begin(&row, (size_t)n);
    enum weft_rc end;

    for (MPI_Count i = 0; i < n && rc == WEFT_OK; i++) {
        struct weft_placement p = weft_placement_at(type, i);
        struct weft_piece piece;

        rc = compile_elements(&type->layout, p.type, p.length, &piece);
        if (rc == WEFT_OK) {
            weft_row_add(&row, &piece, p.offset);
        }
    }
    end = weft_row_end(&row, &type->layout, out);
    return rc != WEFT_OK ? rc : end;
}

static enum weft_rc compile_inner(const struct weft_datatype *type)
{
    const struct weft_contents *c = type->contents;
    enum weft_rc rc = WEFT_OK;

    if (type->inner != NULL) {
        rc = weft_compile((struct weft_datatype *)(uintptr_t)type->inner);
    }
    for (MPI_Count i = 0; i < c->types && rc == WEFT_OK; i++) {
        rc = weft_compile(c->type[i]);
    }
    return rc;
}

enum weft_rc weft_compile(struct weft_datatype *type)
{
    struct weft_piece *top = &type->layout.top;
    enum weft_rc rc;

    weft_assert_locked();
    assert(type->is_compiled || type->contents != NULL);
    if (type->is_compiled) {
        return WEFT_OK;
    }
    rc = compile_inner(type);
    if (rc == WEFT_OK) {
        const int combiner = type->contents->combiner;

        rc = combiner == MPI_COMBINER_VECTOR || combiner == MPI_COMBINER_HVECTOR
                 ? compile_vector(type, top)
                 : compile_row(type, top);
    }
    if (rc != WEFT_OK) {
        weft_layout_fini(&type->layout);
        return rc;
    }
    top->start = 0;
    type->is_compiled = true;
    type->is_block = weft_piece_is_block(top);
    type->is_contiguous =
        type->size == 0 || (type->is_block && (int64_t)top->size == type->extent);
    return WEFT_OK;
}
