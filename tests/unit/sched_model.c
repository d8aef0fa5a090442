#include "sched_model.h"

#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum state { WAITS, READY, POSTED, ENDING, OVER };

struct node { /* one step of one rank */
    int rank;
    const struct weft_step *step;
    uint32_t left;
    enum state state;
    uint32_t live_at;   /* READY, ENDING: its place among the live ones */
    struct node *next;  /* behind it, posted by the same rank for the same peer */
    struct node *match; /* receive: its send */
    uint8_t *copy;      /* of a send: its data, once they are on their way */
};

/* Messages of one rank to or from another that were posted and have no partner. */
struct queue {
    struct node *first;
    struct node *last;
};

struct run {
    struct model *model;
    struct node *nodes;
    struct node **live;   /* that can be started or ended */
    struct queue *queues; /* of sends [rank][peer], then of receives [rank][peer] */
    uint32_t *first;      /* of each rank */
    uint32_t *left;       /* steps of each rank that are not over */
    bool *has_begun;
    const char *wrong; /* NULL: nothing so far */
    uint32_t count;
    uint32_t over;
    uint32_t live_count;
    int eager;
};

uint32_t model_random(struct model *model, uint32_t below)
{
    model->random = model->random * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(model->random >> 8) * below >> 24);
}

static void *make(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size + 1);

    assert_non_null(memory);
    return memory;
}

void model_open(struct model *model, weft_builder *build, const struct weft_shape *shape,
                uint64_t send_bytes, uint64_t recv_bytes)
{
    *model = (struct model){
        .n = shape->n,
        .graphs = make((size_t)shape->n, sizeof(*model->graphs)),
        .space_bytes = {send_bytes, recv_bytes, 0},
    };
    for (int s = 0; s < WEFT_SPACES; s++) {
        model->spaces[s] = make((size_t)shape->n, sizeof(uint8_t *));
    }
    for (int rank = 0; rank < shape->n; rank++) {
        struct weft_shape of_rank = *shape;
        struct weft_graph *graph = &model->graphs[rank];

        of_rank.rank = rank;
        weft_graph_init(graph);
        assert_int_equal(build(&of_rank, graph), WEFT_OK);
        model->spaces[WEFT_SPACE_SEND][rank] = make(send_bytes, 1);
        model->spaces[WEFT_SPACE_RECV][rank] = make(recv_bytes, 1);
        model->spaces[WEFT_SPACE_SCRATCH][rank] = make(graph->scratch, 1);
    }
}

void model_close(struct model *model)
{
    for (int rank = 0; rank < model->n; rank++) {
        weft_graph_free(&model->graphs[rank]);
        for (int s = 0; s < WEFT_SPACES; s++) {
            free(model->spaces[s][rank]);
        }
    }
    for (int s = 0; s < WEFT_SPACES; s++) {
        free(model->spaces[s]);
    }
    free(model->graphs);
}

/* ---- checks ---- */

/* What is said of a message by one end: the order of such words makes pairs. */
struct word {
    int from;
    int to;
    int tag;
    uint64_t bytes;
};

static int compare_words(const void *a, const void *b)
{
    const struct word *x = a;
    const struct word *y = b;

    if (x->from != y->from) {
        return x->from < y->from ? -1 : 1;
    }
    if (x->to != y->to) {
        return x->to < y->to ? -1 : 1;
    }
    if (x->tag != y->tag) {
        return x->tag < y->tag ? -1 : 1;
    }
    return x->bytes < y->bytes ? -1 : x->bytes > y->bytes;
}

/* All sends, or all receives, in an order; the caller frees them. */
static struct word *list_words(const struct model *model, enum weft_step_kind kind,
                               size_t *count)
{
    const bool is_send = kind == WEFT_STEP_SEND;
    struct word *words;
    size_t room = 0;

    for (int rank = 0; rank < model->n; rank++) {
        room += model->graphs[rank].step_count;
    }
    words = make(room, sizeof(*words));
    *count = 0;
    for (int rank = 0; rank < model->n; rank++) {
        for (uint32_t i = 0; i < model->graphs[rank].step_count; i++) {
            const struct weft_step *step = &model->graphs[rank].steps[i];

            if (step->kind == kind) {
                words[(*count)++] =
                    (struct word){.from = is_send ? rank : step->peer,
                                  .to = is_send ? step->peer : rank,
                                  .tag = step->tag,
                                  .bytes = is_send ? step->from.bytes : step->to.bytes};
            }
        }
    }
    qsort(words, *count, sizeof(*words), compare_words);
    return words;
}

/* Every message has two ends, which agree about its bytes. */
static const char *check_messages(const struct model *model)
{
    size_t sent;
    size_t received;
    struct word *sends = list_words(model, WEFT_STEP_SEND, &sent);
    struct word *receives = list_words(model, WEFT_STEP_RECV, &received);
    bool is_same = sent == received;

    for (size_t i = 0; i < sent && is_same; i++) {
        is_same = compare_words(&sends[i], &receives[i]) == 0;
    }
    free(sends);
    free(receives);
    return is_same ? NULL : "messages of two ranks do not fit together";
}

/* Blocks have sizes of their own and do not overlap. */
static bool overlap(const struct weft_span *a, const struct weft_span *b)
{
    return a->space == b->space && a->block == b->block &&
           a->offset < b->offset + b->bytes && b->offset < a->offset + a->bytes;
}

static bool reads(const struct weft_step *step)
{
    return step->kind == WEFT_STEP_SEND || step->kind == WEFT_STEP_COPY ||
           step->kind == WEFT_STEP_REDUCE;
}

static bool writes(const struct weft_step *step)
{
    return step->kind != WEFT_STEP_SEND;
}

static bool conflict(const struct weft_step *a, const struct weft_step *b)
{
    return (writes(a) && writes(b) && overlap(&a->to, &b->to)) ||
           (writes(a) && reads(b) && overlap(&a->to, &b->from)) ||
           (reads(a) && writes(b) && overlap(&a->from, &b->to));
}

/* Those that wait for nothing are started in order. */
static bool look_the_same(const struct weft_step *a, const struct weft_step *b)
{
    return a->needs + b->needs > 0 &&
           (a->kind == WEFT_STEP_SEND || a->kind == WEFT_STEP_RECV) &&
           a->kind == b->kind && a->peer == b->peer && a->tag == b->tag;
}

static const char *judge_pair(const struct weft_step *a, const struct weft_step *b)
{
    if (look_the_same(a, b)) {
        return "two messages that look the same are in no order";
    }
    return conflict(a, b) ? "two steps that may run at once touch the same bytes" : NULL;
}

/* Marks all steps behind one, in its row. */
static void mark(const struct weft_graph *graph, uint32_t step, uint8_t *row)
{
    uint32_t *stack = make(graph->edge_count + 1, sizeof(*stack));
    uint32_t depth = 0;

    stack[depth++] = step;
    while (depth > 0) {
        uint32_t e = graph->steps[stack[--depth]].first_edge;

        for (; e != WEFT_NO_EDGE; e = graph->edges[e].next) {
            if (!row[graph->edges[e].to]) {
                row[graph->edges[e].to] = 1;
                stack[depth++] = graph->edges[e].to;
            }
        }
    }
    free(stack);
}

/* Is a step behind another? The row of a step is made when somebody asks for it. */
static bool is_behind(const struct weft_graph *graph, uint8_t **rows, uint32_t first,
                      uint32_t second)
{
    if (rows[first] == NULL) {
        rows[first] = make(graph->step_count, 1);
        mark(graph, first, rows[first]);
    }
    return rows[first][second] != 0;
}

static const char *check_conflicts(const struct weft_graph *graph)
{
    const uint32_t count = graph->step_count;
    uint8_t **rows = make(count, sizeof(*rows));
    const char *wrong = NULL;

    for (uint32_t i = 0; i < count && wrong == NULL; i++) {
        for (uint32_t k = i + 1; k < count && wrong == NULL; k++) {
            wrong = judge_pair(&graph->steps[i], &graph->steps[k]);
            if (wrong != NULL &&
                (is_behind(graph, rows, i, k) || is_behind(graph, rows, k, i))) {
                wrong = NULL;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        free(rows[i]);
    }
    free(rows);
    return wrong;
}

const char *model_check(struct model *model)
{
    for (int rank = 0; rank < model->n; rank++) {
        const struct weft_graph *graph = &model->graphs[rank];
        const uint64_t bytes[WEFT_SPACES] = {model->space_bytes[WEFT_SPACE_SEND],
                                             model->space_bytes[WEFT_SPACE_RECV],
                                             graph->scratch};
        const char *wrong = weft_graph_check(graph, model->n, bytes);

        wrong = wrong != NULL ? wrong : check_conflicts(graph);
        if (wrong != NULL) {
            return wrong;
        }
    }
    return check_messages(model);
}

/* ---- running ---- */

static uint8_t *bytes_of(const struct run *run, const struct node *node,
                         struct weft_span span)
{
    const struct model *model = run->model;
    uint64_t at = 0;

    if (span.space != WEFT_SPACE_SCRATCH) {
        at = model->block_at != NULL
                 ? model->block_at(model, node->rank, span.space, span.block)
                 : span.block * model->block_bytes;
    }
    return model->spaces[span.space][node->rank] + at + span.offset;
}

/* A copy of the bytes of a span, which the caller frees. */
static uint8_t *load(const struct run *run, const struct node *node,
                     struct weft_span span)
{
    uint8_t *bytes = make(span.bytes, 1);

    if (run->model->move != NULL) {
        run->model->move(run->model, node->rank, span, bytes, false);
    } else {
        memcpy(bytes, bytes_of(run, node, span), span.bytes);
    }
    return bytes;
}

static void store(const struct run *run, const struct node *node, struct weft_span span,
                  uint8_t *bytes)
{
    if (run->model->move != NULL) {
        run->model->move(run->model, node->rank, span, bytes, true);
    } else {
        memcpy(bytes_of(run, node, span), bytes, span.bytes);
    }
}

static bool is_message(const struct node *node)
{
    return node->step->kind == WEFT_STEP_SEND || node->step->kind == WEFT_STEP_RECV;
}

static bool is_live(enum state state)
{
    return state == READY || state == ENDING;
}

static void set_state(struct run *run, struct node *node, enum state state)
{
    if (!is_live(node->state) && is_live(state)) {
        node->live_at = run->live_count++;
        run->live[node->live_at] = node;
    } else if (is_live(node->state) && !is_live(state)) {
        struct node *last = run->live[--run->live_count];

        run->live[node->live_at] = last;
        last->live_at = node->live_at;
    }
    node->state = state;
}

static struct queue *queue_of(const struct run *run, enum weft_step_kind kind, int rank,
                              int peer)
{
    const size_t n = (size_t)run->model->n;

    return &run->queues[(kind == WEFT_STEP_SEND ? 0 : n * n) + (size_t)rank * n +
                        (size_t)peer];
}

/* Takes the oldest posted partner of a message out of its queue, or returns NULL. */
static struct node *take_partner(const struct run *run, const struct node *node)
{
    const enum weft_step_kind kind =
        node->step->kind == WEFT_STEP_SEND ? WEFT_STEP_RECV : WEFT_STEP_SEND;
    struct queue *queue = queue_of(run, kind, node->step->peer, node->rank);
    struct node *before = NULL;
    struct node *at = queue->first;

    while (at != NULL && at->step->tag != node->step->tag) {
        before = at;
        at = at->next;
    }
    if (at != NULL) {
        *(before != NULL ? &before->next : &queue->first) = at->next;
        queue->last = queue->last == at ? before : queue->last;
    }
    return at;
}

static void append(const struct run *run, struct node *node)
{
    struct queue *queue = queue_of(run, (enum weft_step_kind)node->step->kind, node->rank,
                                   node->step->peer);

    *(queue->last != NULL ? &queue->last->next : &queue->first) = node;
    queue->last = node;
}

static void post(struct run *run, struct node *node)
{
    struct node *other = take_partner(run, node);

    set_state(run, node, POSTED);
    if (node->step->kind == WEFT_STEP_SEND &&
        model_random(run->model, 10) < (uint32_t)run->eager) {
        node->copy = load(run, node, node->step->from);
        set_state(run, node, ENDING);
    }
    if (other == NULL) {
        append(run, node);
    } else {
        struct node *recv = node->step->kind == WEFT_STEP_RECV ? node : other;

        recv->match = recv == node ? other : node;
        set_state(run, recv, ENDING);
    }
}

/* The data of a message go over, and its send may end. */
static void receive(struct run *run, struct node *recv)
{
    struct node *send = recv->match;

    assert_int_equal(send->step->from.bytes, recv->step->to.bytes);
    if (send->copy == NULL) {
        send->copy = load(run, send, send->step->from);
    }
    store(run, recv, recv->step->to, send->copy);
    if (send->state == POSTED) {
        set_state(run, send, ENDING);
    }
}

/* A rank is through: have those begun that it has to wait for? */
static void look_at_the_others(struct run *run, int rank)
{
    const struct model *model = run->model;

    for (int other = 0; other < model->n && model->waits_for != NULL; other++) {
        if (model->waits_for(model, rank, other) && !run->has_begun[other]) {
            run->wrong = "a rank is through before another has begun";
        }
    }
}

static void end(struct run *run, struct node *node)
{
    const struct weft_graph *graph = &run->model->graphs[node->rank];

    set_state(run, node, OVER);
    run->over++;
    if (--run->left[node->rank] == 0) {
        look_at_the_others(run, node->rank);
    }
    for (uint32_t e = node->step->first_edge; e != WEFT_NO_EDGE;
         e = graph->edges[e].next) {
        struct node *next = &run->nodes[run->first[node->rank] + graph->edges[e].to];

        if (--next->left == 0) {
            set_state(run, next, READY);
        }
    }
}

static void step(struct run *run, struct node *node)
{
    const struct weft_step *s = node->step;

    if (node->state == ENDING) {
        if (s->kind == WEFT_STEP_RECV) {
            receive(run, node);
        }
        end(run, node);
    } else if (is_message(node)) {
        post(run, node);
    } else {
        uint8_t *from = load(run, node, s->from);

        if (s->kind == WEFT_STEP_COPY) {
            store(run, node, s->to, from);
        } else {
            uint8_t *to = load(run, node, s->to);

            run->model->reduce(from, to, s->to.bytes);
            store(run, node, s->to, to);
            free(to);
        }
        free(from);
        end(run, node);
    }
}

/* A rank begins: it starts what waits for nothing. */
static void begin(struct run *run, int rank)
{
    const uint32_t count = run->model->graphs[rank].step_count;

    run->has_begun[rank] = true;
    if (count == 0) {
        look_at_the_others(run, rank);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct node *node = &run->nodes[run->first[rank] + i];

        if (node->step->needs == 0) {
            step(run, node);
        }
    }
}

/* A random step that can be started or ended, or NULL. */
static struct node *choose(struct run *run)
{
    return run->live_count > 0 ? run->live[model_random(run->model, run->live_count)]
                               : NULL;
}

/* A random rank that has not begun; there is one. The late one is the last. */
static int next_to_begin(struct run *run, int left)
{
    int rank = (int)model_random(run->model, (uint32_t)run->model->n);

    while (run->has_begun[rank] || (left > 1 && rank + 1 == run->model->late)) {
        rank = (rank + 1) % run->model->n;
    }
    return rank;
}

/* May another rank begin now? */
static bool may_begin(struct run *run, int left)
{
    if (left == 1 && run->model->late > 0) {
        return run->live_count == 0;
    }
    return left > 0 && model_random(run->model, 4) == 0;
}

static void prepare(struct run *run)
{
    const struct model *model = run->model;

    run->first = make((size_t)model->n, sizeof(*run->first));
    run->left = make((size_t)model->n, sizeof(*run->left));
    run->has_begun = make((size_t)model->n, sizeof(*run->has_begun));
    for (int rank = 0; rank < model->n; rank++) {
        run->first[rank] = run->count;
        run->left[rank] = model->graphs[rank].step_count;
        run->count += run->left[rank];
    }
    run->nodes = make(run->count, sizeof(*run->nodes));
    run->live = make(run->count, sizeof(*run->live));
    run->queues = make(2 * (size_t)model->n * (size_t)model->n, sizeof(*run->queues));
    for (int rank = 0; rank < model->n; rank++) {
        const struct weft_graph *graph = &model->graphs[rank];

        for (uint32_t i = 0; i < graph->step_count; i++) {
            run->nodes[run->first[rank] + i] = (struct node){
                .rank = rank,
                .step = &graph->steps[i],
                .left = graph->steps[i].needs,
                .state = WAITS,
            };
        }
    }
}

const char *model_run(struct model *model, int eager, uint32_t seed)
{
    struct run run = {.model = model, .eager = eager};
    struct node *node;

    model->random = seed;
    prepare(&run);
    for (int left = model->n; run.wrong == NULL;) {
        if (may_begin(&run, left)) {
            begin(&run, next_to_begin(&run, left));
            left--;
        } else if ((node = choose(&run)) != NULL) {
            step(&run, node);
        } else if (left == 0) {
            break;
        }
    }
    for (uint32_t i = 0; i < run.count; i++) {
        free(run.nodes[i].copy);
    }
    free(run.nodes);
    free(run.live);
    free(run.queues);
    free(run.first);
    free(run.left);
    free(run.has_begun);
    if (run.wrong != NULL) {
        return run.wrong;
    }
    return run.over == run.count ? NULL : "some steps wait for ever";
}
