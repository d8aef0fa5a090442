/*
 * lost.c - the connections between ranks 0 and 1 break while each of them waits for the
 * other. Nobody hangs, and nothing that did not happen is reported as a success.
 *
 *     WEFT_TRANSPORT=msg mpiexec -n N lost CASE [fatal | return] [by-others]
 *
 * `fatal`: the error handler is MPI_ERRORS_ARE_FATAL, and the job ends. `return`: calls
 * return MPI_ERR_PROC_ABORTED, and later ones do so too; MPI_Finalize ends the job where
 * it needs the connection, which is so on several hosts. Rank 1 breaks the connections
 * itself, as a reset by a firewall would, unless somebody else does it once rank 0 has
 * printed "ready" (`by-others`). lost.py holds mpiexec to what it prints and returns.
 */
#include "gone.h"

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>

enum { NEVER = TAG + 1, UNRECEIVED, DESCRIPTORS = 1024 };

static int other; /* of ranks 0 and 1 */
static bool is_fatal;
static MPI_Comm both; /* of ranks 0 and 1 */

/* All connections of this process over IP; mpiexec is not reached by those. */
static void *break_connections(void *argument)
{
    sleep_ms(100);
    for (int fd = 3; fd < DESCRIPTORS; fd++) {
        struct sockaddr_storage address;
        socklen_t bytes = sizeof(address);

        if (getpeername(fd, (struct sockaddr *)&address, &bytes) == 0 &&
            (address.ss_family == AF_INET || address.ss_family == AF_INET6)) {
            CHECK(shutdown(fd, SHUT_RDWR) == 0);
        }
    }
    return argument;
}

static void check_error(int err)
{
    CHECK(!is_fatal);
    check_text(err, "lost the connection from ");
}

static void wait_for_loss(void)
{
    recv_until_gone(other, NEVER);
}

static void recv_named(void)
{
    wait_for_loss();
}

static void recv_any(void)
{
    recv_until_gone(MPI_ANY_SOURCE, NEVER);
}

static void test_polls(void)
{
    test_until_gone(other, NEVER, 1);
}

static void send_many(void)
{
    send_until_gone(other, UNRECEIVED);
}

/* Sends that wait for their receives, and receives, all at once. */
static void waitall(void)
{
    enum { COUNT = 5 };
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    int word[2];

    MPI_Isend(memory, LONG, MPI_BYTE, other, UNRECEIVED, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(&rank, 1, MPI_INT, other, UNRECEIVED, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(memory, 40000, MPI_BYTE, other, UNRECEIVED, MPI_COMM_WORLD, &requests[2]);
    MPI_Irecv(&word[0], 1, MPI_INT, other, TAG, MPI_COMM_WORLD, &requests[3]);
    MPI_Irecv(&word[1], 1, MPI_INT, MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &requests[4]);
    CHECK(MPI_Waitall(COUNT, requests, statuses) == MPI_ERR_IN_STATUS);
    for (int i = 0; i < COUNT; i++) {
        if (i != 2 || statuses[i].MPI_ERROR != MPI_SUCCESS) { /* it fits at once */
            check_error(statuses[i].MPI_ERROR);
        }
    }
}

/* Long messages both ways, again and again, so that some are half transferred. */
static void transfers(void)
{
    MPI_Status statuses[2];
    int err = MPI_SUCCESS;

    while (err == MPI_SUCCESS) {
        err = exchange_long(other, statuses);
    }
    check_exchange(err, statuses);
}

/* Of these two alone, and made before anything breaks: a barrier of all ranks of a node
 * needs no connection. */
static void make_both(void)
{
    MPI_Group all;
    MPI_Group two;
    const int ranks[] = {0, 1};

    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 2, ranks, &two);
    CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, two, 0, &both) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(both, is_fatal ? MPI_ERRORS_ARE_FATAL : MPI_ERRORS_RETURN);
    MPI_Group_free(&two);
    MPI_Group_free(&all);
}

static void barrier(void)
{
    if (rank == 0) {
        check_error(MPI_Barrier(both));
        check_error(MPI_Barrier(both));
    } else {
        wait_for_loss();
    }
    MPI_Comm_free(&both);
}

static void finalize(void)
{
    if (rank != 0) {
        wait_for_loss();
    }
}

/* Nothing breaks: somebody else stops rank 1 for a while, and lets it go on. */
static void patience(void)
{
    for (int i = 0; i < 10; i++) {
        CHECK(MPI_Sendrecv(memory, LONG / 2, MPI_BYTE, other, TAG, memory + LONG / 2,
                           LONG / 2, MPI_BYTE, other, TAG, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        sleep_ms(50);
    }
    MPI_Finalize();
    puts("all came");
    exit(0);
}

static const struct gone_case cases[] = {
    {"recv", recv_named}, {"any", recv_any},      {"test", test_polls},
    {"many", send_many},  {"waitall", waitall},   {"transfers", transfers},
    {"barrier", barrier}, {"finalize", finalize}, {"patience", patience},
};

/* Two messages each way, so that there is a connection; then it is broken. */
static void connect_and_break(bool is_by_others)
{
    pthread_t breaker;

    for (int i = 0; i < 2; i++) {
        MPI_Sendrecv(memory, LONG / 2, MPI_BYTE, other, TAG, memory + LONG / 2, LONG / 2,
                     MPI_BYTE, other, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (is_by_others && rank == 0) {
        puts("ready");
        fflush(stdout);
    } else if (!is_by_others && rank == 1) {
        CHECK(pthread_create(&breaker, NULL, break_connections, NULL) == 0);
        CHECK(pthread_detach(breaker) == 0);
    }
}

/* Once it is known, nothing goes there any more. */
static void check_later_calls(void)
{
    int word = 0;

    wait_for_loss();
    check_error(MPI_Send(&word, 1, MPI_INT, other, TAG, MPI_COMM_WORLD));
    check_error(MPI_Ssend(&word, 1, MPI_INT, other, TAG, MPI_COMM_WORLD));
    check_error(MPI_Send(memory, LONG, MPI_BYTE, other, TAG, MPI_COMM_WORLD));
}

static void run(const struct gone_case *one, bool is_by_others)
{
    if (one->run == barrier) {
        make_both();
    }
    connect_and_break(is_by_others);
    one->run();
    if (one->run != finalize) {
        check_later_calls();
        printf("rank %d was told\n", rank);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    is_fatal = argc > 2 && strcmp(argv[2], "fatal") == 0;
    open_case(&argc, &argv, is_fatal);
    other = 1 - rank;
    if (rank < 2) {
        run(find_case(cases, sizeof(cases) / sizeof(*cases), argv[1]), argc > 3);
    }
    MPI_Finalize();
    free(memory);
    return 0;
}
