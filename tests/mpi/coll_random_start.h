/*
 * coll_random_start.h - the calls of coll_random.c, included once for each width of
 * counts: SUFFIX, COUNT_TYPE and DISPL_TYPE say which, COUNTS and DISPLS where the arrays
 * are.
 */
#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)

#define CALL(Name, name, ...)                                                            \
    switch (o->face) {                                                                   \
    case BLOCKING:                                                                       \
        JOIN(MPI_##Name, SUFFIX)(__VA_ARGS__);                                           \
        break;                                                                           \
    case NONBLOCKING:                                                                    \
        JOIN(MPI_I##name, SUFFIX)(__VA_ARGS__, &o->requests[0]);                         \
        break;                                                                           \
    default:                                                                             \
        JOIN(MPI_##Name##_init, SUFFIX)(__VA_ARGS__, MPI_INFO_NULL, &o->requests[0]);    \
    }                                                                                    \
    break

#define ONE(s) (s)->passed, (COUNT_TYPE)(s)->element_count, (s)->type
#define V(s)                                                                             \
    (s)->passed, (s)->is_used ? (s)->COUNTS : NULL, (s)->is_used ? (s)->DISPLS : NULL,   \
        (s)->type
#define W(s, places)                                                                     \
    (s)->passed, (s)->is_used ? (s)->COUNTS : NULL, (s)->is_used ? (s)->places : NULL,   \
        (s)->is_used ? (s)->types : NULL

static void JOIN(start_data, SUFFIX)(struct operation *o, int root)
{
    const struct side *out = &o->send;
    const struct side *in = &o->recv;
    MPI_Comm comm = o->place.comm;

    switch (o->kind) {
    case BCAST:
        CALL(Bcast, bcast, ONE(in), root, comm);
    case GATHER:
        CALL(Gather, gather, ONE(out), ONE(in), root, comm);
    case GATHERV:
        CALL(Gatherv, gatherv, ONE(out), V(in), root, comm);
    case SCATTER:
        CALL(Scatter, scatter, ONE(out), ONE(in), root, comm);
    case SCATTERV:
        CALL(Scatterv, scatterv, V(out), ONE(in), root, comm);
    case ALLGATHER:
        CALL(Allgather, allgather, ONE(out), ONE(in), comm);
    case ALLGATHERV:
        CALL(Allgatherv, allgatherv, ONE(out), V(in), comm);
    case ALLTOALL:
        CALL(Alltoall, alltoall, ONE(out), ONE(in), comm);
    case ALLTOALLV:
        CALL(Alltoallv, alltoallv, V(out), V(in), comm);
    case ALLTOALLW:
        CALL(Alltoallw, alltoallw, W(out, DISPLS), W(in, DISPLS), comm);
    case NEIGHBOR_ALLGATHER:
        CALL(Neighbor_allgather, neighbor_allgather, ONE(out), ONE(in), comm);
    case NEIGHBOR_ALLGATHERV:
        CALL(Neighbor_allgatherv, neighbor_allgatherv, ONE(out), V(in), comm);
    case NEIGHBOR_ALLTOALL:
        CALL(Neighbor_alltoall, neighbor_alltoall, ONE(out), ONE(in), comm);
    case NEIGHBOR_ALLTOALLV:
        CALL(Neighbor_alltoallv, neighbor_alltoallv, V(out), V(in), comm);
    default: /* its displacements are addresses, whatever its counts are */
        CALL(Neighbor_alltoallw, neighbor_alltoallw, W(out, large_displs),
             W(in, large_displs), comm);
    }
}

static void JOIN(start_reduction, SUFFIX)(struct operation *o, int root)
{
    const void *out = o->send.passed;
    void *in = o->recv.passed;
    const COUNT_TYPE count = o->count / width_of(o->arithmetic);
    const COUNT_TYPE mine = part(o, o->place.rank) / width_of(o->arithmetic);
    MPI_Datatype type = o->send.types[0];
    MPI_Comm comm = o->place.comm;

    switch (o->kind) {
    case REDUCE:
        CALL(Reduce, reduce, out, in, count, type, o->op, root, comm);
    case ALLREDUCE:
        CALL(Allreduce, allreduce, out, in, count, type, o->op, comm);
    case REDUCE_SCATTER:
        CALL(Reduce_scatter, reduce_scatter, out, in, o->parts.COUNTS, type, o->op, comm);
    case REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, reduce_scatter_block, out, in, mine, type, o->op,
             comm);
    case SCAN:
        CALL(Scan, scan, out, in, count, type, o->op, comm);
    default:
        CALL(Exscan, exscan, out, in, count, type, o->op, comm);
    }
}

static void JOIN(start_message, SUFFIX)(struct operation *o)
{
    const struct side *out = &o->send;
    const struct side *in = &o->recv;
    const int n = o->place.ranks[0];
    const int dest = (o->place.rank + o->away) % n;
    const int source =
        o->seed % 2 == 0 ? (o->place.rank + n - o->away % n) % n : MPI_ANY_SOURCE;
    MPI_Comm comm = o->place.comm;

    switch (o->face) {
    case BLOCKING:
        JOIN(MPI_Sendrecv, SUFFIX)
        (ONE(out), dest, o->tag, ONE(in), source, o->tag, comm, MPI_STATUS_IGNORE);
        break;
    case NONBLOCKING:
        JOIN(MPI_Irecv, SUFFIX)(ONE(in), source, o->tag, comm, &o->requests[0]);
        JOIN(MPI_Isend, SUFFIX)(ONE(out), dest, o->tag, comm, &o->requests[1]);
        break;
    default:
        JOIN(MPI_Recv_init, SUFFIX)(ONE(in), source, o->tag, comm, &o->requests[0]);
        JOIN(MPI_Ssend_init, SUFFIX)(ONE(out), dest, o->tag, comm, &o->requests[1]);
    }
}

#undef CALL
#undef ONE
#undef V
#undef W
#undef JOIN
#undef JOIN_
#undef SUFFIX
#undef COUNT_TYPE
#undef COUNTS
#undef DISPLS
