/* tools_counts.c - chapter 15: performance variables count what happens. */
#include "check.h"

#include <stdbool.h>
#include <string.h>

enum { MESSAGES = 10, LONG_BYTES = 1 << 20 };

static MPI_T_pvar_session session;
static int rank;
static int size;

static MPI_T_pvar_handle handle_of(MPI_T_pvar_session in, const char *name, int class)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index = -1;
    int count = 0;

    CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(in, index, NULL, &handle, &count) == MPI_SUCCESS);
    CHECK(count == 1 && handle != MPI_T_PVAR_HANDLE_NULL);
    return handle;
}

static unsigned long long value_of(MPI_T_pvar_handle handle)
{
    unsigned long long value = 12345;

    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    return value;
}

static void every_variable_tells_what_it_is(void)
{
    int number = 0;

    CHECK(MPI_T_pvar_get_num(&number) == MPI_SUCCESS && number > 0);
    for (int i = 0; i < number; i++) {
        char name[64];
        char text[256];
        int name_length = (int)sizeof(name);
        int text_length = (int)sizeof(text);
        int class = 0;
        int verbosity = 0;
        int bind = 0;
        int readonly = -1;
        int continuous = -1;
        int atomic = -1;
        int index = -1;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum words = MPI_T_ENUM_NULL;

        CHECK(MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type,
                                  &words, text, &text_length, &bind, &readonly,
                                  &continuous, &atomic) == MPI_SUCCESS);
        CHECK(type == MPI_UNSIGNED_LONG_LONG && words == MPI_T_ENUM_NULL);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && text_length > 10);
        CHECK(readonly == (class == MPI_T_PVAR_CLASS_LEVEL));
        CHECK(continuous == (class == MPI_T_PVAR_CLASS_LEVEL));
        CHECK(MPI_T_pvar_get_index(name, class, &index) == MPI_SUCCESS && index == i);
        CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_TIMER, &index) ==
              MPI_T_ERR_INVALID_NAME);
    }
    CHECK(MPI_T_pvar_get_info(number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
                              NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_pvar_get_num(NULL) == MPI_T_ERR_INVALID);
}

static void wrong_handles_are_told(void)
{
    MPI_T_pvar_session other = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle =
        handle_of(session, "messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle level =
        handle_of(session, "unexpected_bytes", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle none = MPI_T_PVAR_HANDLE_NULL;
    MPI_T_pvar_handle all = MPI_T_PVAR_ALL_HANDLES;
    unsigned long long value = 7;
    int count = 0;

    CHECK(MPI_T_pvar_session_free(&other) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_read(other, handle, &value) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_start(other, all) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_handle_alloc(other, 0, NULL, &none, &count) ==
          MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_pvar_handle_alloc(session, -1, NULL, &none, &count) ==
          MPI_T_ERR_INVALID_INDEX);
    CHECK(MPI_T_pvar_session_create(&other) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(other, handle, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_start(other, handle) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_read(session, none, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_read(session, all, &value) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_free(session, &all) == MPI_T_ERR_INVALID_HANDLE);
    CHECK(MPI_T_pvar_handle_free(session, &none) == MPI_T_ERR_INVALID_HANDLE);

    CHECK(MPI_T_pvar_start(session, level) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_stop(session, level) == MPI_T_ERR_PVAR_NO_STARTSTOP);
    CHECK(MPI_T_pvar_reset(session, level) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_write(session, level, &value) == MPI_T_ERR_PVAR_NO_WRITE);
    CHECK(MPI_T_pvar_readreset(session, level, &value) == MPI_T_ERR_PVAR_NO_ATOMIC);
    CHECK(MPI_T_pvar_start(session, all) == MPI_SUCCESS); /* levels do not mind */
    CHECK(MPI_T_pvar_reset(session, all) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_stop(session, all) == MPI_SUCCESS);

    CHECK(MPI_T_pvar_session_free(&other) == MPI_SUCCESS);
    CHECK(other == MPI_T_PVAR_SESSION_NULL);
    CHECK(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS);
    CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
    CHECK(MPI_T_pvar_handle_free(session, &level) == MPI_SUCCESS);
}

static void send_to_myself(int count, int tag)
{
    for (int i = 0; i < count; i++) {
        CHECK(MPI_Send(&i, 1, MPI_INT, 0, tag, MPI_COMM_SELF) == MPI_SUCCESS);
    }
}

static void receive_from_myself(int count, int tag)
{
    for (int i = 0; i < count; i++) {
        int got = -1;

        CHECK(MPI_Recv(&got, 1, MPI_INT, 0, tag, MPI_COMM_SELF, MPI_STATUS_IGNORE) ==
              MPI_SUCCESS);
        CHECK(got == i);
    }
}

static void counters_count_while_started(void)
{
    MPI_T_pvar_handle sent =
        handle_of(session, "messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle to_self =
        handle_of(session, "self_messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    unsigned long long value = 0;

    CHECK(value_of(sent) == 0);
    send_to_myself(3, 1);
    CHECK(value_of(sent) == 0);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    send_to_myself(MESSAGES, 2);
    CHECK(value_of(sent) == MESSAGES && value_of(to_self) == MESSAGES);
    CHECK(MPI_T_pvar_stop(session, sent) == MPI_SUCCESS);
    send_to_myself(MESSAGES, 3);
    CHECK(value_of(sent) == MESSAGES && value_of(to_self) == 2 * MESSAGES);
    CHECK(MPI_T_pvar_start(session, sent) == MPI_SUCCESS);
    send_to_myself(1, 4);
    CHECK(MPI_T_pvar_readreset(session, sent, &value) == MPI_SUCCESS);
    CHECK(value == MESSAGES + 1 && value_of(sent) == 0);
    value = 100;
    CHECK(MPI_T_pvar_write(session, sent, &value) == MPI_SUCCESS);
    send_to_myself(2, 5);
    CHECK(value_of(sent) == 102);
    CHECK(MPI_T_pvar_reset(session, sent) == MPI_SUCCESS && value_of(sent) == 0);
    receive_from_myself(3, 1);
    receive_from_myself(MESSAGES, 2);
    receive_from_myself(MESSAGES, 3);
    receive_from_myself(1, 4);
    receive_from_myself(2, 5);
    CHECK(MPI_T_pvar_handle_free(session, &sent) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &to_self) == MPI_SUCCESS);
}

static void marks_keep_the_highest_level(void)
{
    MPI_T_pvar_handle level =
        handle_of(session, "unexpected_messages", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle bytes =
        handle_of(session, "unexpected_bytes", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle high =
        handle_of(session, "unexpected_messages_high", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    MPI_T_pvar_handle high_bytes =
        handle_of(session, "unexpected_bytes_high", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    const unsigned long long before = value_of(level);

    CHECK(MPI_T_pvar_start(session, high) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, high_bytes) == MPI_SUCCESS);
    send_to_myself(MESSAGES, 1);
    CHECK(value_of(level) >= before + MESSAGES);
    CHECK(value_of(bytes) >= MESSAGES * sizeof(int));
    receive_from_myself(MESSAGES, 1);
    CHECK(value_of(high) >= before + MESSAGES);
    CHECK(value_of(high_bytes) >= MESSAGES * sizeof(int));
    CHECK(MPI_T_pvar_stop(session, high) == MPI_SUCCESS);
    CHECK(value_of(high) >= before + MESSAGES); /* it stays */
    CHECK(MPI_T_pvar_start(session, high) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_reset(session, high) == MPI_SUCCESS);
    CHECK(value_of(high) < before + MESSAGES || before > 0);
    CHECK(MPI_T_pvar_handle_free(session, &high) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &high_bytes) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &level) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &bytes) == MPI_SUCCESS);
}

/* Active or not, one that was not freed is there. */
static void requests_are_there_until_freed(void)
{
    MPI_T_pvar_handle level = handle_of(session, "requests", MPI_T_PVAR_CLASS_LEVEL);
    const unsigned long long before = value_of(level);
    MPI_Request requests[2];
    int numbers[2] = {0, 0};

    CHECK(MPI_Irecv(&numbers[0], 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_SELF,
                    &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Recv_init(&numbers[1], 1, MPI_INT, 0, 7, MPI_COMM_SELF, &requests[1]) ==
          MPI_SUCCESS);
    CHECK(value_of(level) == before + 2);
    CHECK(MPI_Cancel(&requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(value_of(level) == before + 1);
    CHECK(MPI_Request_free(&requests[1]) == MPI_SUCCESS);
    CHECK(value_of(level) == before);
    CHECK(MPI_T_pvar_handle_free(session, &level) == MPI_SUCCESS);
}

/* Does WEFT_TRANSPORT name this one, alone or beside another? */
static bool is_chosen(const char *transport)
{
    const char *chosen = getenv("WEFT_TRANSPORT");

    return chosen != NULL && strstr(chosen, transport) != NULL;
}

/* Do messages between ranks take a network, by connections or datagrams? */
static bool is_network(void)
{
    return is_chosen("msg") || is_chosen("dgram");
}

/* The variable of what carries messages between ranks here. */
static MPI_T_pvar_handle carrier_handle(const char *what, int class)
{
    char name[64];

    snprintf(name, sizeof(name), "%s_%s", size > 1 && is_network() ? "msg" : "shm", what);
    return handle_of(session, name, class);
}

static void connections_are_those_that_were_used(void)
{
    MPI_T_pvar_handle open =
        handle_of(session, "msg_connections", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle strangers =
        handle_of(session, "msg_rejected", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle sent =
        handle_of(session, "msg_packets_sent", MPI_T_PVAR_CLASS_COUNTER);

    if (is_chosen("msg")) {
        CHECK(value_of(open) <= (unsigned long long)size - 1);
        CHECK(value_of(open) >= (size > 1 && !is_chosen("dgram") ? 1 : 0));
    } else {
        CHECK(value_of(open) == 0);
    }
    CHECK(is_network() || value_of(sent) == 0);
    CHECK(value_of(strangers) == 0);
    CHECK(MPI_T_pvar_handle_free(session, &open) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &strangers) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &sent) == MPI_SUCCESS);
}

/* Nobody loses datagrams here, and a packet takes one or several. */
static void datagrams_carry_packets(void)
{
    MPI_T_pvar_handle sent =
        handle_of(session, "msg_packets_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle datagrams =
        handle_of(session, "dgram_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle repeated =
        handle_of(session, "dgram_repeated", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle duplicates =
        handle_of(session, "dgram_duplicates", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle dropped =
        handle_of(session, "dgram_dropped", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle peers = handle_of(session, "dgram_peers", MPI_T_PVAR_CLASS_LEVEL);
    int came = 0;

    CHECK(MPI_T_pvar_start(session, sent) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, datagrams) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(&size, 1, MPI_INT, (rank + 1) % size, 1, &came, 1, MPI_INT,
                       (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (size > 1 && is_chosen("dgram")) {
        CHECK(value_of(peers) >= 1 && value_of(peers) <= (unsigned long long)size - 1);
        CHECK(value_of(sent) > 0);
        CHECK(is_chosen("msg") || value_of(datagrams) >= value_of(sent));
        CHECK(value_of(repeated) <= value_of(datagrams));
    } else {
        CHECK(value_of(peers) == 0);
        CHECK(value_of(datagrams) == 0);
        CHECK(value_of(repeated) == 0);
        CHECK(value_of(duplicates) == 0);
        CHECK(value_of(dropped) == 0);
    }
    CHECK(MPI_T_pvar_handle_free(session, &sent) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &datagrams) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &repeated) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &duplicates) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &dropped) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_free(session, &peers) == MPI_SUCCESS);
}

/* A ring: as many messages arrive as were sent, and so do bytes. */
static void traffic_between_ranks(void)
{
    MPI_T_pvar_handle sent = carrier_handle("packets_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle received =
        carrier_handle("packets_received", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle bytes = carrier_handle("bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle bytes_in =
        carrier_handle("bytes_received", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle fetched =
        carrier_handle("bytes_fetched", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle stored = carrier_handle("bytes_stored", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle messages =
        handle_of(session, "messages_received", MPI_T_PVAR_CLASS_COUNTER);
    char *out = calloc(2, LONG_BYTES);
    unsigned long long mine[3];
    unsigned long long all[3];

    CHECK(out != NULL);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < MESSAGES; i++) {
        const int bytes_now = i == 0 ? LONG_BYTES : 100;

        CHECK(MPI_Sendrecv(out, bytes_now, MPI_BYTE, (rank + 1) % size, 1,
                           out + LONG_BYTES, bytes_now, MPI_BYTE,
                           (rank + size - 1) % size, 1, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(value_of(messages) >= MESSAGES);
    if (size > 1) {
        CHECK(value_of(sent) >= MESSAGES && value_of(received) >= MESSAGES);
        CHECK(value_of(bytes) >= 100 * (MESSAGES - 1));
        CHECK(value_of(bytes_in) >= 100 * (MESSAGES - 1));
    }
    /* Long messages are fetched, stored, or pushed through the queues: all their bytes.
     */
    mine[0] = value_of(fetched) + value_of(stored);
    mine[1] = value_of(bytes);
    mine[2] = value_of(messages);
    CHECK(MPI_Allreduce(mine, all, 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(size == 1 ||
          all[0] + all[1] >= (unsigned long long)size * (unsigned long long)LONG_BYTES);
    CHECK(all[0] <= (unsigned long long)size * (unsigned long long)LONG_BYTES);
    free(out);
}

static void counts_outlive_finalize(MPI_T_pvar_handle sent, MPI_T_pvar_handle sleeps,
                                    unsigned long long before)
{
    CHECK(value_of(sent) >= before);
    CHECK(value_of(sleeps) < 1000000);
    CHECK(MPI_T_pvar_reset(session, sent) == MPI_SUCCESS);
    CHECK(value_of(sent) == 0);
}

int main(int argc, char **argv)
{
    MPI_T_pvar_handle sent;
    MPI_T_pvar_handle sleeps;
    unsigned long long before;
    int provided = -1;

    CHECK(MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_SERIALIZED);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    every_variable_tells_what_it_is();
    wrong_handles_are_told();
    sent = handle_of(session, "messages_sent", MPI_T_PVAR_CLASS_COUNTER);
    sleeps = handle_of(session, "sleeps", MPI_T_PVAR_CLASS_COUNTER);
    CHECK(MPI_T_pvar_start(session, sent) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_start(session, sleeps) == MPI_SUCCESS);
    CHECK(value_of(sent) == 0);

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    wrong_handles_are_told();
    counters_count_while_started();
    marks_keep_the_highest_level();
    requests_are_there_until_freed();
    CHECK(MPI_T_pvar_start(session, sent) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_reset(session, sent) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    send_to_myself(4, 9);
    receive_from_myself(4, 9);
    before = value_of(sent);
    CHECK(before >= 4);
    traffic_between_ranks();
    connections_are_those_that_were_used();
    datagrams_carry_packets();
    CHECK(MPI_T_pvar_start(session, sent) == MPI_SUCCESS);
    before = value_of(sent);
    CHECK(MPI_Finalize() == MPI_SUCCESS);

    counts_outlive_finalize(sent, sleeps, before);
    wrong_handles_are_told();
    CHECK(MPI_T_finalize() == MPI_SUCCESS); /* takes session and handles with it */
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_read(session, sent, &before) == MPI_T_ERR_INVALID_SESSION);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
    return 0;
}
