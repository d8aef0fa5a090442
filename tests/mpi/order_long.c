/*
 * order_long.c - chapter 3: long messages and small ones, matched in order, whatever was
 * posted first.
 *
 * Each rank sends a list of messages to the next one, which receives them by named and
 * open receives; both draw the list from the same number. A message takes the oldest
 * receive that fits, and a receive the oldest message: as there is one sender, the pairs
 * do not depend on who was first, and the receiver knows them. Long receives that nobody
 * sends to are posted among them and cancelled, and one to which a message may be on its
 * way.
 */
#include "bytes.h"
#include "check.h"
#include "draw.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 60, MESSAGES = 12, TAGS = 3, NEVER = 99, MOST = 400 * 1000 };

struct message {
    int tag;
    int bytes;
    int mode;
};

struct receive {
    int tag; /* or MPI_ANY_TAG */
    bool is_from_any;
    int message; /* that takes it */
};

struct round {
    struct message messages[MESSAGES];
    struct receive receives[MESSAGES];
};

static int rank;
static int size;

static int draw_bytes(uint32_t *state)
{
    static const int from[] = {0, 5000, 70 * 1000, 200 * 1000};
    const int which = draw(state, 4);

    return from[which] + draw(state, which == 0 ? 100 : from[which]);
}

static void draw_receives(struct round *round, uint32_t *state)
{
    for (int i = 0; i < MESSAGES; i++) {
        const int other = draw(state, i + 1);

        round->receives[i] = round->receives[other];
        round->receives[other] = (struct receive){
            .tag = draw(state, 4) == 0 ? MPI_ANY_TAG : round->messages[i].tag,
            .is_from_any = draw(state, 5) == 0,
            .message = -1,
        };
    }
}

/* Pairs messages and receives; false: some are left. */
static bool pair(struct round *round)
{
    for (int m = 0; m < MESSAGES; m++) {
        int r = 0;

        while (r < MESSAGES && (round->receives[r].message >= 0 ||
                                (round->receives[r].tag != MPI_ANY_TAG &&
                                 round->receives[r].tag != round->messages[m].tag))) {
            r++;
        }
        if (r == MESSAGES) {
            return false;
        }
        round->receives[r].message = m;
    }
    return true;
}

static void draw_round(struct round *round, int number, int from)
{
    uint32_t state = (uint32_t)(number * 1000 + from + 1);

    do {
        for (int i = 0; i < MESSAGES; i++) {
            round->messages[i] = (struct message){
                .tag = 1 + draw(&state, TAGS),
                .bytes = draw_bytes(&state),
                .mode = draw(&state, 4),
            };
        }
        draw_receives(round, &state);
    } while (!pair(round));
}

static uint32_t seed_of(int number, int from, int message)
{
    return (uint32_t)((number * 64 + from) * 64 + message);
}

/* Some time, so that now the sender is first and now the receiver. */
static void dawdle(uint32_t *state)
{
    const int turns = draw(state, 3) * draw(state, 20000);

    for (volatile int i = 0; i < turns; i++) {
    }
}

static void send_one(const struct message *message, void *data, MPI_Request *request)
{
    const int to = (rank + 1) % size;

    *request = MPI_REQUEST_NULL;
    if (message->mode == 0) {
        CHECK(MPI_Issend(data, message->bytes, MPI_BYTE, to, message->tag, MPI_COMM_WORLD,
                         request) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Isend(data, message->bytes, MPI_BYTE, to, message->tag, MPI_COMM_WORLD,
                        request) == MPI_SUCCESS);
    }
    if (message->mode == 1) { /* until it is on its way, or there */
        CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
}

static void post_one(const struct receive *receive, void *into, MPI_Request *request)
{
    const int from = receive->is_from_any ? MPI_ANY_SOURCE : (rank + size - 1) % size;

    CHECK(MPI_Irecv(into, MOST, MPI_BYTE, from, receive->tag, MPI_COMM_WORLD, request) ==
          MPI_SUCCESS);
}

static void cancel(MPI_Request *request)
{
    MPI_Status status;
    int is_cancelled = 0;

    CHECK(MPI_Cancel(request) == MPI_SUCCESS);
    CHECK(MPI_Wait(request, &status) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &is_cancelled) == MPI_SUCCESS && is_cancelled);
}

static void check_received(const struct round *round, int number, int i, const void *data,
                           const MPI_Status *status)
{
    const int from = (rank + size - 1) % size;
    const struct message *message = &round->messages[round->receives[i].message];
    int count = -1;

    CHECK(MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS);
    CHECK(status->MPI_SOURCE == from && status->MPI_TAG == message->tag);
    CHECK(count == message->bytes);
    CHECK(are_bytes(data, (size_t)count,
                    seed_of(number, from, round->receives[i].message)));
}

/* Receives are posted before the messages go, or after some of them, or last. */
static void run_round(int number, uint8_t *out, uint8_t *in)
{
    struct round sent;
    struct round received;
    MPI_Request sends[MESSAGES];
    MPI_Request receives[MESSAGES];
    MPI_Request never[2];
    MPI_Status statuses[MESSAGES];
    uint32_t state = (uint32_t)(7 + 31 * number + rank);
    uint8_t *unused = in + (size_t)MESSAGES * MOST;

    draw_round(&sent, number, rank);
    draw_round(&received, number, (rank + size - 1) % size);
    for (int i = 0; i < MESSAGES; i++) {
        fill_bytes(out + (size_t)i * MOST, (size_t)sent.messages[i].bytes,
                   seed_of(number, rank, i));
    }
    post_one(&(struct receive){.tag = NEVER}, unused, &never[0]);
    for (int i = 0; i < MESSAGES; i++) {
        post_one(&received.receives[i], in + (size_t)i * MOST, &receives[i]);
        dawdle(&state);
    }
    post_one(&(struct receive){.tag = NEVER}, unused, &never[1]);
    for (int i = 0; i < MESSAGES; i++) {
        send_one(&sent.messages[i], out + (size_t)i * MOST, &sends[i]);
        dawdle(&state);
    }
    cancel(&never[0]);
    CHECK(MPI_Waitall(MESSAGES, receives, statuses) == MPI_SUCCESS);
    CHECK(MPI_Waitall(MESSAGES, sends, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    cancel(&never[1]);
    for (int i = 0; i < MESSAGES; i++) {
        check_received(&received, number, i, in + (size_t)i * MOST, &statuses[i]);
    }
}

/* For some time, so that what peers ask for is seen, or is not yet. */
static void look_around(int number)
{
    const int looks = number % 10 * (number % 10) * 10;
    int flag = 0;

    for (int i = 0; i < looks; i++) {
        CHECK(MPI_Iprobe(MPI_ANY_SOURCE, NEVER, MPI_COMM_WORLD, &flag,
                         MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(!flag);
    }
}

/* One message for two receives, of which the older is cancelled when the message may be
 * on its way: it takes that one, or the other if not. */
static void cancel_before_a_younger_one(MPI_Comm apart, uint8_t *out, uint8_t *in,
                                        int number)
{
    enum { BYTES = 100 * 1000, TAG = 6, READY = 7 };
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    MPI_Request older;
    MPI_Request younger;
    MPI_Request send;
    MPI_Status status;
    int is_cancelled = 0;

    fill_bytes(out, BYTES, seed_of(number, rank, 0));
    CHECK(MPI_Irecv(in, MOST, MPI_BYTE, from, TAG, apart, &older) == MPI_SUCCESS);
    CHECK(MPI_Irecv(in + MOST, MOST, MPI_BYTE, from, TAG, apart, &younger) ==
          MPI_SUCCESS);
    CHECK(MPI_Sendrecv(NULL, 0, MPI_BYTE, from, READY, NULL, 0, MPI_BYTE, to, READY,
                       apart, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Cancel(&older) == MPI_SUCCESS);
    look_around(number);
    CHECK(MPI_Isend(out, BYTES, MPI_BYTE, to, TAG, apart, &send) == MPI_SUCCESS);
    CHECK(MPI_Wait(&older, &status) == MPI_SUCCESS);
    CHECK(MPI_Test_cancelled(&status, &is_cancelled) == MPI_SUCCESS);
    if (is_cancelled) {
        CHECK(MPI_Wait(&younger, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else {
        cancel(&younger);
    }
    CHECK(are_bytes(is_cancelled ? in + MOST : in, BYTES, seed_of(number, from, 0)));
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* ---- what an expected message costs ---- */

static MPI_T_pvar_session session;

static MPI_T_pvar_handle handle_of(const char *name, int class)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index = -1;
    int count = 0;

    CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
    return handle;
}

static unsigned long long value_of(MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;

    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    return value;
}

typedef int send_function(const void *buf, int count, MPI_Datatype datatype, int dest,
                          int tag, MPI_Comm comm);

struct counters {
    MPI_T_pvar_handle packets;
    MPI_T_pvar_handle stored;
    MPI_T_pvar_handle bytes;
};

static struct counters take_counters(void)
{
    const struct counters all = {
        handle_of("msg_packets_sent", MPI_T_PVAR_CLASS_COUNTER),
        handle_of("msg_bytes_stored", MPI_T_PVAR_CLASS_AGGREGATE),
        handle_of("msg_bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE),
    };

    CHECK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    return all;
}

static void give_counters(struct counters *all)
{
    CHECK(MPI_T_pvar_handle_free(session, &all->packets) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &all->stored) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &all->bytes) == MPI_SUCCESS);
}

enum {
    BYTES = 300 * 1000,
    TAG = 4,
    SHORT = 256,       /* bytes of a few short packets, */
    SAID = 160,        /* and of an empty message and a key, with their frames */
    ALONG = 64 * 1024, /* bytes that may go with an announcement */
};

/* Posts the receive, says so, and waits. It says one thing more: where the message is to
 * go, before or when it is announced; and acknowledges nothing. */
static void receive_counted(uint8_t *data, int tag)
{
    struct counters all = take_counters();
    MPI_Request request;

    CHECK(MPI_Irecv(data, BYTES, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    CHECK(MPI_Send(NULL, 0, MPI_BYTE, 0, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(are_bytes(data, BYTES, TAG));
    CHECK(value_of(all.bytes) <= SAID);
    give_counters(&all);
}

/*
 * The receiver says that its receive is posted; what it has offered comes before that. So
 * over a network the message is put, and one short packet goes with it. A receive of any
 * tag is not offered: then the first bytes go with the announcement, and the others are
 * put where the receiver says, with one short packet behind them.
 */
static void count_expected(uint8_t *data, send_function *send, bool is_offered)
{
    struct counters all;

    if (rank == 1) {
        receive_counted(data, is_offered ? TAG : MPI_ANY_TAG);
    } else if (rank == 0) {
        fill_bytes(data, BYTES, TAG);
        CHECK(MPI_Recv(NULL, 0, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        all = take_counters();
        CHECK(send(data, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(value_of(all.packets) == 1);
        CHECK(value_of(all.bytes) <= SHORT + (is_offered ? 0 : ALONG));
        CHECK(value_of(all.stored) >= BYTES - (is_offered ? 0 : ALONG));
        give_counters(&all);
    }
}

/* Ranks 0 and 1 have heard of each other. */
static void greet(void)
{
    if (rank < 2) {
        CHECK(MPI_Sendrecv(NULL, 0, MPI_BYTE, 1 - rank, 5, NULL, 0, MPI_BYTE, 1 - rank, 5,
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
}

static void count_packets(uint8_t *data)
{
    int provided = 0;

    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    greet();
    for (int is_offered = 0; is_offered < 2; is_offered++) {
        count_expected(data, MPI_Send, is_offered != 0);
        count_expected(data, MPI_Ssend, is_offered != 0);
        count_expected(data, MPI_Rsend, is_offered != 0);
    }
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
}

/* What is cancelled has a communicator of its own: open receives of the next round would
 * take its words. */
static void run_rounds(uint8_t *out, uint8_t *in)
{
    MPI_Comm apart = MPI_COMM_NULL;

    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &apart) == MPI_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        run_round(i, out, in);
        cancel_before_a_younger_one(apart, out, in, i);
    }
    CHECK(MPI_Comm_free(&apart) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    const size_t each = (size_t)(MESSAGES + 1) * MOST;
    uint8_t *out = malloc(each);
    uint8_t *in = malloc(each);

    CHECK(out != NULL && in != NULL);
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    if (argc > 1 && strcmp(argv[1], "count") == 0) {
        count_packets(in);
    } else {
        run_rounds(out, in);
    }
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    free(out);
    free(in);
    return 0;
}
