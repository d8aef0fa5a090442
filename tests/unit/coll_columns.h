/*
 * coll_columns.h - the spaces of reductions in the memory of a user whose elements are
 * the columns of a matrix: an element is longer than the distance from one to the next,
 * and the elements of one buffer interleave.
 *
 * The tests fill and check packed bytes, as ever. Before a run they are laid out,
 * afterwards the results are packed again. In between, all data of a step go through the
 * memory that the library would use for it (coll/data.h).
 */
#ifndef WEFT_TEST_COLL_COLUMNS_H
#define WEFT_TEST_COLL_COLUMNS_H

#include "coll_model.h"

#include "coll/data.h"
#include "datatype/construct.h"

struct columns {
    struct weft_datatype *type; /* an element of coll_model.h, of which each int is in
                                 * another row */
    struct weft_coll_scratch (*of_rank)[WEFT_SPACES];
};

/* The columns, or the rows, are in order or backwards. */
static inline struct weft_datatype *column_type(uint64_t columns, uint32_t seed)
{
    const MPI_Count row = (MPI_Count)columns * (seed % 3 == 1 ? -1 : 1);
    const MPI_Count extent = (MPI_Count)sizeof(int) * (seed % 3 == 2 ? -1 : 1);
    struct weft_datatype *number = weft_datatype_from_handle(MPI_INT);
    struct weft_datatype *plain;
    struct weft_datatype *type;

    assert_int_equal(weft_type_vector(MPI_COMBINER_VECTOR, false,
                                      UNIT / (MPI_Count)sizeof(int), 1, row, number,
                                      &plain),
                     WEFT_OK);
    assert_int_equal(weft_type_resized(false, 0, extent, plain, &type), WEFT_OK);
    weft_datatype_free(plain);
    assert_int_equal(weft_datatype_commit(type), WEFT_OK);
    return type;
}

static inline void move_columns(const struct model *model, int rank,
                                struct weft_span span, uint8_t *bytes, bool is_store)
{
    const struct columns *columns = model->layout;
    struct weft_data data;

    if (span.bytes == 0) {
        return;
    }
    data = weft_coll_scratch_span(&columns->of_rank[rank][span.space], &span);
    if (is_store) {
        weft_data_scatter(&data, 0, bytes, span.bytes);
    } else {
        weft_data_gather(&data, 0, bytes, span.bytes);
    }
}

/* Gives a model columns. A matrix has as many as the longest buffer of the user's. */
static inline void columns_open(struct columns *columns, struct model *model,
                                uint32_t seed)
{
    const uint64_t longest =
        model->space_bytes[WEFT_SPACE_SEND] > model->space_bytes[WEFT_SPACE_RECV]
            ? model->space_bytes[WEFT_SPACE_SEND]
            : model->space_bytes[WEFT_SPACE_RECV];

    columns->type = column_type(longest / UNIT + 1, seed);
    columns->of_rank = calloc((size_t)model->n, sizeof(*columns->of_rank));
    assert_non_null(columns->of_rank);
    for (int rank = 0; rank < model->n; rank++) {
        const uint64_t bytes[WEFT_SPACES] = {model->space_bytes[WEFT_SPACE_SEND],
                                             model->space_bytes[WEFT_SPACE_RECV],
                                             model->graphs[rank].scratch};

        for (int s = 0; s < WEFT_SPACES; s++) {
            const uint32_t blocks =
                s == WEFT_SPACE_SCRATCH ? model->graphs[rank].scratch_blocks : 1;

            if (bytes[s] > 0) {
                assert_int_equal(weft_coll_scratch_make(&columns->of_rank[rank][s],
                                                        columns->type, bytes[s], blocks),
                                 WEFT_OK);
            }
        }
    }
    model->layout = columns;
    model->move = move_columns;
}

static inline void columns_close(struct columns *columns, const struct model *model)
{
    for (int rank = 0; rank < model->n; rank++) {
        for (int s = 0; s < WEFT_SPACES; s++) {
            free(columns->of_rank[rank][s].data.memory);
        }
    }
    free(columns->of_rank);
    weft_datatype_free(columns->type);
}

/* Between packed bytes and columns, for the buffers of all users. */
static inline void columns_copy(const struct model *model, bool is_store)
{
    for (int rank = 0; rank < model->n; rank++) {
        for (int s = 0; s < WEFT_SPACE_SCRATCH; s++) {
            move_columns(model, rank,
                         weft_span((enum weft_space)s, 0, model->space_bytes[s]),
                         model->spaces[s][rank], is_store);
        }
    }
}

#endif
