/*
 * p2p_away.c - a receive that is posted while the process attends to another one is
 * attended to as well: its sender does not wait for the receiver to come back.
 *
 * Even ranks send to the next one, which finds the announcement waiting, posts the
 * receive and computes. Where its memory cannot be reached the bytes come in pieces, as
 * ordinary packets. One of a few rounds has to show it, as the machine may be busy.
 */
#include "check.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    BYTES = 40000,      /* announced, and less than a lane holds */
    FAR_BYTES = 200000, /* the same over a network, where more goes at once */
    ROUNDS = 5,
    BEFORE_MS = 20,
    AWAY_MS = 300,
    SOON_MS = 200,
    TAG_LATER = 1,
    TAG_LONG,
    TAG_BACK,
};

static char buffer[FAR_BYTES];
static int bytes = BYTES;

/* How long a sender waits, in milliseconds. */
static double send_one(int to)
{
    MPI_Request request;
    double start;
    double waited;

    CHECK(MPI_Isend(buffer, bytes, MPI_CHAR, to, TAG_LONG, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    start = MPI_Wtime();
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    waited = (MPI_Wtime() - start) * 1000;
    CHECK(MPI_Send(buffer, 1, MPI_CHAR, to, TAG_LATER, MPI_COMM_WORLD) == MPI_SUCCESS);
    /* Else the next round begins while the receiver is still away. */
    CHECK(MPI_Recv(NULL, 0, MPI_CHAR, to, TAG_BACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    return waited;
}

static void receive_one(int from)
{
    MPI_Request requests[2];
    char later;
    int is_done = 0;

    CHECK(MPI_Irecv(&later, 1, MPI_CHAR, from, TAG_LATER, MPI_COMM_WORLD, &requests[0]) ==
          MPI_SUCCESS);
    for (int i = 0; i < BEFORE_MS; i++) {
        CHECK(MPI_Test(&requests[0], &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(!is_done);
        usleep(1000);
    }
    CHECK(MPI_Irecv(buffer, bytes, MPI_CHAR, from, TAG_LONG, MPI_COMM_WORLD,
                    &requests[1]) == MPI_SUCCESS);
    usleep(AWAY_MS * 1000);
    CHECK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Send(NULL, 0, MPI_CHAR, from, TAG_BACK, MPI_COMM_WORLD) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    double shortest = AWAY_MS;
    int rank;
    int size;

    if (getenv("WEFT_TRANSPORT") != NULL) {
        bytes = FAR_BYTES;
    }
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank % 2 == 1) {
            receive_one(rank - 1);
        } else if (rank + 1 < size) {
            const double waited = send_one(rank + 1);

            shortest = waited < shortest ? waited : shortest;
        } else {
            shortest = 0;
        }
    }
    CHECK(rank % 2 == 1 || shortest < SOON_MS);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
