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
        JOIN(MPI_I##name, SUFFIX)(__VA_ARGS__, &o->request);                             \
        break;                                                                           \
    default:                                                                             \
        JOIN(MPI_##Name##_init, SUFFIX)(__VA_ARGS__, MPI_INFO_NULL, &o->request);        \
    }                                                                                    \
    break

#define SEND_ONE out, counts[0][0], o->types[0]
#define RECV_ONE in, counts[1][0], o->types[1]
#define SEND_V   out, counts[0], displs[0], o->types[0]
#define RECV_V   in, counts[1], displs[1], o->types[1]

static void JOIN(start_data, SUFFIX)(struct operation *o, const void *out, void *in)
{
    COUNT_TYPE *const counts[2] = {COUNTS(o, 0), COUNTS(o, 1)};
    DISPL_TYPE *const displs[2] = {DISPLS(o, 0), DISPLS(o, 1)};
    MPI_Comm comm = comm_of(o);

    switch (o->kind) {
    case BCAST:
        CALL(Bcast, bcast, in, o->count, o->types[1], o->root, comm);
    case GATHER:
        CALL(Gather, gather, SEND_ONE, RECV_ONE, o->root, comm);
    case GATHERV:
        CALL(Gatherv, gatherv, SEND_ONE, RECV_V, o->root, comm);
    case SCATTER:
        CALL(Scatter, scatter, SEND_ONE, RECV_ONE, o->root, comm);
    case SCATTERV:
        CALL(Scatterv, scatterv, SEND_V, RECV_ONE, o->root, comm);
    case ALLGATHER:
        CALL(Allgather, allgather, SEND_ONE, RECV_ONE, comm);
    case ALLGATHERV:
        CALL(Allgatherv, allgatherv, SEND_ONE, RECV_V, comm);
    case ALLTOALL:
        CALL(Alltoall, alltoall, SEND_ONE, RECV_ONE, comm);
    case ALLTOALLV:
        CALL(Alltoallv, alltoallv, SEND_V, RECV_V, comm);
    case NEIGHBOR_ALLGATHER:
        CALL(Neighbor_allgather, neighbor_allgather, SEND_ONE, RECV_ONE, comm);
    case NEIGHBOR_ALLGATHERV:
        CALL(Neighbor_allgatherv, neighbor_allgatherv, SEND_ONE, RECV_V, comm);
    case NEIGHBOR_ALLTOALL:
        CALL(Neighbor_alltoall, neighbor_alltoall, SEND_ONE, RECV_ONE, comm);
    case NEIGHBOR_ALLTOALLV:
        CALL(Neighbor_alltoallv, neighbor_alltoallv, SEND_V, RECV_V, comm);
    case NEIGHBOR_ALLTOALLW:
        CALL(Neighbor_alltoallw, neighbor_alltoallw, out, counts[0], o->addresses[0],
             o->lists[0], in, counts[1], o->addresses[1], o->lists[1], comm);
    default:
        fail(__FILE__, __LINE__, "a kind");
    }
}

/* Displacements of MPI_Alltoallw are bytes. */
static void JOIN(start_w, SUFFIX)(struct operation *o, const void *out, void *in)
{
    COUNT_TYPE *const counts[2] = {COUNTS(o, 0), COUNTS(o, 1)};
    DISPL_TYPE *const displs[2] = {DISPLS(o, 0), DISPLS(o, 1)};

    switch (o->kind) {
    default:
        CALL(Alltoallw, alltoallw, out, counts[0], displs[0], o->lists[0], in, counts[1],
             displs[1], o->lists[1], comm_of(o));
    }
}

static void JOIN(start_reduction, SUFFIX)(struct operation *o, const void *out, void *in)
{
    COUNT_TYPE *const counts[2] = {COUNTS(o, 0), COUNTS(o, 1)};
    DISPL_TYPE *const displs[2] = {DISPLS(o, 0), DISPLS(o, 1)};
    MPI_Datatype type = o->is_affine ? pair : MPI_UINT32_T;
    MPI_Op op = o->is_affine ? compose : MPI_SUM;
    MPI_Comm comm = comm_of(o);

    (void)displs;

    switch (o->kind) {
    case REDUCE:
        CALL(Reduce, reduce, out, in, o->count, type, op, o->root, comm);
    case ALLREDUCE:
        CALL(Allreduce, allreduce, out, in, o->count, type, op, comm);
    case REDUCE_SCATTER:
        CALL(Reduce_scatter, reduce_scatter, out, in, counts[0], type, op, comm);
    case REDUCE_SCATTER_BLOCK:
        CALL(Reduce_scatter_block, reduce_scatter_block, out, in, o->count, type, op,
             comm);
    case SCAN:
        CALL(Scan, scan, out, in, o->count, type, op, comm);
    default:
        CALL(Exscan, exscan, out, in, o->count, type, op, comm);
    }
}

#undef CALL
#undef SEND_ONE
#undef RECV_ONE
#undef SEND_V
#undef RECV_V
#undef JOIN
#undef JOIN_
#undef SUFFIX
#undef COUNT_TYPE
#undef DISPL_TYPE
#undef COUNTS
#undef DISPLS
