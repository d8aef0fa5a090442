/*
 * coll.c - collective communication: blocking, nonblocking and persistent.
 */
#include "trial.h"

/* Waits for the request, unless it was not started. */
static int wait_for(MPI_Request *request, int err)
{
    return err == MPI_SUCCESS ? MPI_Wait(request, MPI_STATUS_IGNORE) : err;
}

/* Starts a persistent request, and frees it. */
static int start_and_wait(MPI_Request *request, int err)
{
    if (err != MPI_SUCCESS) {
        return err;
    }
    err = wait_for(request, MPI_Start(request));
    MPI_Request_free(request);
    return err;
}

#define IN_FORM(BEGIN, I_BEGIN, ...)                                                     \
    {                                                                                    \
        MPI_Request request;                                                             \
                                                                                         \
        switch (t->form) {                                                               \
        case NONBLOCKING:                                                                \
            return wait_for(&request, MPI_##I_BEGIN(__VA_ARGS__, &request));             \
        case PERSISTENT:                                                                 \
            return start_and_wait(                                                       \
                &request, MPI_##BEGIN##_init(__VA_ARGS__, MPI_INFO_NULL, &request));     \
        default:                                                                         \
            return MPI_##BEGIN(__VA_ARGS__);                                             \
        }                                                                                \
    }

/* Counts, displacements and types of `size` blocks. */
static struct blocks {
    int counts[RANKS_MOST];
    int displs[RANKS_MOST];
    int bytes[RANKS_MOST];
    MPI_Aint byte_displs[RANKS_MOST];
    MPI_Datatype types[RANKS_MOST];
} all;

static void list_blocks(struct trial *t)
{
    for (int i = 0; i < t->size; i++) {
        all.counts[i] = t->ints;
        all.displs[i] = i * t->ints;
        all.bytes[i] = i * t->ints * (int)sizeof(int);
        all.byte_displs[i] = all.bytes[i];
        all.types[i] = MPI_INT;
    }
}

/* The root's own block, which others receive. */
static void fill_bcast(struct trial *t)
{
    for (int i = 0; i < t->ints; i++) {
        t->recv[i] = t->rank == ROOT ? value(ROOT, ROOT, i) : -1;
    }
}

static void make_ring(struct trial *t)
{
    list_blocks(t);
    DONE(MPI_Cart_create(t->comm, 1, &t->size, &(int){1}, 0, &t->around));
}

/* ---- the calls ---- */

#define N      t->ints, MPI_INT
#define BLOCKS all.counts, all.displs, MPI_INT

static int run_barrier(struct trial *t) IN_FORM(Barrier, Ibarrier, t->comm)

    static int run_bcast(struct trial *t) IN_FORM(Bcast, Ibcast, t->recv, N, ROOT,
                                                  t->comm)

        static int run_gather(struct trial *t) IN_FORM(Gather, Igather, t->send, N,
                                                       t->recv, N, ROOT, t->comm)

            static int run_gatherv(struct trial *t) IN_FORM(Gatherv, Igatherv, t->send, N,
                                                            t->recv, BLOCKS, ROOT,
                                                            t->comm)

                static int run_scatter(struct trial *t) IN_FORM(Scatter, Iscatter,
                                                                t->send, N, t->recv, N,
                                                                ROOT, t->comm)

                    static int run_scatterv(struct trial *t) IN_FORM(Scatterv, Iscatterv,
                                                                     t->send, BLOCKS,
                                                                     t->recv, N, ROOT,
                                                                     t->comm)

                        static int run_allgather(struct trial *t) IN_FORM(
                            Allgather, Iallgather, t->send, N, t->recv, N, t->comm)

                            static int run_allgatherv(struct trial *t) IN_FORM(
                                Allgatherv, Iallgatherv, t->send, N, t->recv, BLOCKS,
                                t->comm)

                                static int run_alltoall(struct trial *t) IN_FORM(
                                    Alltoall, Ialltoall, t->send, N, t->recv, N, t->comm)

                                    static int run_alltoallv(struct trial *t) IN_FORM(
                                        Alltoallv, Ialltoallv, t->send, BLOCKS, t->recv,
                                        BLOCKS, t->comm)

                                        static int run_alltoallw(struct trial *t) IN_FORM(
                                            Alltoallw, Ialltoallw, t->send, all.counts,
                                            all.bytes, all.types, t->recv, all.counts,
                                            all.bytes, all.types, t->comm)

                                            static int run_reduce(
                                                struct trial *t) IN_FORM(Reduce, Ireduce,
                                                                         t->send, t->recv,
                                                                         N, MPI_SUM, ROOT,
                                                                         t->comm)

                                                static int run_allreduce(
                                                    struct trial *
                                                        t) IN_FORM(Allreduce, Iallreduce,
                                                                   t
                                                                       ->send,
                                                                   t
                                                                       ->recv,
                                                                   N, MPI_SUM, t->comm)

                                                    static int run_reduce_scatter(
                                                        struct trial *
                                                            t) IN_FORM(Reduce_scatter,
                                                                       Ireduce_scatter,
                                                                       t
                                                                           ->send,
                                                                       t
                                                                           ->recv,
                                                                       all.counts,
                                                                       MPI_INT,
                                                                       MPI_SUM, t->comm)

                                                        static int run_reduce_scatter_block(
                                                            struct trial *
                                                                t) IN_FORM(Reduce_scatter_block,
                                                                           Ireduce_scatter_block,
                                                                           t
                                                                               ->send,
                                                                           t
                                                                               ->recv,
                                                                           N, MPI_SUM,
                                                                           t
                                                                               ->comm)

                                                            static int run_scan(
                                                                struct
                                                                trial *t) IN_FORM(Scan, Iscan,
                                                                                  t->send,
                                                                                  t->recv,
                                                                                  N,
                                                                                  MPI_SUM,
                                                                                  t->comm)

                                                                static int run_exscan(
                                                                    struct trial *
                                                                        t) IN_FORM(Exscan,
                                                                                   Iexscan,
                                                                                   t
                                                                                       ->send,
                                                                                   t
                                                                                       ->recv,
                                                                                   N, MPI_SUM,
                                                                                   t
                                                                                       ->comm)

                                                                    static int run_around_allgather(
                                                                        struct trial *
                                                                            t) IN_FORM(Neighbor_allgather,
                                                                                       Ineighbor_allgather,
                                                                                       t
                                                                                           ->send,
                                                                                       N, t->recv,
                                                                                       N, t->around)

                                                                        static int run_around_allgatherv(
                                                                            struct trial *
                                                                                t) IN_FORM(Neighbor_allgatherv,
                                                                                           Ineighbor_allgatherv,
                                                                                           t
                                                                                               ->send,
                                                                                           N, t->recv,
                                                                                           BLOCKS,
                                                                                           t
                                                                                               ->around)

                                                                            static int run_around_alltoall(struct trial *t) IN_FORM(
                                                                                Neighbor_alltoall,
                                                                                Ineighbor_alltoall,
                                                                                t->send,
                                                                                N,
                                                                                t->recv,
                                                                                N,
                                                                                t->around)

                                                                                static int run_around_alltoallv(struct trial *t) IN_FORM(
                                                                                    Neighbor_alltoallv,
                                                                                    Ineighbor_alltoallv,
                                                                                    t->send,
                                                                                    BLOCKS,
                                                                                    t->recv,
                                                                                    BLOCKS,
                                                                                    t->around)

                                                                                    static int run_around_alltoallw(
                                                                                        struct
                                                                                        trial
                                                                                            *t)
                                                                                        IN_FORM(
                                                                                            Neighbor_alltoallw,
                                                                                            Ineighbor_alltoallw,
                                                                                            t->send,
                                                                                            all.counts,
                                                                                            all.byte_displs,
                                                                                            all.types,
                                                                                            t->recv,
                                                                                            all.counts,
                                                                                            all.byte_displs,
                                                                                            all.types,
                                                                                            t->around)

    /* ---- what they bring ---- */

    /* Is block `at` what `from` has sent to `to`? */
    static bool is_block(const struct trial *t, int at, int from, int to)
{
    for (int i = 0; i < t->ints; i++) {
        if (t->recv[at * t->ints + i] != value(from, to, i)) {
            return false;
        }
    }
    return true;
}

static bool is_sum(const struct trial *t, int ranks, int to)
{
    for (int i = 0; i < t->ints; i++) {
        int sum = 0;

        for (int from = 0; from < ranks; from++) {
            sum += value(from, to, i);
        }
        if (t->recv[i] != sum) {
            return false;
        }
    }
    return true;
}

static bool has_bcast(struct trial *t)
{
    return is_block(t, 0, ROOT, ROOT);
}

static bool has_all(struct trial *t)
{
    for (int from = 0; from < t->size; from++) {
        if (!is_block(t, from, from, 0)) {
            return false;
        }
    }
    return true;
}

static bool has_gathered(struct trial *t)
{
    return t->rank != ROOT || has_all(t);
}

static bool has_scattered(struct trial *t)
{
    return is_block(t, 0, ROOT, t->rank);
}

static bool has_own_of_all(struct trial *t)
{
    for (int from = 0; from < t->size; from++) {
        if (!is_block(t, from, from, t->rank)) {
            return false;
        }
    }
    return true;
}

static bool has_root_sum(struct trial *t)
{
    return t->rank != ROOT || is_sum(t, t->size, 0);
}

static bool has_sum(struct trial *t)
{
    return is_sum(t, t->size, 0);
}

static bool has_own_sum(struct trial *t)
{
    return is_sum(t, t->size, t->rank);
}

static bool has_scan(struct trial *t)
{
    return is_sum(t, t->rank + 1, 0);
}

static bool has_exscan(struct trial *t)
{
    return t->rank == 0 || is_sum(t, t->rank, 0);
}

static int left_of(const struct trial *t)
{
    return (t->rank + t->size - 1) % t->size;
}

static int right_of(const struct trial *t)
{
    return (t->rank + 1) % t->size;
}

static bool has_around(struct trial *t)
{
    return is_block(t, 0, left_of(t), 0) && is_block(t, 1, right_of(t), 0);
}

static bool has_own_around(struct trial *t)
{
    return is_block(t, 0, left_of(t), 1) && is_block(t, 1, right_of(t), 0);
}

const struct kind coll_kinds[] = {
    {"barrier", false, NULL, run_barrier, NULL},
    {"bcast", false, fill_bcast, run_bcast, has_bcast},
    {"gather", false, NULL, run_gather, has_gathered},
    {"gatherv", false, list_blocks, run_gatherv, has_gathered},
    {"scatter", false, NULL, run_scatter, has_scattered},
    {"scatterv", false, list_blocks, run_scatterv, has_scattered},
    {"allgather", false, NULL, run_allgather, has_all},
    {"allgatherv", false, list_blocks, run_allgatherv, has_all},
    {"alltoall", false, NULL, run_alltoall, has_own_of_all},
    {"alltoallv", false, list_blocks, run_alltoallv, has_own_of_all},
    {"alltoallw", false, list_blocks, run_alltoallw, has_own_of_all},
    {"reduce", false, NULL, run_reduce, has_root_sum},
    {"allreduce", false, NULL, run_allreduce, has_sum},
    {"reduce_scatter", false, list_blocks, run_reduce_scatter, has_own_sum},
    {"reduce_scatter_block", false, NULL, run_reduce_scatter_block, has_own_sum},
    {"scan", false, NULL, run_scan, has_scan},
    {"exscan", false, NULL, run_exscan, has_exscan},
    {"neighbor_allgather", false, make_ring, run_around_allgather, has_around},
    {"neighbor_allgatherv", false, make_ring, run_around_allgatherv, has_around},
    {"neighbor_alltoall", false, make_ring, run_around_alltoall, has_own_around},
    {"neighbor_alltoallv", false, make_ring, run_around_alltoallv, has_own_around},
    {"neighbor_alltoallw", false, make_ring, run_around_alltoallw, has_own_around},
    {0},
};
