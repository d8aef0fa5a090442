/*
 * disagree.c - members of a communicator that make different collective calls: one at
 * least gets an error that names two ranks, none waits for ever, and other communicators
 * stay as they are. Members that are early or late, or give equal data by other types,
 * get no error.
 *
 * With the argument "random", SEED and COUNT: random pairs of calls, of which only the
 * end is checked. With "first": a pair of calls in which two ranks wait for each other
 * and nothing was sent between them. With "small": the pairs with little data, and how
 * long the slowest took. With "finalize": the first of two ranks has a call more than the
 * last one, which ends the job.
 */
#include "coll.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { LIMIT_S = 400, FEW = 16, SMALL = 1000, MOST = 300000, SLOW_US = 900000 };

enum kind {
    BARRIER,
    BCAST,
    GATHER,
    SCATTER,
    ALLGATHER,
    ALLTOALL,
    REDUCE,
    ALLREDUCE,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    ALLGATHERV,
    KINDS,
};

struct wanted {
    enum kind kind;
    int count; /* of ints; per member, where each has a block */
    int root;  /* LAST: the last rank */
    bool is_max;
};

enum { LAST = -1 };

/* The call of all others, the call of the last rank, and a class that is among the
 * errors. */
static const struct {
    struct wanted all;
    struct wanted last;
    int class;
} cases[] = {
    {{ALLREDUCE, 2, 0, false}, {ALLREDUCE, 1, 0, false}, MPI_ERR_TRUNCATE},
    {{ALLREDUCE, 1000, 0, false}, {ALLREDUCE, 1, 0, false}, MPI_ERR_TRUNCATE},
    {{ALLREDUCE, 100000, 0, false}, {ALLREDUCE, 10, 0, false}, MPI_ERR_TRUNCATE},
    {{ALLREDUCE, 10, 0, false}, {ALLREDUCE, 100000, 0, false}, MPI_ERR_TRUNCATE},
    {{ALLREDUCE, 100000, 0, false}, {ALLREDUCE, 99999, 0, false}, MPI_ERR_TRUNCATE},
    {{REDUCE, 2, 0, false}, {REDUCE, 1, 0, false}, MPI_ERR_TRUNCATE},
    {{REDUCE, 100000, 0, false}, {REDUCE, 10, 0, false}, MPI_ERR_TRUNCATE},
    {{ALLGATHER, 2, 0, false}, {ALLGATHER, 1, 0, false}, MPI_ERR_TRUNCATE},
    {{ALLGATHER, 1, 0, false}, {ALLGATHER, 2, 0, false}, MPI_ERR_TRUNCATE},
    {{ALLGATHER, 50000, 0, false}, {ALLGATHER, 2, 0, false}, MPI_ERR_TRUNCATE},
    {{ALLTOALL, 100, 0, false}, {ALLTOALL, 99, 0, false}, MPI_ERR_TRUNCATE},
    {{ALLTOALL, 50000, 0, false}, {ALLTOALL, 2, 0, false}, MPI_ERR_TRUNCATE},
    {{GATHER, 2, 0, false}, {GATHER, 1, 0, false}, MPI_ERR_TRUNCATE},
    {{GATHER, 1, 0, false}, {GATHER, 2, 0, false}, MPI_ERR_TRUNCATE},
    {{GATHER, 50000, 0, false}, {GATHER, 2, 0, false}, MPI_ERR_TRUNCATE},
    {{SCATTER, 1, 0, false}, {SCATTER, 2, 0, false}, MPI_ERR_TRUNCATE},
    {{SCATTER, 1000, 0, false}, {SCATTER, 1, 0, false}, MPI_ERR_TRUNCATE},
    {{SCATTER, 50000, 0, false}, {SCATTER, 2, 0, false}, MPI_ERR_TRUNCATE},
    {{BCAST, 2, 0, false}, {BCAST, 1, 0, false}, MPI_ERR_TRUNCATE},
    {{BCAST, 1, 0, false}, {BCAST, 2, 0, false}, MPI_ERR_TRUNCATE},
    {{BCAST, 100000, 0, false}, {BCAST, 2, 0, false}, MPI_ERR_TRUNCATE},
    {{BCAST, 2, 0, false}, {BCAST, 100000, 0, false}, MPI_ERR_TRUNCATE},
    {{SCAN, 1000, 0, false}, {SCAN, 1, 0, false}, MPI_ERR_TRUNCATE},
    {{SCAN, 50000, 0, false}, {SCAN, 1, 0, false}, MPI_ERR_TRUNCATE},
    {{EXSCAN, 2, 0, false}, {EXSCAN, 1, 0, false}, MPI_ERR_TRUNCATE},
    {{REDUCE_SCATTER_BLOCK, 2, 0, false},
     {REDUCE_SCATTER_BLOCK, 1, 0, false},
     MPI_ERR_TRUNCATE},
    {{REDUCE_SCATTER_BLOCK, 50000, 0, false},
     {REDUCE_SCATTER_BLOCK, 1, 0, false},
     MPI_ERR_TRUNCATE},
    {{ALLREDUCE, 2, 0, false}, {BARRIER, 0, 0, false}, MPI_ERR_OTHER},
    {{BARRIER, 0, 0, false}, {ALLREDUCE, 2, 0, false}, MPI_ERR_OTHER},
    {{ALLREDUCE, 100000, 0, false}, {BARRIER, 0, 0, false}, MPI_ERR_OTHER},
    {{BARRIER, 0, 0, false}, {ALLGATHERV, 2, 0, false}, MPI_ERR_OTHER},
    {{ALLGATHERV, 50000, 0, false}, {ALLREDUCE, 2, 0, false}, MPI_ERR_OTHER},
    {{ALLGATHER, 2, 0, false}, {ALLTOALL, 2, 0, false}, MPI_ERR_OTHER},
    {{ALLREDUCE, 100000, 0, false}, {ALLGATHER, 100000, 0, false}, MPI_ERR_OTHER},
    {{REDUCE, 2, 0, false}, {BARRIER, 0, 0, false}, MPI_ERR_OTHER},
    {{BARRIER, 0, 0, false}, {BCAST, 2, 0, false}, MPI_ERR_OTHER},
    {{GATHER, 2, 0, false}, {GATHER, 2, LAST, false}, MPI_ERR_ROOT},
    {{REDUCE, 100000, 0, false}, {REDUCE, 100000, LAST, false}, MPI_ERR_ROOT},
    {{ALLREDUCE, 2, 0, false}, {ALLREDUCE, 2, 0, true}, MPI_ERR_OP},
    {{ALLREDUCE, 100000, 0, false}, {ALLREDUCE, 100000, 0, true}, MPI_ERR_OP},
};

static int *given;
static int *taken;
static bool is_spread; /* over several hosts */
static int blocks[64];
static int places[64];

static int perform(const struct wanted *w, MPI_Comm comm)
{
    const int root = w->root == LAST ? size - 1 : w->root;
    const MPI_Op op = w->is_max ? MPI_MAX : MPI_SUM;
    const int n = w->count;

    switch (w->kind) {
    case BARRIER:
        return MPI_Barrier(comm);
    case BCAST:
        return MPI_Bcast(taken, n, MPI_INT, root, comm);
    case GATHER:
        return MPI_Gather(given, n, MPI_INT, taken, n, MPI_INT, root, comm);
    case SCATTER:
        return MPI_Scatter(given, n, MPI_INT, taken, n, MPI_INT, root, comm);
    case ALLGATHER:
        return MPI_Allgather(given, n, MPI_INT, taken, n, MPI_INT, comm);
    case ALLTOALL:
        return MPI_Alltoall(given, n, MPI_INT, taken, n, MPI_INT, comm);
    case REDUCE:
        return MPI_Reduce(given, taken, n, MPI_INT, op, root, comm);
    case ALLREDUCE:
        return MPI_Allreduce(given, taken, n, MPI_INT, op, comm);
    case REDUCE_SCATTER_BLOCK:
        return MPI_Reduce_scatter_block(given, taken, n, MPI_INT, op, comm);
    case SCAN:
        return MPI_Scan(given, taken, n, MPI_INT, op, comm);
    case EXSCAN:
        return MPI_Exscan(given, taken, n, MPI_INT, op, comm);
    default:
        for (int i = 0; i < size; i++) {
            blocks[i] = n;
            places[i] = i * n;
        }
        return MPI_Allgatherv(given, n, MPI_INT, taken, blocks, places, MPI_INT, comm);
    }
}

/* Messages of two calls may have the same sizes, and messages of other sizes come before
 * what a member answers that is asked. Large data are messages where ranks cannot reach
 * each other's memory. */
static bool is_by_messages(const struct wanted *w)
{
    const char *transport = getenv("WEFT_TRANSPORT");

    return w->count > SMALL || is_spread ||
           (transport != NULL && strstr(transport, "shm") == NULL);
}

static bool find_hosts(void)
{
    MPI_Comm node;
    int near;

    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                              &node) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(node, &near) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&node) == MPI_SUCCESS);
    return near < size;
}

static MPI_Comm make_comm(bool is_used)
{
    MPI_Comm comm;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    if (is_used) {
        const struct wanted first = {ALLREDUCE, 5, 0, false};

        CHECK(perform(&first, comm) == MPI_SUCCESS);
    }
    return comm;
}

/* Every call on the communicator ends, and so do those on another one. */
static void check_rest(MPI_Comm comm)
{
    int sum = 0;

    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
}

static void check_case(int i, bool is_used)
{
    MPI_Comm comm = make_comm(is_used);
    const struct wanted *mine = rank == size - 1 ? &cases[i].last : &cases[i].all;
    int has_class = 0;
    int error;
    int any;
    int class;

    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS); /* all have left the first call */
    error = perform(mine, comm);
    CHECK(MPI_Error_class(error, &class) == MPI_SUCCESS);
    if (error != MPI_SUCCESS) {
        char text[MPI_MAX_ERROR_STRING];
        int length;
        char *first;

        CHECK(MPI_Error_string(error, text, &length) == MPI_SUCCESS);
        first = strstr(text, "rank ");
        CHECK(first != NULL);
        has_class = class == cases[i].class ||
                    (class == MPI_ERR_TRUNCATE && is_by_messages(&cases[i].all));
        if (getenv("WEFT_TEST_SHOW") != NULL) {
            printf("case %d%s, rank %d: %s\n", i, is_used ? " again" : "", rank, text);
        }
    }
    CHECK(MPI_Allreduce(&has_class, &any, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    if (!any) {
        fprintf(stderr, "case %d: rank %d has the class %d\n", i, rank, class);
    }
    CHECK(any || (cases[i].class != MPI_ERR_TRUNCATE && is_by_messages(&cases[i].all)));
    check_rest(comm);
}

/* One vector of ten ints, and ten ints; a member that comes late, and one that leaves
 * early and makes calls elsewhere. */
static void check_legal(void)
{
    const struct wanted late = {ALLREDUCE, 100000, 0, false};
    MPI_Comm comm = make_comm(true);
    MPI_Comm other = make_comm(true);
    MPI_Datatype row;

    CHECK(MPI_Type_contiguous(10, MPI_INT, &row) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&row) == MPI_SUCCESS);
    CHECK((rank % 2 == 0 ? MPI_Bcast(taken, 1, row, 0, comm)
                         : MPI_Bcast(taken, 10, MPI_INT, 0, comm)) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&row) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        if (rank == i) {
            usleep(SLOW_US);
        }
        CHECK(perform(&late, comm) == MPI_SUCCESS);
        if (rank == 1 - i) {
            usleep(SLOW_US);
        }
        CHECK(MPI_Barrier(other) == MPI_SUCCESS);
    }
    for (int i = 0; i < 20; i++) { /* the root runs ahead */
        if (rank == 1 && i == 3) {
            usleep(SLOW_US);
        }
        CHECK(MPI_Bcast(taken, i, MPI_INT, 0, comm) == MPI_SUCCESS);
    }
    check_rest(comm);
    check_rest(other);
}

/* Each rank is the source of the next one. */
static MPI_Comm make_line(void)
{
    const int sources[] = {rank - 1};
    const int targets[] = {rank + 1};
    const int weights[] = {1};
    MPI_Comm comm;

    CHECK(MPI_Dist_graph_create_adjacent(
              MPI_COMM_WORLD, rank > 0 ? 1 : 0, sources, weights, rank < size - 1 ? 1 : 0,
              targets, weights, MPI_INFO_NULL, 0, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    return comm;
}

/* The first rank of a line has no source, and gives no room for any. */
static void check_neighbours(void)
{
    const int in = rank > 0 ? 10 : 0;
    const int out = rank < size - 1 ? 10 : 0;
    MPI_Comm comm = make_line();

    for (int i = 0; i < 2; i++) {
        if (rank == i) {
            usleep(SLOW_US);
        }
        CHECK(MPI_Neighbor_allgather(given, 10, MPI_INT, taken, in, MPI_INT, comm) ==
              MPI_SUCCESS);
        CHECK(MPI_Neighbor_alltoall(given, out, MPI_INT, taken, in, MPI_INT, comm) ==
              MPI_SUCCESS);
    }
    check_rest(comm);
}

/* All ranks are sources of the first one, and give no room, because they have no source.
 * One comes late, and answers while the first rank waits for the others. */
static void check_star(void)
{
    const int in = rank == 0 ? size - 1 : 0;
    const int root[] = {0};
    int sources[LENGTH(blocks)];
    int weights[LENGTH(blocks)];
    MPI_Comm comm;

    for (int i = 0; i < size; i++) {
        sources[i] = i + 1;
        weights[i] = 1;
    }
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, in, sources, weights,
                                         rank == 0 ? 0 : 1, root, weights, MPI_INFO_NULL,
                                         0, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS); /* shared memory is there from now on */
    usleep(rank == 0 ? 0 : rank == 1 ? SLOW_US : 3 * SLOW_US);
    CHECK(MPI_Neighbor_allgather(given, 10, MPI_INT, taken, rank == 0 ? 10 : 0, MPI_INT,
                                 comm) == MPI_SUCCESS);
    check_rest(comm);
}

/* The first rank has left the communicator, with another call or none, before the others
 * ask it. */
static void check_freed(bool has_call)
{
    const struct wanted one = {BCAST, 1, 0, false};
    const struct wanted all = {BARRIER, 0, 0, false};
    MPI_Comm comm = make_comm(false);

    if (rank > 0) {
        CHECK(perform(&all, comm) != MPI_SUCCESS || has_call);
    } else if (has_call) {
        CHECK(perform(&one, comm) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* The same, and the first rank makes another communicator meanwhile. Or the last rank's
 * call, of other data, does not end, and all others do so. */
static void check_remade(bool is_first)
{
    const struct wanted all = {is_first ? BARRIER : ALLREDUCE, 20000, 0, false};
    const struct wanted last = {is_first ? BARRIER : ALLREDUCE, 10, 0, false};
    MPI_Comm comm = make_comm(false);
    MPI_Comm next;

    if (!is_first || rank > 0) {
        const int error = perform(rank == size - 1 ? &last : &all, comm);

        CHECK(error != MPI_SUCCESS || !is_first);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    next = make_comm(true);
    check_rest(next);
}

/* No rank waits for another in a pair of different calls, of which one alone is made in
 * shared memory. The next calls are equal, and end. */
static void check_unseen(void)
{
    const struct wanted small = {BARRIER, 0, 0, false};
    MPI_Comm comm = make_comm(true);
    int error;

    if (rank == size - 1) {
        CHECK(MPI_Gatherv(given, 1, MPI_INT, taken, blocks, places, MPI_INT, 0, comm) ==
              MPI_SUCCESS);
    } else {
        CHECK(MPI_Bcast(taken, 1, MPI_INT, 0, comm) == MPI_SUCCESS);
    }
    error = MPI_Barrier(comm);
    CHECK(error != MPI_SUCCESS || is_by_messages(&small));
    check_rest(comm);
}

/* The first rank comes late with another call than that of its neighbours, which give the
 * communicator up while it begins. */
static void check_late(void)
{
    MPI_Comm comm = make_line();

    if (rank == 0) {
        usleep(SLOW_US);
        (void)MPI_Neighbor_alltoall(given, 10, MPI_INT, taken, 0, MPI_INT, comm);
    } else {
        (void)MPI_Neighbor_allgather(given, 10, MPI_INT, taken, 10, MPI_INT, comm);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* The first rank gives the communicator up, because the last one makes another call,
 * before the second one comes, which wants to read or write the memory of the first. */
static void check_gone(enum kind kind)
{
    const struct wanted all = {kind, MOST / 10, 0, false};
    const struct wanted other = {BARRIER, 0, 0, false};
    MPI_Comm comm = make_comm(true);
    int error;

    CHECK(perform(&all, comm) == MPI_SUCCESS); /* single copy is agreed */
    if (rank == 1) {
        usleep(2 * SLOW_US);
    }
    error = perform(rank == size - 1 ? &other : &all, comm);
    if (rank < 2 || rank == size - 1) { /* others may have what they want */
        CHECK(error != MPI_SUCCESS || is_by_messages(&other));
    }
    check_rest(comm);
}

/* A rank has freed the communicator. All others have announced long messages to it, which
 * it will never receive. The first rank keeps something of the communicator until all
 * have freed it, and the last one nothing. */
static void check_announced(bool is_used, int gone)
{
    MPI_Comm comm = make_comm(is_used);

    for (int i = 0; i < size; i++) {
        blocks[i] = MOST / size;
        places[i] = i * blocks[i];
    }
    if (rank != gone) {
        CHECK(MPI_Alltoallv(given, blocks, places, MPI_INT, taken, blocks, places,
                            MPI_INT, comm) != MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* A nonblocking call, or a persistent one, is under way while blocking ones break the
 * communicator. The last rank begins it later. It ends on all ranks, with or without an
 * error. */
static void check_outstanding(bool is_persistent)
{
    const struct wanted all = {BARRIER, 0, 0, false};
    const struct wanted other = {ALLREDUCE, 3, 0, false};
    MPI_Comm comm = make_comm(true);
    MPI_Request request = MPI_REQUEST_NULL;

    if (is_persistent) {
        CHECK(MPI_Allreduce_init(given, taken, MOST, MPI_INT, MPI_SUM, comm,
                                 MPI_INFO_NULL, &request) == MPI_SUCCESS);
    }
    if (rank == size - 1) {
        usleep(SLOW_US);
    }
    if ((is_persistent ? MPI_Start(&request)
                       : MPI_Iallreduce(given, taken, MOST, MPI_INT, MPI_SUM, comm,
                                        &request)) != MPI_SUCCESS) {
        CHECK(rank == size - 1); /* it has heard of the end */
    }
    (void)perform(rank == 1 ? &other : &all, comm);
    (void)MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (is_persistent) {
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    }
    check_rest(comm);
}

/* All ranks draw the same pairs of calls; the last rank makes the second call of each. */
static void check_random(unsigned seed, int count)
{
    static const int counts_of[] = {0, 1, 2, 7, 100, 1000, 3000, 20000};

    for (int i = 0; i < count; i++) {
        struct wanted all;
        struct wanted last;
        MPI_Comm comm = make_comm(rand_r(&seed) % 2 == 0);
        struct wanted *both[] = {&all, &last};

        for (int k = 0; k < 2; k++) {
            both[k]->kind = (enum kind)(rand_r(&seed) % KINDS);
            both[k]->count = counts_of[(size_t)rand_r(&seed) % LENGTH(counts_of)];
            both[k]->root = rand_r(&seed) % size;
            both[k]->is_max = rand_r(&seed) % 2 == 0;
        }
        (void)perform(rank == size - 1 ? &last : &all, comm);
        check_rest(comm);
    }
}

/* Each of two ranks expects the other one to be the root. No message goes between them,
 * so on two hosts there is no connection. */
static void check_first(void)
{
    const struct wanted mine = {BCAST, 2, rank == 0 ? LAST : 0, false};
    int error;
    int class;

    CHECK(size == 2);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    error = perform(&mine, MPI_COMM_WORLD);
    CHECK(MPI_Error_class(error, &class) == MPI_SUCCESS);
    if (class != MPI_ERR_ROOT) {
        fprintf(stderr, "rank %d has the class %d\n", rank, class);
    }
    CHECK(class == MPI_ERR_ROOT);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    exit(0);
}

/* The last barrier of one rank gets the data of the other rank's call. */
static void check_finalize(void)
{
    CHECK(size == 2);
    if (rank == 0) {
        CHECK(MPI_Bcast(given, MOST, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    exit(0);
}

static void check_small(void)
{
    const struct wanted late = {ALLREDUCE, 2, 0, false};
    const size_t step = size > FEW ? 3 : 1;
    MPI_Comm comm = make_comm(true);
    double slowest = 0;

    for (size_t i = 0; i < LENGTH(cases); i += step) {
        if (cases[i].all.count <= SMALL && cases[i].last.count <= SMALL) {
            const double before = MPI_Wtime();

            check_case((int)i, i % 2 == 0);
            slowest = MPI_Wtime() - before > slowest ? MPI_Wtime() - before : slowest;
        }
    }
    for (int i = 0; i < 2; i++) { /* no error, however late one comes */
        usleep(rank == (i == 0 ? 1 : size - 1) ? 4 * SLOW_US : 0);
        CHECK(perform(&late, comm) == MPI_SUCCESS);
    }
    check_rest(comm);
    if (rank == 0) {
        printf("the slowest pair took %.2f s\n", slowest);
    }
}

static void check_all(void)
{
    for (size_t i = 0; size > 1 && i < LENGTH(cases); i++) {
        check_case((int)i, i % 2 == 0);
    }
    check_legal();
    check_neighbours();
    check_star();
    for (int i = 0; size > 1 && i < 2; i++) {
        check_freed(i == 0);
        check_remade(i == 0);
        check_late();
        check_unseen();
        check_announced(i == 0, 0);
        check_announced(i == 0, size - 1);
        check_outstanding(i == 0);
    }
    if (size > 2) {
        check_gone(BCAST);
        check_gone(ALLGATHER);
        check_gone(ALLTOALL);
    }
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";

    begin(&argc, &argv);
    alarm(LIMIT_S);
    given = calloc((size_t)MOST * (size_t)size, sizeof(*given));
    taken = calloc((size_t)MOST * (size_t)size, sizeof(*taken));
    CHECK(given != NULL && taken != NULL && size <= (int)LENGTH(blocks));
    if (strcmp(mode, "first") == 0) {
        check_first();
    } else if (strcmp(mode, "finalize") == 0) {
        check_finalize();
    }
    is_spread = find_hosts();
    if (strcmp(mode, "random") == 0 && argc > 3) {
        check_random((unsigned)atoi(argv[2]), atoi(argv[3]));
    } else if (strcmp(mode, "small") == 0) {
        check_small();
    } else {
        check_all();
    }
    free(given);
    free(taken);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
