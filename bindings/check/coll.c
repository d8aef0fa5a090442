#include "check/coll.h"

#include "check/p2p.h"
#include "coll/disagree.h"
#include "coll/shape.h"
#include "datatype/reduce.h"
#include "topo/around.h"

#include <stdlib.h>

/* ---- operations ---- */

int weft_check_op(const char *function, struct weft_comm *comm, MPI_Op op,
                  const struct weft_datatype *type, struct weft_operation **out)
{
    const char *name = weft_reduce_name(op);
    char text[WEFT_DATATYPE_TEXT];

    *out = weft_operation_from_handle(op);
    if (weft_likely(*out != NULL && weft_operation_is_defined(*out, type))) {
        return MPI_SUCCESS;
    }
    if (name != NULL) {
        return weft_raise_comm(comm, function, WEFT_E_OP_UNDEFINED, name,
                               weft_datatype_describe(type, text, sizeof(text)));
    }
    return weft_raise_comm(comm, function, MPI_ERR_OP, WEFT_T_HANDLE,
                           weft_describe_handle(WEFT_KIND_OP, op, text, sizeof(text)));
}

static bool is_in_place(const struct weft_call_side *side)
{
    return side->buffer == MPI_IN_PLACE;
}

/* ---- roots ---- */

static int check_root(const struct weft_call *call, struct weft_comm *comm)
{
    if (weft_likely((unsigned)call->root < (unsigned)comm->peers)) {
        return MPI_SUCCESS;
    }
    if (weft_comm_is_inter(comm)) {
        if (call->root == MPI_ROOT || call->root == MPI_PROC_NULL) {
            return MPI_SUCCESS;
        }
        return weft_raise_comm(comm, call->function, WEFT_E_ROOT_INTER, call->root,
                               comm->peers - 1);
    }
    return weft_raise_comm(comm, call->function, WEFT_E_ROOT, call->root, comm->size - 1);
}

/* Does this rank give something, and does it get something? */
struct part {
    bool gives;
    bool gets;
};

static struct part part_of(const struct weft_call *call, const struct weft_comm *comm)
{
    const bool is_inter = weft_comm_is_inter(comm);
    const bool is_root = is_inter ? call->root == MPI_ROOT : call->root == comm->rank;

    if (weft_coll_facts(call->kind)->is_rooted && call->root == MPI_PROC_NULL) {
        return (struct part){false, false};
    }
    switch (call->kind) {
    case WEFT_COLL_BARRIER:
        return (struct part){false, false};
    case WEFT_COLL_BCAST:
        return (struct part){false, true};
    case WEFT_COLL_GATHER:
    case WEFT_COLL_GATHERV:
    case WEFT_COLL_REDUCE:
        return (struct part){!is_root || !is_inter, is_root};
    case WEFT_COLL_SCATTER:
    case WEFT_COLL_SCATTERV:
        return (struct part){is_root, !is_root || !is_inter};
    case WEFT_COLL_EXSCAN:
        /* Rank 0 gets nothing, and its receive buffer is not significant, except in
         * place, where it has the input. */
        return (struct part){true, comm->rank > 0 || is_in_place(&call->send) ||
                                       is_in_place(&call->recv)};
    default:
        return (struct part){true, true};
    }
}

/* ---- in place ---- */

/* Which side may be in place: what is scattered is in place where it would arrive. */
static int check_in_place(const struct weft_call *call, struct weft_comm *comm,
                          struct part part)
{
    const bool gives_in_place = part.gives && is_in_place(&call->send);
    const bool gets_in_place = part.gets && is_in_place(&call->recv);
    bool is_scatter;
    bool may;

    if (weft_likely(!gives_in_place && !gets_in_place)) {
        return MPI_SUCCESS;
    }
    is_scatter = call->kind == WEFT_COLL_SCATTER || call->kind == WEFT_COLL_SCATTERV;
    may = !weft_comm_is_inter(comm) && part.gives && part.gets &&
          !weft_coll_facts(call->kind)->is_around;
    if (may && !(is_scatter ? gives_in_place : gets_in_place)) {
        return MPI_SUCCESS;
    }
    return weft_raise_comm(comm, call->function, WEFT_E_BUFFER_IN_PLACE);
}

/* ---- sides ---- */

/* Where a block begins. Displacements may be addresses, from MPI_BOTTOM, which is NULL.
 */
static const void *place_of(const struct weft_coll_side *side, int block)
{
    return (const void *)((uintptr_t)side->buffer +
                          (uintptr_t)weft_coll_displ(side, block));
}

static int check_blocks(const struct weft_call *call, struct weft_comm *comm,
                        const struct weft_call_side *side, int blocks,
                        struct weft_coll_side *out, struct weft_datatype **types)
{
    size_t bytes;
    int err = MPI_SUCCESS;

    if (blocks > 0 &&
        (side->counts == NULL || (out->types != NULL && side->datatypes == NULL))) {
        return weft_raise_comm(comm, call->function, WEFT_E_NULL_COUNTS);
    }
    for (int i = 0; i < blocks && err == MPI_SUCCESS; i++) {
        const MPI_Datatype type =
            side->datatypes != NULL ? side->datatypes[i] : side->datatype;

        err = weft_check_buffer(call->function, comm, place_of(out, i),
                                (MPI_Count)weft_coll_count(out, i), type, &bytes);
        if (types != NULL) {
            types[i] = weft_datatype_from_handle(type);
        }
    }
    return err;
}

/* The other members wait for this one. */
static int raise_no_memory(const struct weft_call *call, struct weft_comm *comm)
{
    weft_disagree_starved_apart(comm);
    return weft_raise_comm(comm, call->function, WEFT_E_NO_MEM);
}

/* A side whose blocks have sizes of their own; its types are resolved. */
static int check_sized(const struct weft_call *call, struct weft_comm *comm,
                       const struct weft_call_side *side, int blocks,
                       struct weft_coll_side *out)
{
    const bool has_types =
        call->kind == WEFT_COLL_ALLTOALLW || call->kind == WEFT_COLL_NEIGHBOR_ALLTOALLW;
    struct weft_datatype **types = NULL;

    if (has_types) {
        types = calloc((size_t)blocks + 1, sizeof(struct weft_datatype *));
        if (types == NULL) {
            return raise_no_memory(call, comm);
        }
        out->types = types;
    }
    return check_blocks(call, comm, side, blocks, out, types);
}

static int check_plain(const struct weft_call *call, struct weft_comm *comm,
                       const struct weft_call_side *side, int blocks)
{
    size_t bytes = 0;
    size_t all;
    int err = weft_check_buffer(call->function, comm, side->buffer, side->count,
                                side->datatype, &bytes);

    if (weft_unlikely(err == MPI_SUCCESS &&
                      __builtin_mul_overflow(bytes, (size_t)blocks, &all))) {
        err = weft_raise_comm(comm, call->function, WEFT_E_COUNT_HUGE_EACH,
                              (long long)side->count, blocks);
    }
    return err;
}

/* The side of a rank that has one. */
static int check_side(const struct weft_call *call, struct weft_coll *coll, bool is_send)
{
    const struct weft_call_side *side = is_send ? &call->send : &call->recv;
    struct weft_coll_side *out = is_send ? &coll->send : &coll->recv;
    const int blocks = weft_coll_peers(coll, is_send);

    *out = (struct weft_coll_side){
        .buffer = side->buffer,
        .count = side->count,
        .counts = side->counts,
        .displs = side->displs,
        .has_large_counts = side->has_large_counts,
        .has_large_displs = side->has_large_displs,
    };
    if (is_in_place(side)) {
        return MPI_SUCCESS;
    }
    out->type = weft_datatype_from_handle(side->datatype);
    if (call->kind == WEFT_COLL_REDUCE_SCATTER) {
        return check_blocks(call, coll->comm, side, coll->comm->size, out, NULL);
    }
    if (weft_coll_facts(call->kind)->has_own_sizes &&
        (is_send ? weft_coll_facts(call->kind)->has_send_blocks
                 : weft_coll_facts(call->kind)->has_recv_blocks)) {
        return check_sized(call, coll->comm, side, blocks, out);
    }
    return check_plain(call, coll->comm, side, blocks);
}

/* Is what this rank gives also where its own block goes to? */
static int check_alias(const struct weft_call *call, const struct weft_coll *coll)
{
    const struct weft_coll_facts *facts = weft_coll_facts(call->kind);
    const struct weft_coll_side *recv = &coll->recv;
    const bool is_block = facts->has_recv_blocks && !facts->has_send_blocks;
    uintptr_t own = (uintptr_t)recv->buffer;

    if (weft_comm_is_inter(coll->comm) || facts->is_around || facts->has_own_sizes ||
        recv->type == NULL || coll->send.type == NULL || recv->count == 0 ||
        recv->type->size == 0) {
        return MPI_SUCCESS;
    }
    if (is_block) {
        own += (uintptr_t)recv->count * (uintptr_t)recv->type->extent *
               (uintptr_t)coll->comm->rank;
    }
    /* Types with absolute addresses all start at MPI_BOTTOM. */
    if (weft_unlikely((uintptr_t)coll->send.buffer == own && own != 0)) {
        return is_block
                   ? weft_raise_comm(coll->comm, call->function, WEFT_E_BUFFER_OWN_BLOCK)
                   : weft_raise_comm(coll->comm, call->function, WEFT_E_BUFFER_SAME);
    }
    return MPI_SUCCESS;
}

/* ---- the whole ---- */

static int check_comm(const struct weft_call *call, struct weft_coll *coll)
{
    const struct weft_coll_facts *facts = weft_coll_facts(call->kind);
    int err = weft_check_comm(call->function, call->comm, &coll->comm);

    if (err != MPI_SUCCESS) {
        return err;
    }
    if (weft_comm_is_inter(coll->comm) &&
        (facts->is_around || call->kind == WEFT_COLL_SCAN ||
         call->kind == WEFT_COLL_EXSCAN)) {
        return weft_raise_comm(coll->comm, call->function, WEFT_E_COMM_INTER_COLL);
    }
    if (facts->is_around) {
        if (coll->comm->topology == NULL) {
            return weft_raise_comm(coll->comm, call->function, WEFT_E_TOPO_NONE);
        }
        if (weft_around_take(coll->comm, &coll->around) != WEFT_OK) {
            return raise_no_memory(call, coll->comm);
        }
    }
    return facts->is_rooted ? check_root(call, coll->comm) : MPI_SUCCESS;
}

static int check_data(const struct weft_call *call, struct weft_coll *coll)
{
    const struct part part = part_of(call, coll->comm);
    int err = check_in_place(call, coll->comm, part);

    if (err == MPI_SUCCESS && part.gets) {
        err = check_side(call, coll, false);
    }
    if (err == MPI_SUCCESS && part.gives) {
        err = check_side(call, coll, true);
    }
    if (err == MPI_SUCCESS && part.gives && part.gets) {
        err = check_alias(call, coll);
    }
    if (err == MPI_SUCCESS && weft_coll_facts(call->kind)->is_reduction &&
        (part.gives || part.gets)) {
        err = weft_check_op(call->function, coll->comm, call->op,
                            coll->recv.type != NULL ? coll->recv.type : coll->send.type,
                            &coll->op);
    }
    return err;
}

int weft_check_call(const struct weft_call *call, struct weft_coll *coll)
{
    int err;

    *coll = (struct weft_coll){
        .name = call->function, .kind = call->kind, .root = call->root};
    err = check_comm(call, coll);
    return err == MPI_SUCCESS && call->kind != WEFT_COLL_BARRIER ? check_data(call, coll)
                                                                 : err;
}

void weft_coll_forget_lists(struct weft_coll *coll)
{
    free((void *)(uintptr_t)coll->send.types);
    free((void *)(uintptr_t)coll->recv.types);
    weft_around_give(&coll->around);
}
