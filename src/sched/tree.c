#include "sched/tree.h"

/* The ranks from `root` on that are below it, and itself. */
struct subtree {
    int root;
    int length;
};

/* A rank's position in the tree. */
struct position {
    struct subtree below;
    int parent; /* -1: none */
};

static int child_count(struct subtree tree)
{
    return tree.length - 1 < WEFT_TREE_FAN ? tree.length - 1 : WEFT_TREE_FAN;
}

/* The ranks below the root are dealt out in rows of about the same length. */
static struct subtree child(struct subtree tree, int i)
{
    const int64_t below = tree.length - 1;
    const int begin = (int)(below * i / child_count(tree));
    const int end = (int)(below * (i + 1) / child_count(tree));

    return (struct subtree){tree.root + 1 + begin, end - begin};
}

static struct position position_of(int n, int rank)
{
    struct position position = {{0, n}, -1};

    while (position.below.root != rank) {
        int i = 0;

        while (child(position.below, i).root + child(position.below, i).length <= rank) {
            i++;
        }
        position.parent = position.below.root;
        position.below = child(position.below, i);
    }
    return position;
}

static struct position find(const struct weft_shape *shape)
{
    return position_of(shape->n, shape->rank);
}

int weft_tree_neighbours(int n, int rank, int *parent, int children[WEFT_TREE_FAN])
{
    const struct position position = position_of(n, rank);

    *parent = position.parent;
    for (int i = 0; i < child_count(position.below); i++) {
        children[i] = child(position.below, i).root;
    }
    return child_count(position.below);
}

/* Tells the children when `ready` is over, which the answer of the parent is behind. */
static void go_down(struct weft_graph *graph, const struct position *position,
                    struct weft_span answer, uint32_t ready)
{
    for (int i = 0; i < child_count(position->below); i++) {
        weft_graph_after(
            graph, weft_graph_send(graph, child(position->below, i).root, answer), ready);
    }
}

/*
 * Sends `up` to the parent when `ready` is over, then waits for the answer; returns what
 * that is over with. The answer may go where `up` lies, so it is received after the send.
 */
static uint32_t ask_parent(struct weft_graph *graph, const struct position *position,
                           struct weft_span up, struct weft_span answer, uint32_t ready)
{
    uint32_t sent;
    uint32_t received;

    if (position->parent < 0) {
        return ready;
    }
    sent = weft_graph_send(graph, position->parent, up);
    weft_graph_after(graph, sent, ready);
    received = weft_graph_recv(graph, position->parent, answer);
    weft_graph_after(graph, received, sent);
    return received;
}

enum weft_rc weft_tree_fold(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_span own = weft_span(WEFT_SPACE_RECV, 0, shape->bytes);
    const struct position position = find(shape);
    const uint32_t children = (uint32_t)child_count(position.below);
    uint32_t last = WEFT_NO_STEP;

    weft_graph_reserve(graph, 3 * children + 2, 3 * children + 2);
    for (int i = 0; i < child_count(position.below); i++) {
        const struct weft_span theirs = weft_graph_scratch(graph, shape->bytes);
        const uint32_t received =
            weft_graph_recv(graph, child(position.below, i).root, theirs);
        const uint32_t folded = weft_graph_reduce(graph, theirs, own);

        weft_graph_after(graph, folded, received);
        weft_graph_after(graph, folded, last);
        last = folded;
    }
    go_down(graph, &position, own, ask_parent(graph, &position, own, own, last));
    return graph->rc;
}

enum weft_rc weft_tree_table(const struct weft_shape *shape, struct weft_graph *graph)
{
    const uint64_t bytes = shape->bytes;
    const struct weft_span nothing = weft_span(WEFT_SPACE_RECV, 0, 0);
    const struct weft_span whole =
        weft_span(WEFT_SPACE_RECV, 0, bytes * (uint64_t)shape->n);
    const struct position position = find(shape);
    const struct weft_span mine =
        weft_span(WEFT_SPACE_RECV, bytes * (uint64_t)position.below.root,
                  bytes * (uint64_t)position.below.length);
    const uint32_t children = (uint32_t)child_count(position.below);
    uint32_t complete;

    weft_graph_reserve(graph, 2 * children + 3, 2 * children + 2);
    /* A copy of nothing: all receives lead to it, so that each needs one edge. */
    complete = weft_graph_copy(graph, nothing, nothing);
    for (int i = 0; i < child_count(position.below); i++) {
        const struct subtree tree = child(position.below, i);
        const struct weft_span theirs = weft_span(
            WEFT_SPACE_RECV, bytes * (uint64_t)tree.root, bytes * (uint64_t)tree.length);

        weft_graph_after(graph, complete, weft_graph_recv(graph, tree.root, theirs));
    }
    go_down(graph, &position, whole, ask_parent(graph, &position, mine, whole, complete));
    return graph->rc;
}

enum weft_rc weft_tree_up(const struct weft_shape *shape, struct weft_graph *graph)
{
    const struct weft_span nothing = weft_span(WEFT_SPACE_RECV, 0, 0);
    const struct position position = find(shape);
    const uint32_t children = (uint32_t)child_count(position.below);
    uint32_t last = WEFT_NO_STEP;

    weft_graph_reserve(graph, children + 1, children);
    for (int i = 0; i < child_count(position.below); i++) {
        const uint32_t received =
            weft_graph_recv(graph, child(position.below, i).root, nothing);

        weft_graph_after(graph, received, last);
        last = received;
    }
    if (position.parent >= 0) {
        weft_graph_after(graph, weft_graph_send(graph, position.parent, nothing), last);
    }
    return graph->rc;
}
