/*
 * buffered.c - chapter 3.6: buffered mode, and the buffers of communicators, sessions and
 * the process.
 */
#include "bytes.h"
#include "check.h"

#include <pthread.h>
#include <stdint.h>

enum {
    LONG = 300000, /* never goes out before it is received */
    ROOM = LONG + MPI_BSEND_OVERHEAD,
    TAG = 5,
    THREADS = 4,
};

static int rank;
static int size;
static int to;
static int from;
static char buffer[8 * ROOM + 3];
static char out[LONG];
static char in[LONG];

static void send_to(MPI_Comm comm, int dest, int n, uint32_t seed)
{
    fill_bytes(out, (size_t)n, seed);
    CHECK(MPI_Bsend(out, n, MPI_BYTE, dest, TAG, comm) == MPI_SUCCESS);
    memset(out, 0, (size_t)n);
}

static void receive(MPI_Comm comm, int source, int n, uint32_t seed)
{
    MPI_Status status;
    int count = -1;

    CHECK(MPI_Recv(in, LONG, MPI_BYTE, source, TAG, comm, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS && count == n);
    CHECK(are_bytes(in, (size_t)n, seed));
}

static void detach(void *expected, int bytes)
{
    void *address = &address;
    int n = -1;

    CHECK(MPI_Buffer_detach(&address, &n) == MPI_SUCCESS);
    CHECK(address == expected && (n == bytes || expected == MPI_BUFFER_AUTOMATIC));
}

/* Sizes of all ways to go, in order, to the next rank, which may be oneself. */
static void messages(void)
{
    static const int sizes[] = {0, 1, 8, 64, 1000, 4096, 4097, 70000, 12, LONG, 3};
    const int n = sizeof(sizes) / sizeof(sizes[0]);

    CHECK(MPI_Buffer_attach(buffer + 1, 8 * ROOM) == MPI_SUCCESS);
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < n; i++) {
            send_to(MPI_COMM_WORLD, to, sizes[i], (uint32_t)(rank * 100 + i));
        }
        for (int i = 0; i < n; i++) {
            receive(MPI_COMM_WORLD, from, sizes[i], (uint32_t)(from * 100 + i));
        }
    }
    detach(buffer + 1, 8 * ROOM);
}

/* More small messages than any queue holds, while the receiver does not look. */
static void many(void)
{
    enum { MANY = 20000 };
    const int bytes = MANY * ((int)sizeof(int) + MPI_BSEND_OVERHEAD);
    char *room = malloc((size_t)bytes);
    int got;

    CHECK(room != NULL && MPI_Buffer_attach(room, bytes) == MPI_SUCCESS);
    for (int i = 0; i < MANY; i++) {
        const int value = rank * MANY + i;

        CHECK(MPI_Bsend(&value, 1, MPI_INT, to, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    for (int i = 0; i < MANY; i++) {
        CHECK(MPI_Recv(&got, 1, MPI_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(got == from * MANY + i);
    }
    detach(room, bytes);
    free(room);
}

/* Room is found again in any order; without any, nothing is sent. */
static void room(void)
{
    char token = 0;

    CHECK(MPI_Buffer_attach(buffer, 3 * ROOM) == MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        fill_bytes(out, LONG, (uint32_t)(rank * 10 + i));
        CHECK(MPI_Bsend(out, LONG, MPI_BYTE, to, i, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    IS_ERROR(MPI_Bsend(out, LONG, MPI_BYTE, to, 9, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK(MPI_Bsend(&token, 1, MPI_BYTE, to, 8, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Recv(&token, 1, MPI_BYTE, from, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    for (int k = 0; k < 10; k++) { /* the one in the middle goes first, again and again */
        CHECK(MPI_Recv(in, LONG, MPI_BYTE, from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(are_bytes(in, LONG, (uint32_t)(from * 10 + 1 + k)));
        CHECK(MPI_Send(&token, 1, MPI_BYTE, from, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Recv(&token, 1, MPI_BYTE, to, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        fill_bytes(out, LONG, (uint32_t)(rank * 10 + 2 + k));
        CHECK(MPI_Bsend(out, LONG, MPI_BYTE, to, 1, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    for (int i = 0; i < 3; i++) {
        CHECK(MPI_Recv(in, LONG, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(are_bytes(in, LONG, (uint32_t)(from * 10 + (i == 1 ? 11 : i))));
    }
    detach(buffer, 3 * ROOM);
}

/* Round and round, in pieces of all sizes, with room for few. */
static void stream(void)
{
    enum { COUNT = 300, SLOTS = 4 };
    uint32_t state = 12345;
    int sizes[COUNT];
    char token = 0;

    for (int i = 0; i < COUNT; i++) {
        state = state * 1664525u + 1013904223u;
        sizes[i] = (int)(state >> 8) % (i % 10 == 0 ? LONG : 20000);
    }
    CHECK(MPI_Buffer_attach(buffer + 2, 8 * ROOM) == MPI_SUCCESS);
    for (int i = 0; i < COUNT + SLOTS; i++) {
        if (i < COUNT) {
            send_to(MPI_COMM_WORLD, to, sizes[i], (uint32_t)(rank + i));
        }
        if (i >= SLOTS) {
            receive(MPI_COMM_WORLD, from, sizes[i - SLOTS], (uint32_t)(from + i - SLOTS));
            CHECK(MPI_Sendrecv(&token, 1, MPI_BYTE, from, 7, &token, 1, MPI_BYTE, to, 7,
                               MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    }
    detach(buffer + 2, 8 * ROOM);
}

/* Data with holes lie in the buffer without them. */
static void typed(void)
{
    enum { BLOCKS = 20000 };
    static int spread[2 * BLOCKS];
    static int dense[BLOCKS];
    MPI_Datatype type;

    CHECK(MPI_Type_vector(1, 1, 2, MPI_INT, &type) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
    CHECK(MPI_Buffer_attach(buffer, BLOCKS * 4 + MPI_BSEND_OVERHEAD) == MPI_SUCCESS);
    for (int blocks = 10; blocks <= BLOCKS; blocks *= 2000) {
        CHECK(MPI_Type_vector(blocks, 1, 2, MPI_INT, &type) == MPI_SUCCESS);
        CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
        for (int i = 0; i < 2 * blocks; i++) {
            spread[i] = rank * 1000 + i;
        }
        CHECK(MPI_Bsend(spread, 1, type, to, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
        memset(spread, 0, sizeof(spread));
        CHECK(MPI_Recv(dense, blocks, MPI_INT, from, TAG, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
        for (int i = 0; i < blocks; i++) {
            CHECK(dense[i] == from * 1000 + 2 * i);
        }
        CHECK(MPI_Buffer_flush() == MPI_SUCCESS);
    }
    detach(buffer, BLOCKS * 4 + MPI_BSEND_OVERHEAD);
}

static void wait_for(MPI_Request *request)
{
    MPI_Status status;

    CHECK(MPI_Wait(request, &status) == MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
}

static void nonblocking(void)
{
    MPI_Request request;
    int flag = 0;

    CHECK(MPI_Buffer_attach_c(buffer, 2 * ROOM) == MPI_SUCCESS);
    fill_bytes(out, LONG, (uint32_t)rank);
    CHECK(MPI_Ibsend(out, LONG, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag);
    CHECK(MPI_Ibsend_c(out, 5, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    wait_for(&request);
    CHECK(MPI_Bsend_c(out, LONG, MPI_BYTE, to, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
    receive(MPI_COMM_WORLD, from, LONG, (uint32_t)from);
    receive(MPI_COMM_WORLD, from, 5, (uint32_t)from);
    receive(MPI_COMM_WORLD, from, LONG, (uint32_t)from);
    detach(buffer, 2 * ROOM);
    CHECK(MPI_Ibsend(out, LONG, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    wait_for(&request);
    CHECK(MPI_Bsend(out, LONG, MPI_BYTE, MPI_PROC_NULL, TAG, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
}

/* Whose buffer: what the functions of the three kinds have in common. */
struct kind {
    MPI_Comm comm;
    MPI_Session session;
};

static int attach_any(const struct kind *kind, void *address, int bytes, int is_large)
{
    if (kind->comm != MPI_COMM_NULL) {
        return is_large ? MPI_Comm_attach_buffer_c(kind->comm, address, bytes)
                        : MPI_Comm_attach_buffer(kind->comm, address, bytes);
    }
    if (kind->session != MPI_SESSION_NULL) {
        return is_large ? MPI_Session_attach_buffer_c(kind->session, address, bytes)
                        : MPI_Session_attach_buffer(kind->session, address, bytes);
    }
    return is_large ? MPI_Buffer_attach_c(address, bytes)
                    : MPI_Buffer_attach(address, bytes);
}

static int detach_any(const struct kind *kind, void *address, MPI_Count *bytes,
                      int is_large)
{
    int n = -1;
    int err;

    if (kind->comm != MPI_COMM_NULL) {
        err = is_large ? MPI_Comm_detach_buffer_c(kind->comm, address, bytes)
                       : MPI_Comm_detach_buffer(kind->comm, address, &n);
    } else if (kind->session != MPI_SESSION_NULL) {
        err = is_large ? MPI_Session_detach_buffer_c(kind->session, address, bytes)
                       : MPI_Session_detach_buffer(kind->session, address, &n);
    } else {
        err = is_large ? MPI_Buffer_detach_c(address, bytes)
                       : MPI_Buffer_detach(address, &n);
    }
    if (!is_large) {
        *bytes = n;
    }
    return err;
}

static int flush_any(const struct kind *kind)
{
    if (kind->comm != MPI_COMM_NULL) {
        return MPI_Comm_flush_buffer(kind->comm);
    }
    return kind->session != MPI_SESSION_NULL ? MPI_Session_flush_buffer(kind->session)
                                             : MPI_Buffer_flush();
}

static int iflush_any(const struct kind *kind, MPI_Request *request)
{
    if (kind->comm != MPI_COMM_NULL) {
        return MPI_Comm_iflush_buffer(kind->comm, request);
    }
    return kind->session != MPI_SESSION_NULL
               ? MPI_Session_iflush_buffer(kind->session, request)
               : MPI_Buffer_iflush(request);
}

/* Messages to oneself stay where they are until they are received. */
static void flushes(const struct kind *kind, MPI_Comm comm)
{
    MPI_Request first;
    MPI_Request both;
    int flag = 1;
    int me;

    CHECK(MPI_Comm_rank(comm, &me) == MPI_SUCCESS);
    CHECK(flush_any(kind) == MPI_SUCCESS);
    CHECK(iflush_any(kind, &first) == MPI_SUCCESS);
    wait_for(&first);
    send_to(comm, me, LONG, 1);
    CHECK(iflush_any(kind, &first) == MPI_SUCCESS);
    send_to(comm, me, LONG, 2);
    CHECK(iflush_any(kind, &both) == MPI_SUCCESS);
    CHECK(MPI_Test(&first, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    receive(comm, me, LONG, 1);
    wait_for(&first);
    CHECK(MPI_Test(&both, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    receive(comm, me, LONG, 2);
    wait_for(&both);
    CHECK(flush_any(kind) == MPI_SUCCESS);
    send_to(comm, me, LONG, 3);
    CHECK(iflush_any(kind, &first) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&first) == MPI_SUCCESS);
    receive(comm, me, LONG, 3);
}

/* All that can be done with a buffer of one kind; `comm` is one that uses it. */
static void one_kind(const struct kind *kind, MPI_Comm comm)
{
    void *address = NULL;
    MPI_Count bytes = -1;
    int me;
    int n;

    CHECK(MPI_Comm_rank(comm, &me) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(comm, &n) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    IS_ERROR(attach_any(kind, buffer, -1, 0), MPI_ERR_ARG);
    IS_ERROR(attach_any(kind, NULL, 5, 1), MPI_ERR_BUFFER);
    IS_ERROR(detach_any(kind, NULL, &bytes, 0), MPI_ERR_ARG);
    IS_ERROR(detach_any(kind, &address, NULL, 1), MPI_ERR_ARG);
    IS_ERROR(iflush_any(kind, NULL), MPI_ERR_ARG);
    for (int is_large = 0; is_large < 2; is_large++) {
        address = buffer;
        CHECK(detach_any(kind, &address, &bytes, is_large) == MPI_SUCCESS);
        CHECK(address == NULL && bytes == 0);
        CHECK(attach_any(kind, NULL, 0, is_large) == MPI_SUCCESS);
        IS_ERROR(MPI_Bsend(out, LONG, MPI_BYTE, me, TAG, comm), MPI_ERR_BUFFER);
        CHECK(detach_any(kind, &address, &bytes, is_large) == MPI_SUCCESS);
        CHECK(attach_any(kind, buffer, 2 * ROOM, is_large) == MPI_SUCCESS);
        IS_ERROR(attach_any(kind, buffer, 2 * ROOM, is_large), MPI_ERR_BUFFER);
        flushes(kind, comm);
        send_to(comm, (me + 1) % n, LONG, (uint32_t)me);
        receive(comm, (me + n - 1) % n, LONG, (uint32_t)((me + n - 1) % n));
        CHECK(detach_any(kind, &address, &bytes, is_large) == MPI_SUCCESS);
        CHECK(address == buffer && bytes == 2 * ROOM);
        CHECK(attach_any(kind, MPI_BUFFER_AUTOMATIC, -7, is_large) == MPI_SUCCESS);
        flushes(kind, comm);
        for (int i = 0; i < 20; i++) {
            send_to(comm, (me + 1) % n, LONG, (uint32_t)(me + i));
        }
        for (int i = 0; i < 20; i++) {
            receive(comm, (me + n - 1) % n, LONG, (uint32_t)((me + n - 1) % n + i));
        }
        CHECK(detach_any(kind, &address, &bytes, is_large) == MPI_SUCCESS);
        CHECK(address == MPI_BUFFER_AUTOMATIC);
    }
}

/* The communicator's buffer comes before the session's, and that before the process's. */
static void precedence(MPI_Session session, MPI_Comm comm)
{
    const struct kind of_comm = {comm, MPI_SESSION_NULL};
    const struct kind of_session = {MPI_COMM_NULL, session};
    const struct kind kinds[] = {{MPI_COMM_NULL, MPI_SESSION_NULL}, of_session, of_comm};
    const int first = session == MPI_SESSION_NULL ? 1 : 0;
    MPI_Count bytes;
    void *address;
    int me;

    CHECK(MPI_Comm_rank(comm, &me) == MPI_SUCCESS);
    for (int i = 0; i < 3; i++) {
        if (first == 1 && i == 1) {
            continue;
        }
        /* A small one hides the large one before it; what there is not, does not. */
        CHECK(attach_any(&kinds[i], buffer + i * 2 * ROOM, 2 * ROOM, 0) == MPI_SUCCESS);
        memset(buffer, 0, sizeof(buffer));
        send_to(comm, me, LONG, 4);
        CHECK(memchr(buffer + i * 2 * ROOM + MPI_BSEND_OVERHEAD, byte_at(4, 100), LONG));
        receive(comm, me, LONG, 4);
        CHECK(detach_any(&kinds[i], &address, &bytes, 0) == MPI_SUCCESS);
        CHECK(attach_any(&kinds[i], buffer, 100, 0) == MPI_SUCCESS);
        IS_ERROR(MPI_Bsend(out, LONG, MPI_BYTE, me, TAG, comm), MPI_ERR_BUFFER);
    }
    for (int i = 0; i < 3; i++) {
        if (first == 0 || i != 1) {
            CHECK(detach_any(&kinds[i], &address, &bytes, 0) == MPI_SUCCESS);
            CHECK(address == buffer && bytes == 100);
        }
    }
}

/* Communicators made of one of a session's use the session's buffer, others do not. */
static void sessions(void)
{
    const struct kind kinds[] = {{MPI_COMM_NULL, MPI_SESSION_NULL}};
    struct kind kind = kinds[0];
    MPI_Session other;
    MPI_Group group;
    MPI_Group part;
    MPI_Comm comm;
    MPI_Comm half;
    MPI_Comm copy;
    MPI_Count bytes;
    void *address;
    const int zero = 0;
    int me;

    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &kind.session) ==
          MPI_SUCCESS);
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &other) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(kind.session, "mpi://WORLD", &group) ==
          MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, "weft.test", MPI_INFO_NULL, MPI_ERRORS_RETURN,
                                     &comm) == MPI_SUCCESS);
    one_kind(&kind, comm);
    precedence(kind.session, comm);

    CHECK(MPI_Comm_split(comm, rank % 2, 0, &half) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(half, &copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(half, &me) == MPI_SUCCESS);
    CHECK(attach_any(&kind, buffer, ROOM, 0) == MPI_SUCCESS);
    CHECK(MPI_Session_attach_buffer(other, buffer + ROOM, ROOM) == MPI_SUCCESS);
    send_to(half, me, LONG, 5);
    IS_ERROR(MPI_Bsend(out, LONG, MPI_BYTE, me, TAG, copy), MPI_ERR_BUFFER);
    receive(half, me, LONG, 5);
    send_to(copy, me, LONG, 6);
    receive(copy, me, LONG, 6);
    IS_ERROR(MPI_Bsend(out, LONG, MPI_BYTE, rank, TAG, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);

    CHECK(MPI_Group_incl(group, 1, &zero, &part) == MPI_SUCCESS);
    if (rank == 0) {
        CHECK(MPI_Comm_create_from_group(part, "weft.part", MPI_INFO_NULL,
                                         MPI_ERRORS_RETURN, &half) == MPI_SUCCESS);
        send_to(half, 0, LONG, 7);
        receive(half, 0, LONG, 7);
        CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
    }
    CHECK(detach_any(&kind, &address, &bytes, 0) == MPI_SUCCESS && address == buffer);
    CHECK(MPI_Group_free(&part) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Session_finalize(&other) == MPI_SUCCESS); /* its buffer goes with it */
    CHECK(MPI_Session_finalize(&kind.session) == MPI_SUCCESS);
    IS_ERROR(MPI_Session_attach_buffer(MPI_SESSION_NULL, buffer, 1), MPI_ERR_SESSION);
    IS_ERROR(MPI_Session_iflush_buffer(MPI_SESSION_NULL, NULL), MPI_ERR_SESSION);
}

static void communicators(void)
{
    struct kind kind = {MPI_COMM_NULL, MPI_SESSION_NULL};
    MPI_Request request;
    MPI_Comm copy;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &kind.comm) == MPI_SUCCESS);
    one_kind(&kind, kind.comm);
    precedence(MPI_SESSION_NULL, kind.comm);
    CHECK(attach_any(&kind, MPI_BUFFER_AUTOMATIC, 0, 0) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(kind.comm, &copy) == MPI_SUCCESS); /* without the buffer */
    IS_ERROR(MPI_Bsend(out, LONG, MPI_BYTE, to, TAG, copy), MPI_ERR_BUFFER);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&kind.comm) == MPI_SUCCESS);
    IS_ERROR(MPI_Comm_attach_buffer(MPI_COMM_NULL, buffer, 1), MPI_ERR_COMM);

    /* Freeing it waits for what is in its buffer. */
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &kind.comm) == MPI_SUCCESS);
    CHECK(MPI_Irecv(in, LONG, MPI_BYTE, from, TAG, kind.comm, &request) == MPI_SUCCESS);
    CHECK(attach_any(&kind, buffer, ROOM, 0) == MPI_SUCCESS);
    send_to(kind.comm, to, LONG, (uint32_t)rank);
    CHECK(MPI_Comm_free(&kind.comm) == MPI_SUCCESS);
    memset(buffer, 0, ROOM);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(are_bytes(in, LONG, (uint32_t)from));
}

/* Groups of even and of odd ranks, one of which may be larger by one. */
static void between_groups(void)
{
    MPI_Comm half;
    MPI_Comm inter;
    int me;
    int others;

    if (size < 2) {
        return;
    }
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 3, &inter) ==
          MPI_SUCCESS);
    CHECK(MPI_Comm_rank(inter, &me) == MPI_SUCCESS);
    CHECK(MPI_Comm_remote_size(inter, &others) == MPI_SUCCESS);
    CHECK(MPI_Comm_attach_buffer(inter, MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS);
    for (int i = 0; i < others; i++) {
        send_to(inter, i, LONG, (uint32_t)(rank * 100 + i));
    }
    for (int i = 0; i < others; i++) {
        receive(inter, i, LONG, (uint32_t)((2 * i + 1 - rank % 2) * 100 + me));
    }
    CHECK(MPI_Comm_free(&inter) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
}

/* A buffer may be larger than an int can tell; nobody looks into it before it is used. */
static void large(void)
{
    const MPI_Count bytes = (MPI_Count)1 << 40;
    void *address = NULL;
    int n = 0;

    CHECK(MPI_Buffer_attach_c(buffer, bytes) == MPI_SUCCESS);
    CHECK(MPI_Buffer_detach(&address, &n) == MPI_SUCCESS);
    CHECK(address == buffer && n == MPI_UNDEFINED);
}

/*
 * Threads: all use one buffer. None waits for what is in it, because that is for others,
 * who may wait too; and it is large enough for how far one rank can be ahead of the next.
 */
static void *talk(void *argument)
{
    enum { ROUNDS = 100, MOST = 60000 };
    const int tag = 10 + *(const int *)argument;
    char *mine = malloc(MOST);
    char *theirs = malloc(MOST);

    CHECK(mine != NULL && theirs != NULL);
    for (int i = 0; i < ROUNDS; i++) {
        const int n = i % 7 == 0 ? MOST : i * 100;

        fill_bytes(mine, (size_t)n, (uint32_t)(rank + tag + i));
        CHECK(MPI_Bsend(mine, n, MPI_BYTE, to, tag, MPI_COMM_WORLD) == MPI_SUCCESS);
        if (tag == 10) {
            MPI_Request request;

            CHECK(MPI_Buffer_iflush(&request) == MPI_SUCCESS);
            CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
        }
        CHECK(MPI_Recv(theirs, MOST, MPI_BYTE, from, tag, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(are_bytes(theirs, (size_t)n, (uint32_t)(from + tag + i)));
    }
    free(mine);
    free(theirs);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[THREADS];
    int number[THREADS];

    CHECK(MPI_Buffer_attach(buffer, 8 * ROOM) == MPI_SUCCESS);
    for (int i = 0; i < THREADS; i++) {
        number[i] = i;
        CHECK(pthread_create(&thread[i], NULL, talk, &number[i]) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(thread[i], NULL) == 0);
    }
    detach(buffer, 8 * ROOM);
}

int main(int argc, char **argv)
{
    const struct kind process = {MPI_COMM_NULL, MPI_SESSION_NULL};
    int provided;

    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    IS_ERROR(MPI_Bsend(out, LONG, MPI_BYTE, to, TAG, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    messages();
    many();
    room();
    stream();
    typed();
    nonblocking();
    one_kind(&process, MPI_COMM_WORLD);
    communicators();
    sessions();
    between_groups();
    large();
    threads();
    /* What is attached at the end goes with MPI_Finalize. */
    CHECK(MPI_Buffer_attach(buffer, ROOM) == MPI_SUCCESS);
    CHECK(MPI_Comm_attach_buffer(MPI_COMM_SELF, buffer + ROOM, ROOM) == MPI_SUCCESS);
    send_to(MPI_COMM_WORLD, to, LONG, (uint32_t)rank);
    receive(MPI_COMM_WORLD, from, LONG, (uint32_t)from);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    if (rank == 0) {
        printf("no errors\n");
    }
    return 0;
}
