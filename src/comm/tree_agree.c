#include "comm/tree_agree.h"

#include "engine/hot.h"
#include "p2p/p2p.h"
#include "sched/tree.h"

#include <stddef.h>
#include <string.h>

static int member_count(const struct weft_tree_agree *agree)
{
    return agree->first->size + (agree->second != NULL ? agree->second->size : 0);
}

int weft_tree_agree_position(const struct weft_tree_agree *agree)
{
    const int count = agree->first->size;

    if (agree->first->rank == MPI_UNDEFINED) {
        return count + agree->second->rank;
    }
    return (agree->first->rank - agree->root + count) % count;
}

static struct weft_tree_agree *agree_of(const struct weft_sched *sched)
{
    return (struct weft_tree_agree *)((uintptr_t)sched -
                                      offsetof(struct weft_tree_agree, sched));
}

/* The process at a position: `first` begins with its root and goes round. */
static int process_at(const struct weft_sched *sched, int position)
{
    const struct weft_tree_agree *agree = agree_of(sched);
    const int count = agree->first->size;
    int rank = position + agree->root;

    if (position >= count) {
        return (int)weft_engine_rank(weft_group_process(agree->second, position - count));
    }
    return (int)weft_engine_rank(
        weft_group_process(agree->first, rank >= count ? rank - count : rank));
}

static struct weft_route route(const struct weft_sched *sched, int position)
{
    return (struct weft_route){sched->comm, process_at(sched, position), sched->tag};
}

/* The first number that is not 0 counts; `to` has that of the lower positions. */
static void fold(const struct weft_sched *sched, const struct weft_data *from,
                 const struct weft_data *to)
{
    struct weft_tree_agree *agree = agree_of(sched);

    (void)to; /* is agree->number */
    if (agree->number == 0) {
        memcpy(&agree->number, from->buffer, sizeof(agree->number));
    }
}

static void done(struct weft_sched *sched, enum weft_rc rc)
{
    struct weft_tree_agree *agree = agree_of(sched);

    weft_sched_free(sched);
    weft_graph_free(&agree->graph);
    agree->done(agree, rc);
}

static const struct weft_sched_ops ops = {
    .route = route,
    .done = done,
    .reduce = fold,
};

/* What travels, as the receive buffer of the graph; and the graph. */
static enum weft_rc build(struct weft_tree_agree *agree)
{
    struct weft_shape shape = {
        .n = member_count(agree),
        .rank = weft_tree_agree_position(agree),
    };
    struct weft_data *buffer = &agree->buffer;

    switch (agree->kind) {
    case WEFT_AGREE_NUMBER:
        shape.bytes = sizeof(agree->number);
        *buffer = (struct weft_data){.buffer = &agree->number, .bytes = shape.bytes};
        return weft_tree_fold(&shape, &agree->graph);
    case WEFT_AGREE_TABLE:
        shape.bytes = agree->entry_bytes;
        *buffer = (struct weft_data){.buffer = agree->table,
                                     .bytes = shape.bytes * (size_t)shape.n};
        return weft_tree_table(&shape, &agree->graph);
    default:
        return weft_tree_up(&shape, &agree->graph);
    }
}

void weft_tree_agree_start(struct weft_tree_agree *agree)
{
    enum weft_rc rc;

    if (member_count(agree) == 1) { /* what it has is the result */
        agree->done(agree, WEFT_OK);
        return;
    }
    agree->via = (struct weft_comm){
        .rank = (int)weft_engine_rank(weft_engine.me),
        .context = agree->channel.context,
        .map = {.first = weft_engine_process(0), .stride = 1},
        .references = 1,
        .name = "",
    };
    agree->sched = (struct weft_sched){
        .graph = &agree->graph,
        .ops = &ops,
        .comm = &agree->via,
        .plane = agree->channel.plane,
        .tag = agree->channel.tag,
        .spaces = {[WEFT_SPACE_RECV] = &agree->buffer},
        .goes_on = true,
    };
    weft_graph_init(&agree->graph);
    rc = build(agree);
    if (rc == WEFT_OK) {
        rc = weft_sched_make(&agree->sched);
    }
    if (rc != WEFT_OK) {
        weft_graph_free(&agree->graph);
        agree->done(agree, rc);
        return;
    }
    weft_sched_start(&agree->sched);
}
