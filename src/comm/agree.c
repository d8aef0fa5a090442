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
    weft_tree_agree_open();
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
        .tag = TAG_OF_ALL | (int)(comm->made++ * 2 & (TAG_OF_ALL - 1)),
    };
}

/* Another one for each call that all members of a communicator make; by chance the same
 * for those of two communicators. The tags of other calls come again. */
static uint32_t origin_of(const struct weft_channel *channel)
{
    return channel->plane == WEFT_PLANE_COLL
               ? (uint32_t)channel->tag ^ channel->context * UINT32_C(0x9e3779b1)
               : 0;
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

/* The trees of an agreement; returns how many there are. */
static int fill_trees(const struct weft_agree_ask *ask, struct weft_tree_agree trees[2])
{
    for (int i = 0; i < 2; i++) {
        trees[i].kind = WEFT_AGREE_NUMBER;
        trees[i].first = ask->group;
    }
    trees[0].channel = ask->channel;
    trees[1].channel = ask->local_channel;
    if (ask->is_inter || ask->is_merged) {
        weft_agree_sides(ask->parent, &trees[0]);
    }
    return ask->is_inter ? 2 : 1;
}

void weft_make_undo(struct weft_comm *made)
{
    weft_assert_locked();
    if (made->local != NULL) {
        weft_comm_give(made->local);
    }
    weft_comm_give(made);
}

/* The new communicator of an idup is the user's already, as a handle. */
static void undo_tentative(struct weft_comm *made)
{
    weft_attributes_forget_locked(&made->attributes);
    weft_make_undo(made);
}

static void end(struct agreement *a)
{
    if (a->made->is_tentative && a->rc != WEFT_OK) {
        undo_tentative(a->made);
    } else {
        a->made->is_tentative = false;
    }
    weft_comm_end_agreement();
    weft_request_complete(a->request, a->rc);
    weft_pool_give(&pool, a->index);
}

static void done(struct weft_tree_agree *tree, enum weft_rc rc)
{
    struct agreement *a = tree->owner;
    const int which = tree == &a->trees[0] ? 0 : 1;
    struct weft_comm *comm = which == 0 ? a->made : a->made->local;

    if (rc == WEFT_OK && tree->word.number == 0) {
        rc = WEFT_ERR_NOMEM; /* no member has one left */
    }
    comm->context = rc == WEFT_OK ? tree->word.number : 0;
    if (comm->context != a->proposed[which]) {
        weft_context_give(a->proposed[which]);
    }
    a->rc = rc != WEFT_OK ? rc : a->rc;
    if (--a->pending == 0) {
        end(a);
    }
}

/* All memory that it takes, before the first message goes. */
static enum weft_rc make_trees(struct agreement *a)
{
    enum weft_rc rc = weft_tree_agree_make(&a->trees[0]);

    if (rc == WEFT_OK && a->pending == 2) {
        rc = weft_tree_agree_make(&a->trees[1]);
        if (rc != WEFT_OK) {
            weft_tree_agree_unmake(&a->trees[0]);
        }
    }
    return rc;
}

static enum weft_rc make(const struct weft_agree_ask *ask, struct weft_request **out,
                         struct agreement **agreement)
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
    if (rc == WEFT_OK) {
        a = object;
        a->index = index;
        a->pending = fill_trees(ask, a->trees);
        rc = make_trees(a);
        if (rc != WEFT_OK) {
            weft_pool_give(&pool, index);
        }
        *agreement = a;
    }
    if (rc != WEFT_OK) {
        weft_request_give(*out);
    }
    return rc;
}

enum weft_rc weft_agree_begin(const struct weft_agree_ask *ask, struct weft_comm *made,
                              struct weft_request **out)
{
    struct agreement *a;
    const enum weft_rc rc = make(ask, out, &a);
    int trees;

    if (rc != WEFT_OK) {
        weft_agree_refuse(ask, rc);
        return rc;
    }
    made->origin = origin_of(&ask->channel);
    a->made = made;
    a->request = *out;
    a->request->kind = WEFT_REQUEST_SCHEDULE;
    a->request->source = MPI_ANY_SOURCE;
    a->request->tag = MPI_ANY_TAG;
    a->request->bytes = 0;
    if (ask->parent != NULL) {
        weft_request_set_comm(a->request, ask->parent);
    }
    weft_comm_begin_agreement();
    trees = a->pending;
    for (int i = 0; i < trees; i++) {
        a->proposed[i] = made->group->rank != MPI_UNDEFINED ? weft_context_take() : 0;
        a->trees[i].word = (struct weft_agree_word){.number = a->proposed[i]};
        a->trees[i].done = done;
        a->trees[i].owner = a;
    }
    for (int i = 0; i < trees; i++) {
        weft_tree_agree_start(&a->trees[i]);
    }
    return WEFT_OK;
}

void weft_agree_refuse(const struct weft_agree_ask *ask, enum weft_rc rc)
{
    struct weft_tree_agree trees[2] = {{.root = 0}};
    const int count = fill_trees(ask, trees);

    for (int i = 0; i < count; i++) {
        weft_tree_agree_refuse(&trees[i], rc);
    }
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

enum weft_rc weft_agree(const char *call, const struct weft_agree_ask *ask,
                        struct weft_comm *made)
{
    struct weft_request *request;
    enum weft_rc rc = weft_agree_begin(ask, made, &request);

    return rc == WEFT_OK ? weft_agree_wait(call, request) : rc;
}

/* ---- whether all have succeeded ---- */

static void outcome_done(struct weft_tree_agree *tree, enum weft_rc rc)
{
    struct weft_outcome *outcome = tree->owner;

    weft_request_complete(outcome->request, rc);
}

enum weft_rc weft_outcome_make(struct weft_outcome *outcome,
                               const struct weft_group *group,
                               struct weft_channel channel)
{
    *outcome = (struct weft_outcome){.tree = {.kind = WEFT_AGREE_NUMBER,
                                              .first = group,
                                              .channel = channel,
                                              .word = {.number = 1},
                                              .done = outcome_done,
                                              .owner = outcome}};
    outcome->rc = weft_request_take(&outcome->request);
    if (outcome->rc != WEFT_OK) {
        return outcome->rc;
    }
    outcome->request->kind = WEFT_REQUEST_SCHEDULE;
    outcome->request->source = MPI_ANY_SOURCE;
    outcome->request->tag = MPI_ANY_TAG;
    outcome->rc = weft_tree_agree_make(&outcome->tree);
    if (outcome->rc != WEFT_OK) {
        weft_request_give(outcome->request);
    }
    return outcome->rc;
}

enum weft_rc weft_outcome_wait(const char *call, struct weft_outcome *outcome,
                               enum weft_rc rc)
{
    if (outcome->rc != WEFT_OK) {
        weft_tree_agree_refuse(&outcome->tree, outcome->rc);
        return outcome->rc;
    }
    if (rc != WEFT_OK) {
        outcome->tree.word = (struct weft_agree_word){.rc = (uint32_t)rc};
    }
    weft_tree_agree_start(&outcome->tree);
    return weft_agree_wait(call, outcome->request);
}

void weft_outcome_unmake(struct weft_outcome *outcome)
{
    if (outcome->rc == WEFT_OK) {
        weft_tree_agree_unmake(&outcome->tree);
        weft_request_give(outcome->request);
    }
}
