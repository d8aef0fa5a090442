/*
 * allreduce_lanes.c - two levels, for large data: the data are cut into parts, one for
 * each of the first members of a node, as many as the smallest node has. A member gives
 * each of these the part of its data and combines what it gets for its own part; then
 * those that are the same member of each node, a lane, combine their part by
 * Rabenseifner's algorithm; then each gives its part to the members of its node. So all
 * ranks use the link of their node, and no byte leaves a node twice. For operations that
 * commute.
 *
 * Cost: with l lanes, a path has 2 (m - 1) messages of 1/l of the data inside and m - 1
 * reductions of it, and between nodes those of Rabenseifner's algorithm of k ranks for
 * 1/l of the data: 2 ceil(log2 k) messages, a node's link carries 2 (k - 1) / k times the
 * data. In all 2 (n - k) times the data inside, and n - k times reduced there.
 */
#include "coll/algorithms.h"
#include "coll/levels.h"

/* One that has no unit would have nothing to do. */
static int lanes_of(const struct weft_shape *shape)
{
    const uint64_t units = shape->bytes / shape->unit;
    const int least = shape->spread->least;

    return units < (uint64_t)least ? (int)units : least;
}

static struct weft_span part_of(const struct weft_shape *shape, struct weft_span data,
                                int lane)
{
    const uint64_t units = shape->bytes / shape->unit;
    const uint64_t lanes = (uint64_t)lanes_of(shape);
    const uint64_t longer = units % lanes; /* the first ones have a unit more */
    const uint64_t at = (uint64_t)lane;
    const uint64_t before = units / lanes * at + (at < longer ? at : longer);

    return weft_span_part(data, before * shape->unit,
                          (units / lanes + (at < longer ? 1 : 0)) * shape->unit);
}

/* This rank's part of it: what it knows of its own lane, and where the steps are. */
struct lanes {
    int count;
    struct weft_span input;
    struct weft_span result;
    uint32_t first_sent;     /* of the steps that send to each other lane of the node */
    uint32_t first_received; /* of those that receive from each other member: every other
                              * step */
    uint32_t last; /* after which this rank's part of the node's data is there */
};

/* Which of the others a member is. */
static uint32_t other(const struct weft_levels *levels, int member)
{
    return (uint32_t)(member < levels->member ? member : member - 1);
}

static void give_parts(const struct weft_shape *shape, const struct weft_levels *levels,
                       struct weft_graph *graph, struct lanes *lanes)
{
    lanes->first_sent = graph->step_count;
    for (int lane = 0; lane < lanes->count; lane++) {
        if (lane != levels->member) {
            weft_graph_send(graph, weft_spread_rank(levels->spread, levels->node, lane),
                            part_of(shape, lanes->input, lane));
        }
    }
}

/* What comes may take the place of the result, if the input is not there yet; then the
 * input is combined into it. */
static void take_part(struct weft_graph *graph, int from, struct weft_span input,
                      struct weft_span own, struct lanes *lanes)
{
    const bool is_free = input.space != own.space;
    const struct weft_span arrival = is_free ? own : weft_graph_scratch(graph, own.bytes);
    const uint32_t received = weft_graph_recv(graph, from, arrival);
    const uint32_t reduced = weft_graph_reduce(graph, is_free ? input : arrival, own);

    weft_build_after_both(graph, reduced, received, lanes->last);
    lanes->last = reduced;
}

static void take_parts(const struct weft_shape *shape, const struct weft_levels *levels,
                       struct weft_graph *graph, struct lanes *lanes)
{
    const struct weft_span own = part_of(shape, lanes->result, levels->member);
    struct weft_span input = part_of(shape, lanes->input, levels->member);

    lanes->first_received = graph->step_count;
    lanes->last = WEFT_NO_STEP;
    for (int member = 0; member < levels->inside.n; member++) {
        if (member != levels->member) {
            take_part(graph, weft_spread_rank(levels->spread, levels->node, member),
                      input, own, lanes);
            input = own;
        }
    }
}

static void combine_lane(const struct weft_shape *shape, const struct weft_levels *levels,
                         struct weft_graph *graph, struct lanes *lanes)
{
    const struct weft_span own = part_of(shape, lanes->result, levels->member);
    const uint32_t first = graph->step_count;
    struct weft_shape lane = levels->among;

    lane.bytes = own.bytes;
    lanes->last = weft_add_rabenseifner(
        &lane, graph,
        levels->inside.n > 1 ? own : part_of(shape, lanes->input, levels->member), own,
        lanes->last);
    weft_levels_name_lane(levels, graph, first);
}

/* Messages to and from one peer go in order; in place, a part is overwritten once it is
 * sent. */
static void spread_parts(const struct weft_shape *shape, const struct weft_levels *levels,
                         struct weft_graph *graph, const struct lanes *lanes)
{
    const bool has_lane = levels->member < lanes->count;

    for (int member = 0; member < levels->inside.n; member++) {
        const int rank = weft_spread_rank(levels->spread, levels->node, member);

        if (has_lane && member != levels->member) {
            const uint32_t sent = weft_graph_send(
                graph, rank, part_of(shape, lanes->result, levels->member));

            weft_graph_after(graph, sent, lanes->last);
            if (member < lanes->count) {
                weft_graph_after(graph, sent, lanes->first_sent + other(levels, member));
            }
        }
        if (member < lanes->count && member != levels->member) {
            const uint32_t received =
                weft_graph_recv(graph, rank, part_of(shape, lanes->result, member));

            weft_graph_after(graph, received, lanes->first_sent + other(levels, member));
            if (has_lane) {
                weft_graph_after(graph, received,
                                 lanes->first_received + 2 * other(levels, member));
            }
        }
    }
}

enum weft_rc weft_allreduce_lanes(const struct weft_shape *shape,
                                  struct weft_graph *graph)
{
    const struct weft_levels levels = weft_levels_of(shape);
    struct lanes lanes = {
        .input = weft_build_input(shape, shape->bytes),
        .result = weft_span(WEFT_SPACE_RECV, 0, shape->bytes),
    };

    if (shape->bytes == 0) {
        return WEFT_OK;
    }
    lanes.count = lanes_of(shape);
    give_parts(shape, &levels, graph, &lanes);
    if (levels.member < lanes.count) {
        take_parts(shape, &levels, graph, &lanes);
        combine_lane(shape, &levels, graph, &lanes);
    }
    spread_parts(shape, &levels, graph, &lanes);
    return graph->rc;
}

struct weft_cost weft_allreduce_lanes_cost(const struct weft_shape *shape)
{
    const struct weft_span data = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    const uint64_t others = weft_levels_others(shape);
    struct weft_cost cost = {0};

    for (int i = 0; shape->bytes > 0 && i < lanes_of(shape); i++) {
        struct weft_shape lane = *shape;
        struct weft_cost of_lane;

        lane.n = shape->spread->nodes;
        lane.bytes = part_of(shape, data, i).bytes;
        of_lane = weft_allreduce_rabenseifner_cost(&lane);
        cost.messages += of_lane.messages + 2 * others;
        cost.bytes += of_lane.bytes + 2 * others * lane.bytes;
        cost.reduced += of_lane.reduced + others * lane.bytes;
        if (i == 0) { /* no part is longer */
            const uint64_t other_members = (uint64_t)shape->spread->most - 1;

            cost.chain = of_lane.chain;
            cost.inside = (struct weft_chain){.rounds = 2,
                                              .messages = 2 * other_members,
                                              .bytes = 2 * other_members * lane.bytes,
                                              .steps = other_members,
                                              .reduced = other_members * lane.bytes};
        }
    }
    return cost;
}
