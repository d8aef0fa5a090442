/*
 * split.c - split: one pass up and down a tree collects colour, key and proposed contexts
 * of all members; everyone then finds its own group in the table.
 */
#include "comm/make.h"

#include "comm/agree.h"
#include "comm/context.h"
#include "p2p/p2p.h"
#include "engine/hot.h"
#include "p2p/state.h"
#include "engine/lock.h"

#include <stdlib.h>
#include <string.h>

/*
 * A member's line in the table; the last word is there for intercommunicators only. The
 * first word is not 0, as no colour is -1: a line that begins with 0 has not been filled
 * in (tree_agree.h).
 */
struct entry {
    uint32_t color_and_one;
    int32_t key;
    uint32_t context;
    uint32_t local_context;
};

/* One call under way. */
struct split {
    struct weft_comm *comm;
    struct weft_tree_agree tree;
    struct entry mine;
    int color;
    int count; /* of members, on both sides */
    struct weft_request *request;

    /* Memory that is taken before the members agree, so that none lacks it afterwards. */
    struct member *members;
    struct weft_group_draft drafts[2];
    struct weft_group *groups[2]; /* they and the communicators keep places in pools */
    struct weft_comm *comms[2];
};

struct member {
    int key;
    int rank; /* in the group that is split */
    uint32_t context;
    uint32_t local_context;
};

static struct entry entry_at(const struct split *split, int place)
{
    const size_t bytes = split->tree.entry_bytes;
    struct entry entry = {0};

    memcpy(&entry, split->tree.table + bytes * (size_t)place, bytes);
    return entry;
}

static int color_of(const struct entry *entry)
{
    return (int)(entry->color_and_one - 1);
}

/* ---- memory ---- */

/* Two lists are needed of an intercommunicator: of both sides. */
static int sides(const struct split *split)
{
    return weft_comm_is_inter(split->comm) ? 2 : 1;
}

static void give_places(struct split *split)
{
    for (int i = 0; i < 2; i++) {
        if (split->comms[i] != NULL) {
            weft_comm_give(split->comms[i]);
            split->comms[i] = NULL;
        }
        if (split->groups[i] != NULL) {
            weft_group_release(split->groups[i]);
            split->groups[i] = NULL;
        }
    }
}

static enum weft_rc take_places(struct split *split)
{
    enum weft_rc rc = WEFT_OK;

    for (int i = 0; i < sides(split) && rc == WEFT_OK; i++) {
        rc = weft_group_make_range(0, 1, &split->groups[i]);
        if (rc == WEFT_OK) {
            rc = weft_comm_take(split->groups[i], NULL, &split->comms[i]);
        }
    }
    return rc;
}

static void give_memory(struct split *split)
{
    give_places(split);
    for (int i = 0; i < 2; i++) {
        weft_group_drop(&split->drafts[i]);
    }
    free(split->members);
    free(split->tree.table);
}

/* Takes the memory that a member with a colour needs after the members have agreed. */
static enum weft_rc take_later_memory(struct split *split)
{
    struct weft_comm *comm = split->comm;
    const size_t count = (size_t)split->count;
    enum weft_rc rc = take_places(split);

    split->members = malloc(count * sizeof(*split->members));
    if (split->members == NULL) {
        rc = WEFT_ERR_NOMEM;
    }
    if (rc == WEFT_OK) {
        rc = weft_group_draft_reserve(&split->drafts[0], comm->group->size);
    }
    if (rc == WEFT_OK && comm->remote != NULL) {
        rc = weft_group_draft_reserve(&split->drafts[1], comm->remote->size);
    }
    return rc;
}

static enum weft_rc take_memory(struct split *split)
{
    struct weft_tree_agree *tree = &split->tree;
    enum weft_rc rc;

    tree->entry_bytes = tree->second != NULL ? sizeof(struct entry)
                                             : offsetof(struct entry, local_context);
    tree->table = calloc((size_t)split->count, tree->entry_bytes);
    rc = tree->table != NULL ? WEFT_OK : WEFT_ERR_NOMEM;
    if (rc == WEFT_OK && split->color != MPI_UNDEFINED) {
        rc = take_later_memory(split);
    }
    if (rc == WEFT_OK) {
        rc = weft_tree_agree_make(tree);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    rc = weft_request_take(&split->request);
    if (rc != WEFT_OK) {
        weft_tree_agree_unmake(tree);
    }
    return rc;
}

/* ---- the table ---- */

static void done(struct weft_tree_agree *tree, enum weft_rc rc)
{
    struct split *split = tree->owner;

    weft_request_complete(split->request, rc);
}

static void fill_in(struct split *split, int key)
{
    struct weft_tree_agree *tree = &split->tree;

    split->mine = (struct entry){.color_and_one = (uint32_t)split->color + 1, .key = key};
    if (split->color != MPI_UNDEFINED) {
        split->mine.context = weft_context_take();
        split->mine.local_context = tree->second != NULL ? weft_context_take() : 0;
    }
    memcpy(tree->table + tree->entry_bytes * (size_t)weft_tree_agree_position(tree),
           &split->mine, tree->entry_bytes);
}

/* Gives the contexts back that this process proposed and no communicator got. */
static void settle(const struct split *split, const struct weft_comm *made)
{
    if (made == NULL || made->context != split->mine.context) {
        weft_context_give(split->mine.context);
    }
    if (made == NULL || made->local == NULL ||
        made->local->context != split->mine.local_context) {
        weft_context_give(split->mine.local_context);
    }
}

/* With the lock: returns when the table is full, or when there is none. */
static enum weft_rc fill_table(const char *call, struct split *split, int key)
{
    struct weft_tree_agree *tree = &split->tree;
    enum weft_rc rc;

    weft_agree_sides(split->comm, tree);
    split->count = weft_tree_agree_members(tree);
    tree->kind = WEFT_AGREE_TABLE;
    tree->channel = weft_channel_of_all(split->comm);
    tree->done = done;
    tree->owner = split;
    rc = take_memory(split);
    if (rc != WEFT_OK) {
        weft_tree_agree_refuse(tree, rc);
        return rc;
    }
    split->request->kind = WEFT_REQUEST_SCHEDULE;
    weft_request_set_comm(split->request, split->comm);
    fill_in(split, key);
    weft_tree_agree_start(tree);
    rc = weft_agree_wait(call, split->request);
    if (rc != WEFT_OK) {
        settle(split, NULL);
    }
    return rc;
}

/* ---- what follows from it ---- */

static int by_key(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;

    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

/* Those of one side that have our colour, in their new order; returns how many. */
static int pick(const struct split *split, const struct weft_group *side,
                struct member *members)
{
    const int begin = side == split->tree.first ? 0 : split->tree.first->size;
    bool is_sorted = true;
    int count = 0;

    for (int rank = 0; rank < side->size; rank++) {
        struct entry entry = entry_at(split, begin + rank);

        if (color_of(&entry) == split->color) {
            members[count] =
                (struct member){entry.key, rank, entry.context, entry.local_context};
            is_sorted = is_sorted && (count == 0 || members[count - 1].key <= entry.key);
            count++;
        }
    }
    if (!is_sorted) {
        qsort(members, (size_t)count, sizeof(*members), by_key);
    }
    return count;
}

static enum weft_rc make_group(struct weft_group_draft *draft,
                               const struct weft_group *side,
                               const struct member *members, int count,
                               struct weft_group **out)
{
    enum weft_rc rc = WEFT_OK;

    draft->session = side->session;
    for (int i = 0; i < count && rc == WEFT_OK; i++) {
        rc = weft_group_add(draft, weft_group_process(side, members[i].rank));
    }
    return rc == WEFT_OK ? weft_group_make(draft, out) : rc;
}

/* The first context proposed counts; of the local ones, if so asked. */
static uint32_t first_context(const struct member *members, int count, bool is_local)
{
    uint32_t context = 0;

    for (int i = 0; i < count && context == 0; i++) {
        context = is_local ? members[i].local_context : members[i].context;
    }
    return context;
}

static enum weft_rc make_intra(struct split *split, struct weft_comm **out)
{
    struct weft_comm *comm = split->comm;
    struct member *members = split->members;
    const int count = pick(split, comm->group, members);
    struct weft_group *group;
    enum weft_rc rc = make_group(&split->drafts[0], comm->group, members, count, &group);

    if (rc != WEFT_OK) {
        return rc;
    }
    rc = weft_make_empty(group, NULL, comm->errhandler, out);
    weft_group_release(group);
    if (rc == WEFT_OK) {
        (*out)->context = first_context(members, count, false);
    }
    return rc;
}

/* Both sides' members of our colour; nothing where one side has none. */
static enum weft_rc make_inter(struct split *split, struct weft_comm **out)
{
    struct weft_comm *comm = split->comm;
    const bool is_first = comm->group == split->tree.first;
    struct member *members = split->members;
    struct member *others = members + comm->size;
    const int count = pick(split, comm->group, members);
    const int other_count = pick(split, comm->remote, others);
    struct weft_group *group = &weft_group_empty;
    struct weft_group *remote = &weft_group_empty;
    uint32_t contexts[2] = {first_context(members, count, false),
                            first_context(others, other_count, false)};
    enum weft_rc rc = WEFT_OK;

    if (other_count == 0) {
        *out = NULL;
        return WEFT_OK;
    }
    rc = make_group(&split->drafts[0], comm->group, members, count, &group);
    if (rc == WEFT_OK) {
        rc = make_group(&split->drafts[1], comm->remote, others, other_count, &remote);
    }
    if (rc == WEFT_OK) {
        rc = weft_make_empty(group, remote, comm->errhandler, out);
    }
    if (rc == WEFT_OK) {
        rc = weft_make_empty(group, NULL, comm->errhandler, &(*out)->local);
        if (rc != WEFT_OK) {
            weft_comm_give(*out);
        }
    }
    weft_group_release(group);
    weft_group_release(remote);
    if (rc == WEFT_OK) {
        (*out)->local->context = first_context(members, count, true);
        (*out)->context = contexts[is_first ? 0 : 1];
        if ((*out)->context == 0) {
            (*out)->context = contexts[is_first ? 1 : 0];
        }
    }
    return rc;
}

/* With the lock. */
static enum weft_rc make_mine(struct split *split, struct weft_comm **out)
{
    struct weft_comm *made = NULL;
    enum weft_rc rc;

    if (split->color == MPI_UNDEFINED) {
        *out = NULL;
        return WEFT_OK;
    }
    give_places(split); /* from which those that are made now come */
    if (weft_comm_is_inter(split->comm)) {
        rc = make_inter(split, &made);
    } else {
        rc = make_intra(split, &made);
    }
    if (rc == WEFT_OK && made != NULL &&
        (made->context == 0 || (made->local != NULL && made->local->context == 0))) {
        weft_make_undo(made); /* no member has one left */
        made = NULL;
        rc = WEFT_ERR_NOMEM;
    }
    settle(split, made);
    if (rc == WEFT_OK) {
        *out = made;
    }
    return rc;
}

enum weft_rc weft_comm_split(const char *call, struct weft_comm *comm, int color, int key,
                             struct weft_comm **out)
{
    struct split split = {.comm = comm, .color = color};
    enum weft_rc rc;

    weft_assert_unlocked();
    weft_lock();
    rc = fill_table(call, &split, key);
    if (rc == WEFT_OK) {
        rc = make_mine(&split, out);
    }
    give_memory(&split);
    weft_engine_leave();
    weft_unlock();
    return rc;
}

/* ---- by hardware ---- */

/* Are all members that want to be in one of the same colour? */
static bool is_one_color(const struct split *split)
{
    for (int i = 0; i < split->count; i++) {
        const struct entry entry = entry_at(split, i);
        const int color = color_of(&entry);

        if (color != MPI_UNDEFINED && color != split->color) {
            return false;
        }
    }
    return true;
}

static int my_node(void)
{
    return (int)weft_engine.job->segment.header->node;
}

/*
 * What is known of the hardware is which ranks share a node. So the only type of resource
 * is shared memory, and below a node there is nothing to split by: as the standard has
 * it, that gives MPI_COMM_NULL.
 */
enum weft_rc weft_comm_split_type(struct weft_comm *comm, int type, int key,
                                  const char *resource, struct weft_comm **out)
{
    static const char call[] = "MPI_Comm_split_type";
    struct split split = {.comm = comm, .color = my_node()};
    enum weft_rc rc;

    weft_assert_unlocked();
    if (type == MPI_UNDEFINED ||
        ((type == MPI_COMM_TYPE_HW_GUIDED || type == MPI_COMM_TYPE_RESOURCE_GUIDED) &&
         (resource == NULL || strcmp(resource, "mpi_shared_memory") != 0))) {
        split.color = MPI_UNDEFINED;
    }
    weft_lock();
    rc = fill_table(call, &split, key);
    if (rc == WEFT_OK && type == MPI_COMM_TYPE_HW_UNGUIDED && is_one_color(&split)) {
        settle(&split, NULL);
        *out = NULL;
    } else if (rc == WEFT_OK) {
        rc = make_mine(&split, out);
    }
    give_memory(&split);
    weft_engine_leave();
    weft_unlock();
    return rc;
}
