/*
 * coll.h - collective operations: blocking, nonblocking and persistent, by one code.
 *
 * A call is described by a struct weft_coll, which bindings/ have checked. From it comes
 * a shape (shape.h), from the shape an algorithm (algorithm.h), from that a graph of
 * steps, and sched/ runs the graph. Blocking calls whose members are all on one node may
 * have an algorithm without a graph:
 *
 *   call.c        the life of a call: made, started, complete, freed
 *   data.c        the user's buffers as spaces of a graph, and reductions on them
 *   shape.c       the shape of a call
 *   algorithm.c   all algorithms, and the choice among them
 *   model.c       how long an algorithm takes, from its cost
 *   force.c       the user's choice (WEFT_COLL)
 *   choices.c     what was chosen on a communicator
 *   surroundings.c  nodes and processors, as all members know them
 *   nodes.c       which ranks of a group share a node
 *   slots.c       memory that members on one node share
 *   disagree.c    members whose calls do not fit together
 *   flags.c       small data through slots, without a graph
 *   shared.c      large data by pieces, without a graph; pieces.c cuts them
 *   the others    builders: one algorithm each, with its cost; levels.h is for those that
 *                 know nodes
 *
 * Which algorithm runs is the same on all members by construction: it depends on the
 * operation, the bytes of the type signature, whether the operation commutes, the number
 * of ranks, and where the job runs (surroundings.h). It does not depend on what only one
 * rank knows: whether its buffer is contiguous, in place, or aligned. Members that make
 * different calls, or name different sizes, against the standard, get an error
 * (disagree.h).
 *
 * Messages travel on the communicator's collective plane. Every call has a number on its
 * communicator, which is its tag, so any number of calls may be outstanding and complete
 * in any order. A persistent operation keeps the number of its initialization, because
 * ranks may start several of them in different orders.
 *
 * The rank that sees an error returns it; the others may wait for this rank for ever. If
 * a member has failed, no rank waits: calls that depend on it return an error, and so
 * does every later call on that communicator.
 */
#ifndef WEFT_COLL_COLL_H
#define WEFT_COLL_COLL_H

#include "core/comm.h"
#include "core/request.h"
#include "datatype/operation.h"
#include "sched/graph.h"

enum weft_coll_kind {
    WEFT_COLL_BARRIER,
    WEFT_COLL_BCAST,
    WEFT_COLL_GATHER,
    WEFT_COLL_GATHERV,
    WEFT_COLL_SCATTER,
    WEFT_COLL_SCATTERV,
    WEFT_COLL_ALLGATHER,
    WEFT_COLL_ALLGATHERV,
    WEFT_COLL_ALLTOALL,
    WEFT_COLL_ALLTOALLV,
    WEFT_COLL_ALLTOALLW,
    WEFT_COLL_REDUCE,
    WEFT_COLL_ALLREDUCE,
    WEFT_COLL_REDUCE_SCATTER,
    WEFT_COLL_REDUCE_SCATTER_BLOCK,
    WEFT_COLL_SCAN,
    WEFT_COLL_EXSCAN,
    WEFT_COLL_NEIGHBOR_ALLGATHER,
    WEFT_COLL_NEIGHBOR_ALLGATHERV,
    WEFT_COLL_NEIGHBOR_ALLTOALL,
    WEFT_COLL_NEIGHBOR_ALLTOALLV,
    WEFT_COLL_NEIGHBOR_ALLTOALLW,
    WEFT_COLL_KINDS,
};

/*
 * One side of a call: what this rank gives, or what it gets. There is one block, or one
 * for each peer. Blocks follow each other and have `count` elements of `type`, unless
 * `counts` is set: then each block has its own count and, from `displs`, its own place,
 * in extents of the type; with `types` set its own type, and its place in bytes. Counts
 * and displacements are the user's and stay as they are until the operation is complete;
 * a persistent operation has copies.
 */
struct weft_coll_side {
    const void *buffer; /* or MPI_IN_PLACE */
    struct weft_datatype *type;
    MPI_Count count;
    const void *counts;                 /* int, or MPI_Count */
    const void *displs;                 /* int, or MPI_Aint */
    struct weft_datatype *const *types; /* the caller's, for the time of the call */
    bool has_large_counts;
    bool has_large_displs;
};

/* A call, as the user made it. A side that does not matter on this rank is empty. */
struct weft_coll {
    struct weft_comm *comm;
    const char *name; /* of the MPI function; a constant */
    enum weft_coll_kind kind;
    int root;     /* as in MPI; of an intercommunicator MPI_ROOT and MPI_PROC_NULL too */
    bool is_last; /* a barrier that is a part of MPI_Finalize */
    struct weft_operation *op; /* of a reduction */
    struct weft_coll_side send;
    struct weft_coll_side recv;
    struct weft_neighbourhood around; /* of a neighbourhood collective */
};

/* Each takes the lock. Returns when this rank's part is done. */
WEFT_MUST_CHECK enum weft_rc weft_coll_run(const struct weft_coll *coll);

/* Runs a collective that is a part of another call of the library. If a member had no
 * memory, the result is WEFT_ERR_NOMEM in place of WEFT_ERR_DISAGREE. */
WEFT_MUST_CHECK enum weft_rc weft_coll_run_inside(const struct weft_coll *coll);

/* Begins it. The request belongs to the caller; what `around` points to, to the
 * communicator. */
WEFT_MUST_CHECK enum weft_rc weft_coll_start(const struct weft_coll *coll,
                                             struct weft_request **out);

/* Makes an inactive request that performs it as often as it is started. */
WEFT_MUST_CHECK enum weft_rc weft_coll_init(const struct weft_coll *coll,
                                            struct weft_request **out);

/* For the library itself: barriers, bytes for all, and sums of numbers. The name that a
 * barrier has for members that make another call is MPI_Finalize if it is `is_last`. */
WEFT_MUST_CHECK enum weft_rc weft_coll_barrier(struct weft_comm *comm, const char *name);
WEFT_MUST_CHECK enum weft_rc weft_coll_last_barrier(struct weft_comm *comm,
                                                    const char *name);

/* The barrier of MPI_COMM_WORLD, all of whose ranks are on this node: through the
 * segment, which needs nothing that other collectives have not made anyway. */
WEFT_MUST_CHECK enum weft_rc weft_coll_node_barrier(const char *name, bool is_last);

WEFT_MUST_CHECK enum weft_rc weft_coll_bcast(struct weft_comm *comm, const char *name,
                                             void *buffer, size_t bytes, int root);
WEFT_MUST_CHECK enum weft_rc weft_coll_sum(struct weft_comm *comm, const char *name,
                                           const int *mine, int *all, size_t count);

/* With the lock: the next number on this communicator, the same on all members. */
int weft_coll_number(struct weft_comm *comm);

/* Elements of a side's block, where it begins, and of what type. */
uint64_t weft_coll_count(const struct weft_coll_side *side, int block);
int64_t weft_coll_displ(const struct weft_coll_side *side, int block);
struct weft_datatype *weft_coll_type(const struct weft_coll_side *side, int block);

#endif
