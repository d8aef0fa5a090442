#include "comm/sweep.h"

#include "p2p/p2p.h"
#include "engine/hot.h"

enum phase { PHASE_COLLECT, PHASE_HEAR, PHASE_TELL };

static int member_count(const struct weft_sweep *sweep)
{
    return sweep->first->size + (sweep->second != NULL ? sweep->second->size : 0);
}

/* The process at a place: `first` begins with its root and goes round. */
static int process_at(const struct weft_sweep *sweep, int place)
{
    const int count = sweep->first->size;
    int rank = place + sweep->root;

    if (place >= count) {
        return (int)(uint32_t)weft_group_process(sweep->second, place - count);
    }
    return (int)(uint32_t)weft_group_process(sweep->first,
                                             rank >= count ? rank - count : rank);
}

int weft_sweep_place(const struct weft_sweep *sweep)
{
    const int count = sweep->first->size;

    if (sweep->first->rank == MPI_UNDEFINED) {
        return count + sweep->second->rank;
    }
    return (sweep->first->rank - sweep->root + count) % count;
}

/* ---- the tree ---- */

struct subtree {
    int place; /* of its root */
    int length;
};

static int child_count(struct subtree tree)
{
    return tree.length - 1 < WEFT_SWEEP_FAN ? tree.length - 1 : WEFT_SWEEP_FAN;
}

/* The places below the root are dealt out in rows of about the same length. */
static struct subtree child(struct subtree tree, int i)
{
    const int64_t below = tree.length - 1;
    const int begin = (int)(below * i / child_count(tree));
    const int end = (int)(below * (i + 1) / child_count(tree));

    return (struct subtree){tree.place + 1 + begin, end - begin};
}

static struct subtree mine(const struct weft_sweep *sweep)
{
    return (struct subtree){sweep->place, sweep->length};
}

static void find_in_tree(struct weft_sweep *sweep)
{
    struct subtree tree = {0, member_count(sweep)};

    sweep->place = weft_sweep_place(sweep);
    sweep->parent = -1;
    while (tree.place != sweep->place) {
        int i = 0;

        while (child(tree, i).place + child(tree, i).length <= sweep->place) {
            i++;
        }
        sweep->parent = tree.place;
        tree = child(tree, i);
    }
    sweep->length = tree.length;
}

/* ---- messages ---- */

static void watch(struct weft_sweep *sweep, enum weft_rc rc, struct weft_request *request)
{
    if (rc != WEFT_OK) {
        sweep->rc = rc;
        return;
    }
    if (weft_request_is_complete(request)) {
        sweep->rc = request->rc != WEFT_OK ? request->rc : sweep->rc;
        weft_request_give(request);
        return;
    }
    weft_request_set_schedule(request, &sweep->schedule);
    sweep->requests[sweep->pending++] = request;
}

static void send(struct weft_sweep *sweep, int place, const void *data, size_t bytes)
{
    struct weft_request *request = NULL;
    enum weft_rc rc =
        weft_isend_locked(&sweep->via, process_at(sweep, place), sweep->tag, data, bytes,
                          (unsigned)sweep->plane | WEFT_SEND_STANDARD, &request);

    watch(sweep, rc, request);
}

static void receive(struct weft_sweep *sweep, int place, void *data, size_t bytes)
{
    struct weft_request *request = NULL;
    enum weft_rc rc =
        weft_irecv_locked(&sweep->via, sweep->plane, process_at(sweep, place), sweep->tag,
                          data, bytes, &request);

    watch(sweep, rc, request);
}

/* Frees those that are complete; false while one is not. */
static bool is_over(struct weft_sweep *sweep)
{
    int left = 0;

    for (int i = 0; i < sweep->pending; i++) {
        struct weft_request *request = sweep->requests[i];

        if (!weft_request_is_complete(request)) {
            sweep->requests[left++] = request;
            continue;
        }
        sweep->rc = request->rc != WEFT_OK ? request->rc : sweep->rc;
        weft_request_give(request);
    }
    sweep->pending = left;
    return left == 0;
}

/* What the subtree at these places has to say. */
static void *up_data(struct weft_sweep *sweep, struct subtree tree, uint32_t *number,
                     size_t *bytes)
{
    switch (sweep->kind) {
    case WEFT_SWEEP_NUMBER:
        *bytes = sizeof(*number);
        return number;
    case WEFT_SWEEP_TABLE:
        *bytes = sweep->entry_bytes * (size_t)tree.length;
        return sweep->table + sweep->entry_bytes * (size_t)tree.place;
    default:
        *bytes = 0;
        return NULL;
    }
}

/* What the root has to say. */
static void *down_data(struct weft_sweep *sweep, size_t *bytes)
{
    return up_data(sweep, (struct subtree){0, member_count(sweep)}, &sweep->number,
                   bytes);
}

/* ---- the three phases ---- */

/* Where nobody waits for the end, one child at a time is heard, to save receives. */
static void collect(struct weft_sweep *sweep)
{
    const int count = child_count(mine(sweep));

    while (sweep->heard < count &&
           (sweep->kind != WEFT_SWEEP_UP || sweep->pending == 0)) {
        const int i = sweep->heard++;
        struct subtree tree = child(mine(sweep), i);
        size_t bytes;
        void *data = up_data(sweep, tree, &sweep->numbers[i], &bytes);

        receive(sweep, tree.place, data, bytes);
    }
}

static void hear(struct weft_sweep *sweep)
{
    size_t bytes;
    void *data;

    for (int i = 0; i < child_count(mine(sweep)) && sweep->number == 0; i++) {
        sweep->number = sweep->numbers[i];
    }
    if (sweep->parent < 0) {
        return;
    }
    data = up_data(sweep, mine(sweep), &sweep->number, &bytes);
    /* The answer may go where this lies: it cannot come before this has been read. */
    send(sweep, sweep->parent, data, bytes);
    if (sweep->kind != WEFT_SWEEP_UP) {
        data = down_data(sweep, &bytes);
        receive(sweep, sweep->parent, data, bytes);
    }
}

static void tell(struct weft_sweep *sweep)
{
    size_t bytes;
    const void *data = down_data(sweep, &bytes);

    for (int i = 0; i < child_count(mine(sweep)) && sweep->kind != WEFT_SWEEP_UP; i++) {
        send(sweep, child(mine(sweep), i).place, data, bytes);
    }
}

static void advance(struct weft_schedule *schedule)
{
    struct weft_sweep *sweep = (struct weft_sweep *)schedule;

    while (is_over(sweep)) {
        if (sweep->heard < child_count(mine(sweep))) {
            collect(sweep);
        } else if (sweep->phase == PHASE_COLLECT) {
            sweep->phase = PHASE_HEAR;
            hear(sweep);
        } else if (sweep->phase == PHASE_HEAR) {
            sweep->phase = PHASE_TELL;
            tell(sweep);
        } else {
            sweep->done(sweep, sweep->rc);
            return;
        }
    }
}

void weft_sweep_start(struct weft_sweep *sweep)
{
    find_in_tree(sweep);
    sweep->via = (struct weft_comm){
        .rank = (int)weft_engine.me,
        .context = sweep->context,
        .map = {.first = 0, .stride = 1},
        .references = 1,
        .name = "",
    };
    sweep->schedule = (struct weft_schedule){.advance = advance};
    sweep->phase = PHASE_COLLECT;
    sweep->heard = 0;
    sweep->pending = 0;
    sweep->rc = WEFT_OK;
    collect(sweep);
    advance(&sweep->schedule);
}
