/*
 * finalize.c - chapter 11.2.2: what was sent arrives, though its sender has nothing left
 * to wait for and finalizes at once, while the receiver, rank 0, is away for a second.
 *
 *   finalize bsend|comm|freed|lane|session|open
 *
 * A long message from an attached buffer; one from the buffer of a communicator that is
 * never freed; one whose request was freed; more small ones than a lane holds; the first
 * and the third in a session, which ends without a barrier; the second in a session,
 * while another one is open. Who waits sleeps: the processor's time is looked at.
 */
#include "bytes.h"
#include "check.h"

#include <sys/resource.h>
#include <unistd.h>

enum { LONG = 4 << 20, SMALL = 64, MANY = 20000, TAG = 3 };

static char out[2][LONG];
static char in[LONG];
static char room[LONG + MPI_BSEND_OVERHEAD];
static int rank;
static int size;

static double cpu_seconds(void)
{
    struct rusage usage;

    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
}

static void send_buffered(MPI_Comm comm)
{
    fill_bytes(out[0], LONG, (uint32_t)rank);
    CHECK(MPI_Buffer_attach(room, sizeof(room)) == MPI_SUCCESS);
    CHECK(MPI_Bsend(out[0], LONG, MPI_BYTE, 0, TAG, comm) == MPI_SUCCESS);
    memset(out[0], 0, LONG);
}

/* When MPI has ended the buffer is ours: it is written to, and freed. */
static char *send_from_comm(MPI_Comm comm)
{
    char *memory = malloc(LONG + MPI_BSEND_OVERHEAD);

    CHECK(memory != NULL);
    CHECK(MPI_Comm_attach_buffer(comm, memory, LONG + MPI_BSEND_OVERHEAD) == MPI_SUCCESS);
    fill_bytes(out[0], LONG, (uint32_t)rank);
    CHECK(MPI_Bsend(out[0], LONG, MPI_BYTE, 0, TAG, comm) == MPI_SUCCESS);
    return memory;
}

static void take_back(char *memory)
{
    if (memory != NULL) {
        memset(memory, 0, LONG);
        free(memory);
    }
}

static void send_and_free(MPI_Comm comm)
{
    MPI_Request request;

    fill_bytes(out[1], LONG, (uint32_t)rank);
    CHECK(MPI_Isend(out[1], LONG, MPI_BYTE, 0, TAG, comm, &request) == MPI_SUCCESS);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
}

static void send_many(MPI_Comm comm)
{
    MPI_Request request;

    for (int i = 0; i < MANY; i++) {
        char *message = out[0] + i * SMALL;

        fill_bytes(message, SMALL, (uint32_t)(rank + i));
        CHECK(MPI_Isend(message, SMALL, MPI_BYTE, 0, TAG, comm, &request) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    }
}

static void receive_long(MPI_Comm comm, int count)
{
    for (int source = 1; source < size; source++) {
        for (int i = 0; i < count; i++) {
            memset(in, 0, LONG);
            CHECK(MPI_Recv(in, LONG, MPI_BYTE, source, TAG, comm, MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS);
            CHECK(are_bytes(in, LONG, (uint32_t)source));
        }
    }
}

static void receive_many(MPI_Comm comm)
{
    for (int i = 0; i < MANY; i++) {
        for (int source = 1; source < size; source++) {
            CHECK(MPI_Recv(in, SMALL, MPI_BYTE, source, TAG, comm, MPI_STATUS_IGNORE) ==
                  MPI_SUCCESS);
            CHECK(are_bytes(in, SMALL, (uint32_t)(source + i)));
        }
    }
}

static MPI_Comm make_comm(MPI_Session session)
{
    MPI_Group group;
    MPI_Comm comm;

    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, "weft.finalize", MPI_INFO_NULL,
                                     MPI_ERRORS_ARE_FATAL, &comm) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(comm, &size) == MPI_SUCCESS);
    return comm;
}

static void in_open_session(void)
{
    MPI_Session session[2];
    MPI_Comm comm;
    char *memory = NULL;

    for (int i = 0; i < 2; i++) {
        CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session[i]) ==
              MPI_SUCCESS);
    }
    comm = make_comm(session[0]);
    if (rank == 0) {
        sleep(1);
        receive_long(comm, 1);
    } else {
        memory = send_from_comm(comm);
    }
    CHECK(MPI_Session_finalize(&session[0]) == MPI_SUCCESS);
    take_back(memory);
    CHECK(MPI_Session_finalize(&session[1]) == MPI_SUCCESS);
}

static void in_session(void)
{
    MPI_Session session;
    MPI_Comm comm;

    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session) == MPI_SUCCESS);
    comm = make_comm(session);
    if (rank == 0) {
        sleep(1);
        receive_long(comm, 2);
    } else {
        send_buffered(comm);
        send_and_free(comm);
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
}

/* Returns memory that is the buffer of a communicator until the end of MPI, or NULL. */
static char *in_world(const char *how)
{
    const int is_many = strcmp(how, "lane") == 0;
    const int is_comm = strcmp(how, "comm") == 0;
    MPI_Comm comm = MPI_COMM_WORLD;

    CHECK(MPI_Init(NULL, NULL) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    if (is_comm) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    }
    if (rank == 0) {
        sleep(1);
    }
    if (rank == 0 && is_many) {
        receive_many(comm);
    } else if (rank == 0) {
        receive_long(comm, 1);
    } else if (is_many) {
        send_many(comm);
    } else if (strcmp(how, "freed") == 0) {
        send_and_free(comm);
    } else if (!is_comm) {
        send_buffered(comm);
    } else {
        return send_from_comm(comm);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "bsend";
    char *memory;
    double begin = 0;

    if (strcmp(how, "session") == 0) {
        in_session();
    } else if (strcmp(how, "open") == 0) {
        in_open_session();
    } else {
        memory = in_world(how);
        begin = cpu_seconds();
        CHECK(MPI_Finalize() == MPI_SUCCESS);
        if (rank != 0) { /* of about a second */
            CHECK(cpu_seconds() - begin < 0.5);
        }
        take_back(memory);
    }
    if (rank == 0) {
        printf("no errors\n");
    }
    return 0;
}
