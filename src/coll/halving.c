#include "coll/halving.h"

uint64_t weft_chunk_even(const struct weft_shape *shape, const struct weft_fold *fold,
                         int first, int last)
{
    const uint64_t units = shape->bytes / shape->unit;
    const uint64_t positions = (uint64_t)fold->positions;
    const uint64_t longer = units % positions; /* the first ones have a unit more */
    const uint64_t a = (uint64_t)first;
    const uint64_t b = (uint64_t)last;

    return shape->unit * (units / positions * (b - a) + (b < longer ? b : longer) -
                          (a < longer ? a : longer));
}

uint64_t weft_chunk_parts(const struct weft_shape *shape, const struct weft_fold *fold,
                          int first, int last)
{
    const int end = weft_fold_first(fold, last);
    uint64_t bytes = 0;

    for (int rank = weft_fold_first(fold, first); rank < end; rank++) {
        bytes += weft_build_part(shape, rank);
    }
    return bytes;
}

/* ---- steps ---- */

static bool is_same(const struct weft_halving *halving)
{
    return halving->input.space == halving->work.space &&
           halving->input.offset == halving->work.offset;
}

/* The peer's data for a range of `work` come, and are combined into it. */
static void combine(struct weft_graph *graph, struct weft_halving *halving, int peer,
                    uint64_t at, uint64_t bytes)
{
    const struct weft_span work = weft_span_part(halving->work, at, bytes);
    struct weft_span arrival = work;
    struct weft_span other = weft_span_part(halving->input, at, bytes);
    uint32_t received;
    uint32_t reduced;

    if (bytes == 0) {
        return;
    }
    if (is_same(halving)) {
        arrival = weft_graph_scratch(graph, bytes);
        other = arrival;
    }
    received = weft_graph_recv(graph, peer, arrival);
    reduced = weft_graph_reduce(graph, other, work);
    weft_build_after_both(graph, reduced, received, halving->done);
    halving->done = reduced;
}

/* The ranks of a pair combine their data; the one without a position is then done. */
static void add_fold(const struct weft_shape *shape, struct weft_graph *graph,
                     struct weft_halving *halving)
{
    const int neighbour = weft_fold_neighbour(&halving->fold, shape->rank);

    halving->position = weft_fold_position(&halving->fold, shape->rank);
    if (neighbour < 0) {
        return;
    }
    if (halving->position < 0) {
        const uint32_t sent = weft_graph_send(graph, neighbour, halving->input);

        weft_graph_after(graph, sent, halving->done);
        halving->done = sent;
        return;
    }
    combine(graph, halving, neighbour, 0, halving->input.bytes);
    halving->input = halving->work;
}

/* The positions from `first` on, twice `half` of them, share [at, ...) of the data. */
static struct weft_halving_round plan(const struct weft_shape *shape,
                                      const struct weft_halving *halving, int first,
                                      int half, uint64_t at)
{
    const uint64_t low = halving->chunk(shape, &halving->fold, first, first + half);
    const uint64_t high =
        halving->chunk(shape, &halving->fold, first + half, first + 2 * half);
    const bool is_low = (halving->position & half) == 0;

    return (struct weft_halving_round){
        .peer = weft_fold_rank(&halving->fold, halving->position ^ half),
        .keep_at = is_low ? at : at + low,
        .keep_bytes = is_low ? low : high,
        .give_at = is_low ? at + low : at,
        .give_bytes = is_low ? high : low,
        .sent = WEFT_NO_STEP,
    };
}

void weft_add_halving(const struct weft_shape *shape, struct weft_graph *graph,
                      struct weft_halving *halving)
{
    uint64_t at = 0;
    int half = halving->fold.positions / 2;

    add_fold(shape, graph, halving);
    for (int i = 0; i < halving->fold.rounds && halving->position >= 0; i++) {
        const int first = halving->position & ~(2 * half - 1);
        struct weft_halving_round *round = &halving->round[i];

        *round = plan(shape, halving, first, half, at);
        if (round->give_bytes > 0) {
            round->sent = weft_graph_send(
                graph, round->peer,
                weft_span_part(halving->input, round->give_at, round->give_bytes));
            weft_graph_after(graph, round->sent, halving->done);
        }
        combine(graph, halving, round->peer, round->keep_at, round->keep_bytes);
        halving->input = halving->work;
        at = round->keep_at;
        half /= 2;
    }
}

/* ---- cost ---- */

/* Cost of the rounds: `half` ranks send the chunks of the others, unless these are empty.
 */
static uint64_t messages_of(const struct weft_shape *shape, const struct weft_fold *fold,
                            weft_chunk_bytes *chunk)
{
    uint64_t messages = 0;

    if (shape->from == NULL &&
        chunk(shape, fold, fold->positions - 1, fold->positions) > 0) {
        return (uint64_t)fold->positions * (uint64_t)fold->rounds; /* none is empty */
    }
    for (int half = fold->positions / 2; half > 0; half /= 2) {
        for (int first = 0; first < fold->positions; first += half) {
            messages += chunk(shape, fold, first, first + half) > 0 ? (uint64_t)half : 0;
        }
    }
    return messages;
}

struct weft_cost weft_halving_cost(const struct weft_shape *shape,
                                   const struct weft_fold *fold, weft_chunk_bytes *chunk)
{
    const uint64_t data = chunk(shape, fold, 0, fold->positions);
    const uint64_t all = ((uint64_t)shape->n - 1) * data;
    const uint64_t folds = fold->pairs > 0 ? 1 : 0;
    const uint64_t rounds = (uint64_t)fold->rounds;
    const uint64_t gotten = weft_build_but_one(data, fold->positions) + folds * data;

    return (struct weft_cost){
        .messages =
            messages_of(shape, fold, chunk) + (all > 0 ? (uint64_t)fold->pairs : 0),
        .bytes = all,
        .reduced = all,
        .chain = {.rounds = rounds + folds,
                  .messages = 2 * rounds + folds,
                  .bytes = gotten,
                  .steps = rounds + folds,
                  .reduced = gotten},
    };
}
