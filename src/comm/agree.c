/*
 * agree.c - agreeing on a context: everyone proposes one of its own, the first one counts
 * (tree_agree.h), the others go back.
 */
#include "comm/agree.h"

#include "comm/context.h"
#include "p2p/p2p.h"

enum { TAG_OF_ALL = WEFT_COLL_NUMBERS };

/* One agreement under way. */
struct agreement {
    struct weft_tree_agree trees[2]; /* the communicator's and its local one's */
    uint32_t proposed[2];
    struct weft_comm *made;
    struct weft_request *request;
    enum weft_rc rc;
    int pending;
    uint32_t index; /* in the pool */
};

static struct weft_pool pool;

void weft_agree_open(void)
{
    weft_pool_init(&pool, sizeof(struct agreement), 2, 1u << 20);
}

void weft_agree_close(void)
{
    weft_pool_fini(&pool);
}

struct weft_channel weft_channel_of_all(struct weft_comm *comm)
{
    return (struct weft_channel){
        .context = comm->context,
        .plane = WEFT_PLANE_COLL,
        .tag = TAG_OF_ALL | (int)(comm->made++ & (TAG_OF_ALL - 1)),
    };
}

/* Strings that are used at the same time fall together once in 2^31 pairs. */
struct weft_channel weft_channel_of_string(const char *stringtag)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (const char *c = stringtag; *c != '\0'; c++) {
        hash = (hash ^ (uint8_t)*c) * UINT64_C(0x100000001b3);
    }
    return (struct weft_channel){
        .context = WEFT_CONTEXT_PARENTLESS,
        .plane = WEFT_PLANE_MAKE,
        .tag = (int)(hash >> 33),
    };
}

void weft_agree_sides(const struct weft_comm *comm, struct weft_tree_agree *tree)
{
    const uint64_t owner = weft_context_owner(comm->context);
    const bool is_ours =
        comm->remote == NULL || weft_group_rank_of(comm->group, owner) != MPI_UNDEFINED;

    tree->first = is_ours ? comm->group : comm->remote;
    tree->second = is_ours ? comm->remote : comm->group;
}

static void done(struct weft_tree_agree *tree, enum weft_rc rc)
{
    struct agreement *a = tree->owner;
    const int which = tree == &a->trees[0] ? 0 : 1;
    struct weft_comm *comm = which == 0 ? a->made : a->made->local;

    comm->context = tree->number;
    if (comm->context != a->proposed[which]) {
        weft_context_give(a->proposed[which]);
    }
    if (rc == WEFT_OK && comm->context == 0) {
        rc = WEFT_ERR_NOMEM; /* no member has one left */
    }
    a->rc = rc != WEFT_OK ? rc : a->rc;
    if (--a->pending == 0) {
        weft_request_complete(a->request, a->rc);
        weft_pool_give(&pool, a->index);
    }
}

static void start(struct agreement *a, int which, const struct weft_channel *channel)
{
    struct weft_tree_agree *tree = &a->trees[which];

    a->proposed[which] = weft_context_take();
    tree->kind = WEFT_AGREE_NUMBER;
    tree->channel = *channel;
    tree->number = a->proposed[which];
    tree->done = done;
    tree->owner = a;
    weft_tree_agree_start(tree);
}

enum weft_rc weft_agree_begin(struct weft_comm *made, struct weft_comm *parent,
                              const struct weft_channel *channel,
                              const struct weft_channel *local_channel,
                              struct weft_request **out)
{
    struct agreement *a;
    void *object;
    uint32_t index;
    uint32_t generation;
    enum weft_rc rc = weft_request_take(out);

    if (rc != WEFT_OK) {
        return rc;
    }
    rc = weft_pool_take(&pool, &object, &index, &generation);
    if (rc != WEFT_OK) {
        weft_request_give(*out);
        return rc;
    }
    a = object;
    a->index = index;
    a->made = made;
    a->request = *out;
    a->request->kind = WEFT_REQUEST_SCHEDULE;
    a->request->source = MPI_ANY_SOURCE;
    a->request->tag = MPI_ANY_TAG;
    a->request->bytes = 0;
    if (parent != NULL) {
        weft_request_set_comm(a->request, parent);
    }
    a->trees[0].first = made->group;
    if (parent != NULL && made->remote != NULL) {
        weft_agree_sides(parent, &a->trees[0]);
    }
    a->pending = local_channel != NULL ? 2 : 1; /* before either can end */
    start(a, 0, channel);
    if (local_channel != NULL) {
        a->trees[1].first = made->local->group;
        start(a, 1, local_channel);
    }
    return WEFT_OK;
}

enum weft_rc weft_agree_wait(const char *call, struct weft_request *request)
{
    const struct weft_wait_reason why = {call,
                                         request->comm != NULL ? request->comm->name : "",
                                         MPI_ANY_SOURCE, MPI_ANY_TAG, 0};
    enum weft_rc rc;

    if (!weft_request_is_complete(request)) {
        weft_wait_locked(request, &why);
    }
    rc = request->rc;
    weft_request_give(request);
    return rc;
}

enum weft_rc weft_agree(const char *call, struct weft_comm *made,
                        struct weft_comm *parent, const struct weft_channel *channel,
                        const struct weft_channel *local_channel)
{
    struct weft_request *request;
    enum weft_rc rc = weft_agree_begin(made, parent, channel, local_channel, &request);

    return rc == WEFT_OK ? weft_agree_wait(call, request) : rc;
}
