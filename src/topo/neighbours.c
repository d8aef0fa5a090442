/*
 * neighbours.c - the lists of a distributed graph, and the exchange of edges.
 *
 * In the exchange, first all add up how many messages, and edges in them, each process
 * will get; then each sends what it knows to whom it concerns, and takes as many messages
 * as it was promised. Neighbours end up in the order of the ranks that named them, so
 * that the result is always the same.
 */
#include "topo/neighbours.h"

#include "coll/coll.h"
#include "coll/disagree.h"
#include "match/match.h"
#include "p2p/p2p.h"
#include "engine/lock.h"

#include <assert.h>
#include <stdlib.h>

/* ---- the lists ---- */

enum { IN, IN_WEIGHTS, OUT, OUT_WEIGHTS };

enum weft_rc weft_neighbours_keep(const struct weft_neighbours *in,
                                  const struct weft_neighbours *out_of, bool is_weighted,
                                  struct weft_topology **out)
{
    const int lengths[WEFT_TOPOLOGY_LISTS] = {
        in->count,
        is_weighted ? in->count : 0,
        out_of->count,
        is_weighted ? out_of->count : 0,
    };
    enum weft_rc rc = weft_topology_take(MPI_DIST_GRAPH, lengths, out);

    if (rc == WEFT_OK) {
        (*out)->is_weighted = is_weighted;
        weft_topology_fill(*out, IN, in->ranks);
        weft_topology_fill(*out, IN_WEIGHTS, in->weights);
        weft_topology_fill(*out, OUT, out_of->ranks);
        weft_topology_fill(*out, OUT_WEIGHTS, out_of->weights);
    }
    return rc;
}

static struct weft_neighbours side_of(const struct weft_comm *comm, int ranks)
{
    const struct weft_topology *topology = comm->topology;

    assert(topology->kind == MPI_DIST_GRAPH);
    return (struct weft_neighbours){
        .count = topology->lengths[ranks],
        .ranks = weft_topology_see(topology, ranks),
        .weights = topology->is_weighted ? weft_topology_see(topology, ranks + 1) : NULL,
    };
}

struct weft_neighbours weft_dist_graph_in(const struct weft_comm *comm)
{
    return side_of(comm, IN);
}

struct weft_neighbours weft_dist_graph_out(const struct weft_comm *comm)
{
    return side_of(comm, OUT);
}

/* ---- the exchange ---- */

/* One side of an edge, for the process on the other. */
struct half {
    int to;     /* whom it concerns */
    int number; /* in the order in which its sender named it */
    int sender;
    int is_in; /* is `other` where the edge comes from? */
    int other;
    int weight;
};

struct exchange {
    const char *call;
    struct weft_comm *comm;
    struct weft_request **requests; /* of what is sent */
    struct half *outgoing;          /* by receiver */
    int outgoing_count;
    struct half *incoming;
    int incoming_count;
    int messages; /* that will come */
    int tag;
};

static int compare_numbers(int a, int b)
{
    return a < b ? -1 : a > b;
}

static int by_receiver(const void *a, const void *b)
{
    const struct half *x = a;
    const struct half *y = b;

    return x->to != y->to ? compare_numbers(x->to, y->to)
                          : compare_numbers(x->number, y->number);
}

static int by_sender(const void *a, const void *b)
{
    const struct half *x = a;
    const struct half *y = b;

    return x->sender != y->sender ? compare_numbers(x->sender, y->sender)
                                  : compare_numbers(x->number, y->number);
}

static int count_edges(const struct weft_edges *edges)
{
    int count = 0;

    for (int i = 0; i < edges->count; i++) {
        count += edges->degrees[i];
    }
    return count;
}

/* Two halves of each edge, sorted by receiver. */
static enum weft_rc write_halves(struct exchange *x, const struct weft_edges *edges)
{
    int edge = 0;
    int n = 0;

    x->outgoing_count = 2 * count_edges(edges);
    x->outgoing = malloc(((size_t)x->outgoing_count + 1) * sizeof(*x->outgoing));
    x->requests = malloc(((size_t)x->outgoing_count + 1) * sizeof(*x->requests));
    if (x->outgoing == NULL || x->requests == NULL) {
        x->outgoing_count = 0;
        return WEFT_ERR_NOMEM;
    }
    for (int i = 0; i < edges->count; i++) {
        for (int k = 0; k < edges->degrees[i]; k++, edge++) {
            const int from = edges->sources[i];
            const int to = edges->destinations[edge];
            const int weight = edges->weights != NULL ? edges->weights[edge] : 1;

            x->outgoing[n] = (struct half){to, n, x->comm->rank, 1, from, weight};
            n++;
            x->outgoing[n] = (struct half){from, n, x->comm->rank, 0, to, weight};
            n++;
        }
    }
    qsort(x->outgoing, (size_t)n, sizeof(*x->outgoing), by_receiver);
    return WEFT_OK;
}

/* How many halves from `start` on go to the same process. */
static int run_length(const struct exchange *x, int start)
{
    int end = start;

    while (end < x->outgoing_count && x->outgoing[end].to == x->outgoing[start].to) {
        end++;
    }
    return end - start;
}

/* All members get an error if one of them has. */
static enum weft_rc agree(const struct exchange *x, enum weft_rc rc)
{
    const int mine = rc != WEFT_OK;
    int all = 0;
    const enum weft_rc summed = weft_coll_sum(x->comm, x->call, &mine, &all, 1);

    return summed != WEFT_OK || all == 0 ? summed : WEFT_ERR_NOMEM;
}

/* Sums up how many edges each member will get. The last number counts members that have
 * no memory: `written` is an error of this member, or WEFT_OK. */
static enum weft_rc add_up(struct exchange *x, enum weft_rc written)
{
    const size_t count = 2 * (size_t)x->comm->size + 1;
    int *mine = calloc(2 * count, sizeof(*mine));
    int *all;
    enum weft_rc rc;

    if (mine == NULL) {
        weft_disagree_starved(x->comm);
        return WEFT_ERR_NOMEM;
    }
    all = mine + count;
    mine[count - 1] = written != WEFT_OK;
    for (int at = 0; at < x->outgoing_count; at += run_length(x, at)) {
        mine[2 * x->outgoing[at].to] = 1;
        mine[2 * x->outgoing[at].to + 1] = run_length(x, at);
    }
    rc = weft_coll_sum(x->comm, x->call, mine, all, count);
    weft_lock();
    x->tag = weft_coll_number(x->comm);
    weft_unlock();
    x->messages = all[2 * x->comm->rank];
    x->incoming_count = all[2 * x->comm->rank + 1];
    if (rc == WEFT_OK && all[count - 1] > 0) {
        rc = WEFT_ERR_NOMEM;
    }
    free(mine);
    return rc;
}

static enum weft_rc receive_all(struct exchange *x)
{
    int at = 0;

    for (int m = 0; m < x->messages; m++) {
        const size_t room = (size_t)(x->incoming_count - at) * sizeof(*x->incoming);
        struct weft_received received;
        enum weft_rc rc = weft_recv(x->comm, WEFT_PLANE_COLL, WEFT_ANY_SOURCE, x->tag,
                                    x->incoming + at, room, &received);

        if (rc != WEFT_OK) {
            return rc;
        }
        at += (int)(received.bytes / sizeof(*x->incoming));
    }
    qsort(x->incoming, (size_t)x->incoming_count, sizeof(*x->incoming), by_sender);
    return WEFT_OK;
}

static enum weft_rc wait_for_sends(const struct exchange *x,
                                   struct weft_request **requests, int count)
{
    const struct weft_wait_reason why = {x->call, x->comm->name, -1, x->tag, 0};
    enum weft_rc rc = WEFT_OK;

    for (int i = 0; i < count; i++) {
        weft_wait(requests[i], &why);
        rc = rc == WEFT_OK ? requests[i]->rc : rc;
        if (!requests[i]->is_shared) {
            weft_lock();
            weft_request_give(requests[i]);
            weft_unlock();
        }
    }
    return rc;
}

/* Sends without waiting, receives, and then waits for what was sent. */
static enum weft_rc send_and_receive(struct exchange *x)
{
    struct weft_request **requests = x->requests;
    enum weft_rc rc = WEFT_OK;
    enum weft_rc sent;
    int count = 0;

    for (int at = 0; rc == WEFT_OK && at < x->outgoing_count;) {
        const int length = run_length(x, at);

        rc = weft_isend(x->comm, x->outgoing[at].to, x->tag, x->outgoing + at,
                        (size_t)length * sizeof(*x->outgoing),
                        WEFT_PLANE_COLL | WEFT_SEND_STANDARD, &requests[count]);
        count += rc == WEFT_OK;
        at += length;
    }
    if (rc == WEFT_OK) {
        rc = receive_all(x);
    }
    sent = wait_for_sends(x, requests, count);
    return rc == WEFT_OK ? sent : rc;
}

/* The neighbours on one side, into lists of the caller's. */
static int pick(const struct exchange *x, int is_in, int *ranks, int *weights)
{
    int count = 0;

    for (int i = 0; i < x->incoming_count; i++) {
        if (x->incoming[i].is_in == is_in) {
            ranks[count] = x->incoming[i].other;
            weights[count] = x->incoming[i].weight;
            count++;
        }
    }
    return count;
}

static enum weft_rc keep(const struct exchange *x, bool is_weighted)
{
    const size_t count = (size_t)x->incoming_count;
    int *lists = malloc((4 * count + 1) * sizeof(*lists));
    struct weft_neighbours in;
    struct weft_neighbours out_of;
    enum weft_rc rc;

    if (lists == NULL) {
        return WEFT_ERR_NOMEM;
    }
    in = (struct weft_neighbours){pick(x, 1, lists, lists + count), lists, lists + count};
    out_of = (struct weft_neighbours){pick(x, 0, lists + 2 * count, lists + 3 * count),
                                      lists + 2 * count, lists + 3 * count};
    rc = weft_neighbours_keep(&in, &out_of, is_weighted, &x->comm->topology);
    free(lists);
    return rc;
}

enum weft_rc weft_neighbours_exchange(const char *call, struct weft_comm *made,
                                      const struct weft_edges *edges, bool is_weighted)
{
    struct exchange x = {.call = call, .comm = made};
    enum weft_rc rc = add_up(&x, write_halves(&x, edges));

    weft_assert_unlocked();
    if (rc == WEFT_OK) {
        x.incoming = malloc(((size_t)x.incoming_count + 1) * sizeof(*x.incoming));
        rc = agree(&x, x.incoming != NULL ? WEFT_OK : WEFT_ERR_NOMEM);
    }
    if (rc == WEFT_OK) {
        rc = send_and_receive(&x);
        rc = agree(&x, rc == WEFT_OK ? keep(&x, is_weighted) : rc);
    }
    free(x.requests);
    free(x.outgoing);
    free(x.incoming);
    return rc;
}
