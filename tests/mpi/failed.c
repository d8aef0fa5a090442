/*
 * failed.c - chapters 3, 6 and 9: rank 1 ends without MPI_Finalize while the others wait
 * for it, each in its way. Nobody hangs, and each gets MPI_ERR_PROC_ABORTED.
 *
 *     mpiexec --keep-going -n N failed CASE [kill | exit | fatal]
 *
 * `kill`: by a signal; `exit`: with code 7. `fatal`: by a signal, and the error handler
 * of the others is MPI_ERRORS_ARE_FATAL. failed.py holds mpiexec to what it prints and
 * returns.
 */
#include "victim.h"

/* ---- receives ---- */

static void recv_named(void)
{
    MPI_Status status;
    int word;

    if (is_victim()) {
        die_after(50);
    }
    check_error(MPI_Recv(&word, 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == VICTIM);
    /* And once more, now that it is known. */
    check_error(MPI_Recv(&word, 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD, &status));
}

static void recv_any(void)
{
    MPI_Status status;
    int word;

    if (is_victim()) {
        die_after(50);
    }
    check_error(
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status));
    CHECK(status.MPI_SOURCE == VICTIM);
    check_error(
        MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status));
}

static void probe(void)
{
    MPI_Message message;
    MPI_Status status;
    int flag;

    if (is_victim()) {
        die_after(50);
    }
    check_error(rank % 2 == 0
                    ? MPI_Probe(VICTIM, TAG, MPI_COMM_WORLD, &status)
                    : MPI_Mprobe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &message, &status));
    check_error(MPI_Probe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &status));
    check_error(MPI_Iprobe(VICTIM, TAG, MPI_COMM_WORLD, &flag, &status));
}

/* Nobody will say how the message is cut: each start fails, before the death and after.
 */
static void recv_partitioned(void)
{
    MPI_Request request;
    int words[2];

    if (is_victim()) {
        die_after(50);
    }
    CHECK(MPI_Precv_init(words, 2, 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                         &request) == MPI_SUCCESS);
    for (int i = 0; i < 2; i++) {
        CHECK(MPI_Start(&request) == MPI_SUCCESS);
        check_error(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
}

/* A transport without connections may keep packets in the memory of a sender, for which
 * MPI_Send does not wait: then one that has been received shows that those before it have
 * come. */
static bool keeps_packets(void)
{
    const char *chosen = getenv("WEFT_TRANSPORT");

    return chosen != NULL &&
           (strstr(chosen, "rdm") != NULL || strstr(chosen, "tagged") != NULL);
}

/* What had been sent before can still be received, in order. */
static void recv_sent(void)
{
    int word;

    if (is_victim()) {
        for (int to = 0; to < size; to++) {
            for (word = 0; word < 100 && to != VICTIM; word++) {
                CHECK(MPI_Send(&word, 1, MPI_INT, to, TAG, MPI_COMM_WORLD) ==
                      MPI_SUCCESS);
            }
            if (keeps_packets() && to != VICTIM) {
                CHECK(MPI_Ssend(&word, 1, MPI_INT, to, TAG + 1, MPI_COMM_WORLD) ==
                      MPI_SUCCESS);
            }
        }
        die();
    }
    if (keeps_packets()) {
        CHECK(MPI_Recv(&word, 1, MPI_INT, VICTIM, TAG + 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    wait_for_death();
    for (int i = 0; i < 100; i++) {
        CHECK(MPI_Recv(&word, 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS &&
              word == i);
    }
    check_error(
        MPI_Recv(&word, 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Some of each kind, and one that is to succeed. */
static void waitall(void)
{
    enum { COUNT = 6 };
    const int next = rank == 0 ? (size > 2 ? 2 : 0) : rank + 1 < size ? rank + 1 : 0;
    const int before = rank == 0 ? size - 1 : rank == 2 ? 0 : rank - 1;
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    int word[COUNT] = {0};
    int mine = rank;

    if (is_victim()) {
        die_after(50);
    }
    MPI_Irecv(&word[0], 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(&word[1], 1, MPI_INT, size > 2 ? before : 0, TAG + 1, MPI_COMM_WORLD,
              &requests[1]);
    MPI_Irecv(memory, LONG / 2, MPI_BYTE, VICTIM, TAG, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(memory + LONG / 2, LONG / 2, MPI_BYTE, VICTIM, TAG, MPI_COMM_WORLD,
              &requests[3]);
    MPI_Issend(&mine, 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD, &requests[4]);
    MPI_Isend(&mine, 1, MPI_INT, next, TAG + 1, MPI_COMM_WORLD, &requests[5]);
    CHECK(MPI_Waitall(COUNT, requests, statuses) == MPI_ERR_IN_STATUS);
    for (int i = 0; i < COUNT; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
        if (i == 1 || i == 5) {
            CHECK(statuses[i].MPI_ERROR == MPI_SUCCESS);
        } else {
            check_error(statuses[i].MPI_ERROR);
        }
    }
    CHECK(word[1] == (size > 2 ? before : 0));
}

static void test_polls(void)
{
    if (is_victim()) {
        die_after(50);
    }
    test_until_gone(VICTIM, TAG, 0);
}

/* ---- sends ---- */

static void ssend(void)
{
    int word = 0;

    if (is_victim()) {
        die_after(50);
    }
    check_error(MPI_Ssend(&word, 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD));
    check_error(MPI_Ssend(&word, 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD));
    check_error(MPI_Send(&word, 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD));
}

/* Small ones, until its queue is full. */
static void send_many(void)
{
    if (is_victim()) {
        die_after(50);
    }
    send_until_gone(VICTIM, TAG);
}

static void send_long(void)
{
    if (is_victim()) {
        die_after(50);
    }
    check_error(MPI_Send(memory, LONG, MPI_BYTE, VICTIM, TAG, MPI_COMM_WORLD));
}

/* Data that are not contiguous: every second byte. */
static void send_typed(void)
{
    MPI_Datatype type;

    if (is_victim()) {
        die_after(50);
    }
    CHECK(MPI_Type_vector(LONG / 2, 1, 2, MPI_BYTE, &type) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
    check_error(MPI_Send(memory, 1, type, VICTIM, TAG, MPI_COMM_WORLD));
    check_error(
        MPI_Recv(memory, 1, type, VICTIM, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
}

static void sendrecv(void)
{
    int word = 0;
    int other;

    if (is_victim()) {
        die_after(50);
    }
    check_error(MPI_Sendrecv(&word, 1, MPI_INT, VICTIM, TAG, &other, 1, MPI_INT, VICTIM,
                             TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* ---- long messages that are half copied ---- */

/* All exchange long messages with the victim, again and again, until it is gone. */
static void transfers(void)
{
    MPI_Status statuses[2];
    pthread_t killer;
    int err = MPI_SUCCESS;

    if (is_victim()) {
        CHECK(pthread_create(&killer, NULL, kill_soon, NULL) == 0);
    }
    while (err == MPI_SUCCESS) {
        const int first = is_victim() ? 0 : VICTIM;
        const int last = is_victim() ? size - 1 : VICTIM;

        for (int peer = first; peer <= last; peer++) {
            if (peer == rank) {
                continue;
            }
            err = exchange_long(peer, statuses);
        }
    }
    check_exchange(err, statuses);
}

static void *kill_any_time(void *argument)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    nanosleep(&(struct timespec){.tv_nsec = now.tv_nsec % 5000000}, NULL);
    die();
    return argument;
}

/* One message each way, of every size and mode in turn; only the victim may fail. */
static void meet(int peer, int round)
{
    static const int sizes[] = {8, 3000, 8192, 100 * 1000};
    const int bytes = sizes[round / 2 % 4];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int err;

    MPI_Irecv(memory, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[0]);
    if (round % 2 == 0) {
        MPI_Isend(memory + LONG / 2, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                  &requests[1]);
    } else {
        MPI_Issend(memory + LONG / 2, bytes, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
                   &requests[1]);
    }
    err = MPI_Waitall(2, requests, statuses);
    CHECK(err == MPI_SUCCESS || (err == MPI_ERR_IN_STATUS && peer == VICTIM));
}

/* It dies at any time, and the others go on with each other as if nothing were. */
static void rounds(void)
{
    enum { ROUNDS = 64 };
    pthread_t killer;

    if (is_victim()) {
        CHECK(pthread_create(&killer, NULL, kill_any_time, NULL) == 0);
    }
    for (int round = 0; round < ROUNDS || is_victim(); round++) {
        for (int step = 0; step < size; step++) { /* all meet in pairs */
            const int peer = (2 * size + step - rank) % size;

            if (peer != rank) {
                meet(peer, round);
            }
        }
    }
    wait_for_death();
}

/* Announced, and its sender dies before it was asked for. */
static void announced(void)
{
    MPI_Request requests[32];
    int count = 0;

    if (is_victim()) {
        for (int to = 0; to < size && count < 32; to++) {
            if (to != rank) {
                MPI_Isend(memory, LONG, MPI_BYTE, to, TAG, MPI_COMM_WORLD,
                          &requests[count++]);
            }
        }
        die_after(20);
    }
    wait_for_death();
    check_error(
        MPI_Recv(memory, LONG, MPI_BYTE, VICTIM, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* ---- communicators ---- */

/* Makes a communicator of all members, in one way or another; on an error there is none
 * to free. */
static int make_one(int way)
{
    MPI_Request request;
    MPI_Comm made = MPI_COMM_NULL;
    int dims = size;
    int periods = 0;
    int err;

    switch (way % 4) {
    case 0:
        err = MPI_Comm_dup(MPI_COMM_WORLD, &made);
        break;
    case 1:
        err = MPI_Comm_idup(MPI_COMM_WORLD, &made, &request);
        if (err == MPI_SUCCESS) {
            err = MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        break;
    case 2:
        err = MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made);
        break;
    default:
        err = MPI_Cart_create(MPI_COMM_WORLD, 1, &dims, &periods, 0, &made);
    }
    if (err == MPI_SUCCESS) {
        CHECK(MPI_Comm_free(&made) == MPI_SUCCESS);
    }
    return err;
}

/* Also those that wait for one that waits for the dead, and has given up. */
static void collectives(void)
{
    int word = rank;
    int sum;

    if (is_victim()) {
        die_after(50);
    }
    check_error(MPI_Bcast(&word, 1, MPI_INT, VICTIM, MPI_COMM_WORLD));
    check_error(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    check_error(
        MPI_Alltoall(memory, 1, MPI_INT, memory + LONG / 2, 1, MPI_INT, MPI_COMM_WORLD));
    for (int way = 0; way < 4; way++) {
        check_error(make_one(way));
    }
}

/* Only the root waits for the dead: a member that only sends hears of it, too. */
static void senders(void)
{
    static int all[64];

    if (is_victim()) {
        die_after(50);
    }
    CHECK(size <= (int)(sizeof(all) / sizeof(*all)));
    wait_for_death();
    check_error(MPI_Gather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD));
}

/* A nonblocking collective tells a member that only sends of the death, too. */
static void starters(void)
{
    static int all[64];
    MPI_Request request = MPI_REQUEST_NULL;
    int err;

    if (is_victim()) {
        die_after(50);
    }
    CHECK(size <= (int)(sizeof(all) / sizeof(*all)));
    wait_for_death();
    err = MPI_Igather(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    if (err == MPI_SUCCESS) {
        err = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    check_error(err);
}

/* So does a persistent one that was made before. */
static void restarters(void)
{
    static int all[64];
    MPI_Request request;
    int err;

    CHECK(size <= (int)(sizeof(all) / sizeof(*all)));
    CHECK(MPI_Gather_init(&rank, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD,
                          MPI_INFO_NULL, &request) == MPI_SUCCESS);
    if (is_victim()) {
        die_after(50);
    }
    wait_for_death();
    for (int i = 0; i < 2; i++) {
        err = MPI_Start(&request);
        check_error(err != MPI_SUCCESS ? err : MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
}

/* The first of the pair is the left operand. */
static void take_left(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    memcpy(inout, in, (size_t)*length * sizeof(int));
}

/* Begun before it dies, and waited for in another order; one of them calls a function of
 * the user, and one is persistent and is started again afterwards. */
static void nonblocking(void)
{
    enum { FEW = 5 };
    const int count = LONG / 4 / size;
    int *in = (int *)(void *)memory;
    int *out = (int *)(void *)(memory + LONG / 2);
    MPI_Request requests[FEW];
    MPI_Op op;
    int word = rank;
    int err;

    CHECK(MPI_Op_create(take_left, 0, &op) == MPI_SUCCESS);
    for (int i = 1; is_victim() && i < size; i++) { /* all others have begun */
        CHECK(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    if (is_victim()) {
        die();
    }
    CHECK(MPI_Allreduce_init(in, out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                             &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Start(&requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Ibcast(&word, 1, MPI_INT, VICTIM, MPI_COMM_WORLD, &requests[1]) ==
          MPI_SUCCESS);
    CHECK(MPI_Ialltoall(memory, count, MPI_BYTE, memory + LONG / 4, count, MPI_BYTE,
                        MPI_COMM_WORLD, &requests[2]) == MPI_SUCCESS);
    CHECK(MPI_Iallreduce(in + 1, out + 1, LONG / 16, MPI_INT, op, MPI_COMM_WORLD,
                         &requests[3]) == MPI_SUCCESS);
    CHECK(MPI_Ibarrier(MPI_COMM_WORLD, &requests[4]) == MPI_SUCCESS);
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS);
    CHECK(MPI_Send(&rank, 1, MPI_INT, VICTIM, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = FEW - 1; i >= 0; i--) {
        check_error(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
        CHECK((requests[i] == MPI_REQUEST_NULL) == (i > 0));
    }
    err = MPI_Start(&requests[0]);
    check_error(err != MPI_SUCCESS ? err : MPI_Wait(&requests[0], MPI_STATUS_IGNORE));
    CHECK(MPI_Request_free(&requests[0]) == MPI_SUCCESS);
    check_error(MPI_Ibarrier(MPI_COMM_WORLD, &requests[1]));
}

/*
 * Messages that their sender waits for, to one that has given up: it was to hear from the
 * dead first. Every other rank comes late, and learns of the death when it waits already.
 */
static void revoked(void)
{
    const int count = LONG / 2 / size;
    char *in = memory + LONG / 2;
    int err;

    if (is_victim()) {
        die();
    }
    sleep_ms(rank % 2 == 0 ? 0 : 200);
    err = MPI_Gather(memory, count, MPI_BYTE, in, count, MPI_BYTE, 0, MPI_COMM_WORLD);
    may_fail(err);
    CHECK(rank != 0 || err != MPI_SUCCESS);
    may_fail(MPI_Bcast(memory, LONG, MPI_BYTE, size - 1, MPI_COMM_WORLD));
    may_fail(MPI_Reduce(memory, in, LONG / 2, MPI_BYTE, MPI_BOR, 0, MPI_COMM_WORLD));
    may_fail(MPI_Alltoall(memory, count, MPI_BYTE, in, count, MPI_BYTE, MPI_COMM_WORLD));
    wait_for_death();
    check_error(MPI_Barrier(MPI_COMM_WORLD));
    check_error(MPI_Allreduce(memory, in, LONG / 2, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD));
}

/* It dies while others read and write its memory, and it theirs. The others may use their
 * buffers as soon as they know. */
static void large(void)
{
    const int count = LONG / 2 / size;
    char *in = memory + LONG / 2;
    pthread_t killer;
    int err = MPI_SUCCESS;

    if (is_victim()) {
        CHECK(pthread_create(&killer, NULL, kill_soon, NULL) == 0);
    }
    while (err == MPI_SUCCESS) {
        err = MPI_Alltoall(memory, count, MPI_BYTE, in, count, MPI_BYTE, MPI_COMM_WORLD);
        if (err == MPI_SUCCESS) {
            err = MPI_Allreduce(memory, in, LONG / 2, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
        }
    }
    check_error(err);
    memset(memory, rank, LONG);
    check_error(MPI_Bcast(memory, LONG, MPI_BYTE, 0, MPI_COMM_WORLD));
    for (int i = 0; i < LONG; i++) {
        CHECK(memory[i] == (char)rank);
    }
}

static void barrier(void)
{
    if (is_victim()) {
        die_after(50);
    }
    check_error(MPI_Barrier(MPI_COMM_WORLD));
    check_error(MPI_Barrier(MPI_COMM_WORLD));
}

/* It dies in the barrier, when it has come and others have not. */
static void barrier_inside(void)
{
    pthread_t killer;
    int err;

    if (is_victim()) {
        CHECK(pthread_create(&killer, NULL, kill_soon, NULL) == 0);
    } else if (rank == 0) {
        sleep_ms(100);
    }
    err = MPI_Barrier(MPI_COMM_WORLD);
    if (err != MPI_SUCCESS) {
        check_error(err);
    }
    if (is_victim()) {
        sleep_ms(1000);
    }
    check_error(MPI_Barrier(MPI_COMM_WORLD));
}

/* It dies at any moment of making communicators, while some are before others. All others
 * get the error, and get it once more. */
static void making(void)
{
    pthread_t killer;
    int err = MPI_SUCCESS;

    if (is_victim()) {
        CHECK(pthread_create(&killer, NULL, kill_any_time, NULL) == 0);
    }
    for (int i = 0; err == MPI_SUCCESS; i++) {
        err = make_one(i);
    }
    check_error(err);
    for (int way = 0; way < 4; way++) {
        check_error(make_one(way));
    }
}

/* Those that are left make a communicator of their own, and it works. */
static void go_on(void)
{
    MPI_Comm dup;
    MPI_Comm rest;
    MPI_Group world;
    MPI_Group group;
    const int left_out = VICTIM;
    int sum;
    int word = 0;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &dup) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    if (is_victim()) {
        die();
    }
    check_error(MPI_Recv(&word, 1, MPI_INT, VICTIM, TAG, dup, MPI_STATUS_IGNORE));
    CHECK(MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS);
    CHECK(MPI_Group_excl(world, 1, &left_out, &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, group, TAG, &rest) == MPI_SUCCESS);
    for (int i = 0; i < 100; i++) {
        CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, rest) == MPI_SUCCESS);
        CHECK(sum == size * (size - 1) / 2 - VICTIM);
    }
    if (rank == 0) {
        for (int i = 1; i < size - 1; i++) {
            CHECK(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, TAG, rest,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    } else {
        CHECK(MPI_Send(&rank, 1, MPI_INT, 0, TAG, rest) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_free(&rest) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&dup) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS && MPI_Group_free(&world) == MPI_SUCCESS);
}

/* Nothing waits for it but the end. */
static void finalize(void)
{
    if (is_victim()) {
        die_after(50);
    }
}

static const struct gone_case cases[] = {
    {"recv", recv_named},
    {"any", recv_any},
    {"probe", probe},
    {"sent", recv_sent},
    {"waitall", waitall},
    {"test", test_polls},
    {"ssend", ssend},
    {"many", send_many},
    {"long", send_long},
    {"typed", send_typed},
    {"sendrecv", sendrecv},
    {"transfers", transfers},
    {"rounds", rounds},
    {"announced", announced},
    {"collectives", collectives},
    {"senders", senders},
    {"starters", starters},
    {"restarters", restarters},
    {"revoked", revoked},
    {"large", large},
    {"barrier", barrier},
    {"inside", barrier_inside},
    {"making", making},
    {"go-on", go_on},
    {"finalize", finalize},
    {"partitioned", recv_partitioned},
    {"nonblocking", nonblocking},
};

int main(int argc, char **argv)
{
    return run_case(argc, argv, cases, sizeof(cases) / sizeof(*cases));
}
