/*
 * make.c - calls that make a communicator.
 */
#include "trial.h"

static void group_of_all(struct trial *t)
{
    DONE(MPI_Comm_group(t->comm, &t->group));
}

/* Rank 0, and the others. */
static void split_sides(struct trial *t)
{
    DONE(MPI_Comm_split(t->comm, t->rank == 0, t->rank, &t->around));
}

static int make_between(struct trial *t, MPI_Comm *between)
{
    return MPI_Intercomm_create(t->around, 0, t->comm, t->rank == 0 ? 1 : 0, 3, between);
}

static void connect_sides(struct trial *t)
{
    MPI_Comm sides;

    split_sides(t);
    sides = t->around;
    DONE(make_between(t, &t->around));
    DONE(MPI_Comm_set_errhandler(t->around, MPI_ERRORS_RETURN));
    DONE(MPI_Comm_free(&sides));
}

static int run_dup(struct trial *t)
{
    return MPI_Comm_dup(t->comm, &t->made);
}

static int run_dup_between(struct trial *t)
{
    return MPI_Comm_dup(t->around, &t->made);
}

static int run_idup(struct trial *t)
{
    MPI_Request request;
    const int err = MPI_Comm_idup(t->comm, &t->made, &request);

    return err == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : err;
}

static int run_split(struct trial *t)
{
    return MPI_Comm_split(t->comm, 0, t->size - t->rank, &t->made);
}

static int run_split_type(struct trial *t)
{
    return MPI_Comm_split_type(t->comm, MPI_COMM_TYPE_SHARED, t->rank, MPI_INFO_NULL,
                               &t->made);
}

static int run_create(struct trial *t)
{
    return MPI_Comm_create(t->comm, t->group, &t->made);
}

static int run_create_group(struct trial *t)
{
    return MPI_Comm_create_group(t->comm, t->group, 5, &t->made);
}

static int run_create_from_group(struct trial *t)
{
    return MPI_Comm_create_from_group(t->group, "starved", MPI_INFO_NULL,
                                      MPI_ERRORS_RETURN, &t->made);
}

static int run_intercomm_create(struct trial *t)
{
    return make_between(t, &t->made);
}

static int run_intercomm_merge(struct trial *t)
{
    return MPI_Intercomm_merge(t->around, t->rank == 0, &t->made);
}

static int run_cart_create(struct trial *t)
{
    return MPI_Cart_create(t->comm, 1, &t->size, &(int){1}, 1, &t->made);
}

static int run_graph_create(struct trial *t)
{
    int index[RANKS_MOST];
    int edges[RANKS_MOST];

    for (int i = 0; i < t->size; i++) {
        index[i] = i + 1;
        edges[i] = t->size - 1 - i;
    }
    return MPI_Graph_create(t->comm, t->size, index, edges, 0, &t->made);
}

/* Each rank knows the edge of its left neighbour. */
static int run_dist_graph_create(struct trial *t)
{
    const int left = (t->rank + t->size - 1) % t->size;
    const int weight = 1;

    return MPI_Dist_graph_create(t->comm, 1, &left, &(int){1}, &t->rank, &weight,
                                 MPI_INFO_NULL, 0, &t->made);
}

static int run_dist_graph_adjacent(struct trial *t)
{
    const int left = (t->rank + t->size - 1) % t->size;
    const int right = (t->rank + 1) % t->size;
    const int weight = 1;

    return MPI_Dist_graph_create_adjacent(t->comm, 1, &left, &weight, 1, &right, &weight,
                                          MPI_INFO_NULL, 0, &t->made);
}

static bool is_whole(struct trial *t)
{
    int sum = 0;

    return MPI_Allreduce(&(int){t->rank + 1}, &sum, 1, MPI_INT, MPI_SUM, t->made) ==
               MPI_SUCCESS &&
           sum == t->size * (t->size + 1) / 2;
}

/* All ranks but rank 0 are the other group of rank 0. */
static bool is_between(struct trial *t)
{
    int sum = 0;

    return MPI_Allreduce(&(int){t->rank + 1}, &sum, 1, MPI_INT, MPI_SUM, t->made) ==
               MPI_SUCCESS &&
           sum == (t->rank == 0 ? t->size * (t->size + 1) / 2 - 1 : 1);
}

const struct kind make_kinds[] = {
    {"comm_dup", true, NULL, run_dup, is_whole},
    {"comm_dup_between", true, connect_sides, run_dup_between, is_between},
    {"comm_idup", true, NULL, run_idup, is_whole},
    {"comm_split", true, NULL, run_split, is_whole},
    {"comm_split_type", true, NULL, run_split_type, is_whole},
    {"comm_create", true, group_of_all, run_create, is_whole},
    {"comm_create_group", true, group_of_all, run_create_group, is_whole},
    {"comm_create_from_group", true, group_of_all, run_create_from_group, is_whole},
    {"intercomm_create", true, split_sides, run_intercomm_create, is_between},
    {"intercomm_merge", true, connect_sides, run_intercomm_merge, is_whole},
    {"cart_create", true, NULL, run_cart_create, is_whole},
    {"graph_create", true, NULL, run_graph_create, is_whole},
    {"dist_graph_create", true, NULL, run_dist_graph_create, is_whole},
    {"dist_graph_create_adjacent", true, NULL, run_dist_graph_adjacent, is_whole},
    {0},
};
