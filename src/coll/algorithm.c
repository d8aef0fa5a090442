#include "coll/algorithm.h"

#include "coll/algorithms.h"

#include <stdlib.h>

/* A kind, its name, the builder, what that costs, if a shape says it; then when it can be
 * done (fits), and when it is better than those behind it (suits). */
#define ALGORITHM(of, called, builder, costs, ...)                                       \
    {                                                                                    \
        .kind = WEFT_COLL_##of, .name = called, .build = builder, .cost = costs,         \
        __VA_ARGS__                                                                      \
    }

/* ---- what suits whom: moving data ---- */

enum {
    FEW_RANKS = 4,     /* up to here one round of messages is as short as any tree */
    MANY_RANKS = 16,   /* from here n messages cost more than log2 n and 3 n copies */
    AT_ONCE_RANKS = 8, /* up to here pairwise would start all rounds at once, too */
    SPLIT_BYTES = 64 << 10, /* of a bcast: rendezvous, so bytes cost more than messages */
    SPLIT_CHUNK = 4 << 10,  /* shorter chunks of it would cost their headers */
    TREE_BYTES = 1 << 10, /* of a block: an eager message, and cheap to copy on the way */
    TABLE_BYTES = 16 << 10, /* of all blocks: they are in the cache when copied */
    HOP_BYTES = 128,        /* of a block: log2 n hops cost less than n headers */
};

static bool splits(const struct weft_shape *shape)
{
    return shape->n >= FEW_RANKS && shape->bytes >= SPLIT_BYTES &&
           shape->bytes / (uint64_t)shape->n >= SPLIT_CHUNK;
}

static bool is_small_tree(const struct weft_shape *shape)
{
    return shape->n > FEW_RANKS && shape->bytes <= TREE_BYTES;
}

static bool has_few_ranks(const struct weft_shape *shape)
{
    return shape->n <= FEW_RANKS;
}

static bool is_small_table(const struct weft_shape *shape)
{
    return shape->bytes <= TABLE_BYTES / (uint64_t)shape->n;
}

/* All ranks know the sizes of all blocks. */
static bool is_direct_table(const struct weft_shape *shape)
{
    return has_few_ranks(shape) || weft_build_all_parts(shape) <= TABLE_BYTES;
}

static bool hops(const struct weft_shape *shape)
{
    return shape->n >= MANY_RANKS && shape->bytes <= HOP_BYTES;
}

static bool is_all_at_once(const struct weft_shape *shape)
{
    return shape->n <= AT_ONCE_RANKS;
}

/* ---- what suits whom: reductions ---- */

/* Thresholds in bytes of one rank's data. */
enum {
    /* Up to here rounds cost more than bytes: log2 n of them with all data. */
    ALLREDUCE_SHORT = 8192,
    /* From here on it pays that all ranks reduce, not half, a quarter, ... of them. */
    REDUCE_LONG = 16384,
    /* Up to here a rank waits longer for n - 1 messages than it copies log2 n. */
    SCAN_SHORT = 16384,
    /* Parts from here on fill a message, and there is no fold and no copy. */
    PAIRWISE_PART = 65536,
};

static bool commutes(const struct weft_shape *shape)
{
    return shape->commutes;
}

static bool is_short(const struct weft_shape *shape)
{
    return shape->bytes <= ALLREDUCE_SHORT || shape->n <= 2;
}

static bool is_long(const struct weft_shape *shape)
{
    return shape->bytes >= REDUCE_LONG && shape->n > 2;
}

static bool is_short_chain(const struct weft_shape *shape)
{
    return shape->bytes <= SCAN_SHORT;
}

static bool has_long_parts(const struct weft_shape *shape)
{
    return weft_build_all_parts(shape) / (unsigned)shape->n >= PAIRWISE_PART;
}

/* ---- all of them ---- */

static const struct weft_algorithm algorithms[] = {
    ALGORITHM(BARRIER, "tree", weft_barrier_tree, weft_barrier_tree_cost),
    ALGORITHM(BCAST, "split", weft_bcast_split, weft_bcast_split_cost, .suits = splits),
    ALGORITHM(BCAST, "binomial", weft_bcast_binomial, weft_bcast_binomial_cost),
    ALGORITHM(GATHER, "binomial", weft_gather_binomial, weft_rooted_binomial_cost,
              .suits = is_small_tree),
    ALGORITHM(GATHER, "direct", weft_gather_direct, weft_rooted_direct_cost),
    ALGORITHM(GATHERV, "direct", weft_gather_direct, NULL),
    ALGORITHM(SCATTER, "binomial", weft_scatter_binomial, weft_rooted_binomial_cost,
              .suits = is_small_tree),
    ALGORITHM(SCATTER, "direct", weft_scatter_direct, weft_rooted_direct_cost),
    ALGORITHM(SCATTERV, "direct", weft_scatter_direct, NULL),
    ALGORITHM(ALLGATHER, "direct", weft_allgather_direct, weft_all_direct_cost,
              .suits = has_few_ranks),
    ALGORITHM(ALLGATHER, "bruck", weft_allgather_bruck, weft_allgather_bruck_cost,
              .suits = is_small_table),
    ALGORITHM(ALLGATHER, "ring", weft_allgather_ring, weft_all_direct_cost),
    ALGORITHM(ALLGATHERV, "direct", weft_allgather_direct, NULL,
              .suits = is_direct_table),
    ALGORITHM(ALLGATHERV, "ring", weft_allgather_ring, NULL),
    ALGORITHM(ALLTOALL, "bruck", weft_alltoall_bruck, weft_alltoall_bruck_cost,
              .suits = hops),
    ALGORITHM(ALLTOALL, "direct", weft_alltoall_direct, weft_all_direct_cost,
              .suits = is_all_at_once),
    ALGORITHM(ALLTOALL, "pairwise", weft_alltoall_pairwise, weft_alltoall_pairwise_cost),
    ALGORITHM(ALLTOALLV, "pairwise", weft_alltoall_pairwise, NULL),
    ALGORITHM(ALLTOALLW, "pairwise", weft_alltoall_pairwise, NULL),
    ALGORITHM(REDUCE, "rabenseifner", weft_reduce_rabenseifner,
              weft_reduce_rabenseifner_cost, .fits = commutes, .suits = is_long),
    ALGORITHM(REDUCE, "binomial", weft_reduce_binomial, weft_reduce_binomial_cost),
    ALGORITHM(ALLREDUCE, "doubling", weft_allreduce_doubling,
              weft_allreduce_doubling_cost, .suits = is_short),
    ALGORITHM(ALLREDUCE, "rabenseifner", weft_allreduce_rabenseifner,
              weft_allreduce_rabenseifner_cost, .fits = commutes),
    ALGORITHM(ALLREDUCE, "binomial", weft_allreduce_binomial,
              weft_allreduce_binomial_cost),
    ALGORITHM(REDUCE_SCATTER, "pairwise", weft_reduce_scatter_pairwise,
              weft_reduce_scatter_pairwise_cost, .fits = commutes,
              .suits = has_long_parts),
    ALGORITHM(REDUCE_SCATTER, "halving", weft_reduce_scatter_halving,
              weft_reduce_scatter_halving_cost, .fits = commutes),
    ALGORITHM(REDUCE_SCATTER, "root", weft_reduce_scatter_root,
              weft_reduce_scatter_root_cost),
    ALGORITHM(REDUCE_SCATTER_BLOCK, "pairwise", weft_reduce_scatter_pairwise,
              weft_reduce_scatter_pairwise_cost, .fits = commutes,
              .suits = has_long_parts),
    ALGORITHM(REDUCE_SCATTER_BLOCK, "halving", weft_reduce_scatter_halving,
              weft_reduce_scatter_halving_cost, .fits = commutes),
    ALGORITHM(REDUCE_SCATTER_BLOCK, "root", weft_reduce_scatter_root,
              weft_reduce_scatter_root_cost),
    ALGORITHM(SCAN, "doubling", weft_scan_doubling, weft_scan_doubling_cost,
              .suits = is_short_chain),
    ALGORITHM(SCAN, "linear", weft_scan_linear, weft_scan_linear_cost),
    ALGORITHM(EXSCAN, "doubling", weft_exscan_doubling, weft_exscan_doubling_cost,
              .suits = is_short_chain),
    ALGORITHM(EXSCAN, "linear", weft_exscan_linear, weft_exscan_linear_cost),
    ALGORITHM(NEIGHBOR_ALLGATHER, "direct", weft_neighbor_allgather_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLGATHERV, "direct", weft_neighbor_allgather_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLTOALL, "direct", weft_neighbor_alltoall_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLTOALLV, "direct", weft_neighbor_alltoall_direct, NULL),
    ALGORITHM(NEIGHBOR_ALLTOALLW, "direct", weft_neighbor_alltoall_direct, NULL),
};

const char *weft_coll_kind_name(enum weft_coll_kind kind)
{
    static const char *const names[WEFT_COLL_KINDS] = {
        [WEFT_COLL_BARRIER] = "barrier",
        [WEFT_COLL_BCAST] = "bcast",
        [WEFT_COLL_GATHER] = "gather",
        [WEFT_COLL_GATHERV] = "gatherv",
        [WEFT_COLL_SCATTER] = "scatter",
        [WEFT_COLL_SCATTERV] = "scatterv",
        [WEFT_COLL_ALLGATHER] = "allgather",
        [WEFT_COLL_ALLGATHERV] = "allgatherv",
        [WEFT_COLL_ALLTOALL] = "alltoall",
        [WEFT_COLL_ALLTOALLV] = "alltoallv",
        [WEFT_COLL_ALLTOALLW] = "alltoallw",
        [WEFT_COLL_REDUCE] = "reduce",
        [WEFT_COLL_ALLREDUCE] = "allreduce",
        [WEFT_COLL_REDUCE_SCATTER] = "reduce_scatter",
        [WEFT_COLL_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
        [WEFT_COLL_SCAN] = "scan",
        [WEFT_COLL_EXSCAN] = "exscan",
        [WEFT_COLL_NEIGHBOR_ALLGATHER] = "neighbor_allgather",
        [WEFT_COLL_NEIGHBOR_ALLGATHERV] = "neighbor_allgatherv",
        [WEFT_COLL_NEIGHBOR_ALLTOALL] = "neighbor_alltoall",
        [WEFT_COLL_NEIGHBOR_ALLTOALLV] = "neighbor_alltoallv",
        [WEFT_COLL_NEIGHBOR_ALLTOALLW] = "neighbor_alltoallw",
    };

    return names[kind];
}

const struct weft_algorithm *weft_algorithm_at(int i)
{
    const int count = (int)(sizeof(algorithms) / sizeof(algorithms[0]));

    return i < count ? &algorithms[i] : NULL;
}

const struct weft_algorithm *weft_algorithm_choose(enum weft_coll_kind kind,
                                                   const struct weft_shape *shape)
{
    const struct weft_algorithm *at;

    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        if (at->kind == kind && (at->fits == NULL || at->fits(shape)) &&
            (at->suits == NULL || at->suits(shape))) {
            return at;
        }
    }
    abort(); /* the last of each kind always fits and suits */
}
