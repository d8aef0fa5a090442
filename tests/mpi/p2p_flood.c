/*
 * p2p_flood.c - chapter 3: floods of messages that nobody has asked for meet
 * back-pressure, not the memory killer, and no correct program hangs for it.
 */
#include "check.h"

#include <unistd.h>

enum { MANY = 30000, BYTES = 1024, LIMIT_KIB = 64 * 1024 + 6 * 1024 };

static int rank;
static int size;

static long resident_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;

    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (sscanf(line, "RssAnon: %ld", &kib) == 1) {
            break;
        }
    }
    fclose(file);
    return kib;
}

static void send_many(int tag)
{
    static int message[BYTES / sizeof(int)];

    for (int i = 0; i < MANY; i++) {
        message[0] = i;
        message[BYTES / sizeof(int) - 1] = i * rank;
        CHECK(MPI_Send(message, BYTES, MPI_BYTE, 0, tag, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

static void take_many(int from, int tag)
{
    static int message[BYTES / sizeof(int)];

    for (int i = 0; i < MANY; i++) {
        CHECK(MPI_Recv(message, BYTES, MPI_BYTE, from, tag, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(message[0] == i && message[BYTES / sizeof(int) - 1] == i * from);
    }
}

/* All flood rank 0, which sleeps, then polls without taking anything, then takes all. */
static void flood(void)
{
    if (rank != 0) {
        send_many(1);
        return;
    }
    long before = resident_kib();
    MPI_Request never;
    int flag;
    int word;

    usleep(300000);
    CHECK(MPI_Irecv(&word, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &never) == MPI_SUCCESS);
    for (int i = 0; i < 200000; i++) { /* a receive from ourselves fits none of them */
        CHECK(MPI_Test(&never, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 0);
    }
    CHECK(resident_kib() - before < LIMIT_KIB);
    for (int r = size - 1; r > 0; r--) { /* backwards: the last to fit in comes first */
        take_many(r, 1);
    }
    CHECK(MPI_Send(&rank, 1, MPI_INT, 0, 99, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&never, MPI_STATUS_IGNORE) == MPI_SUCCESS && word == 0);
    CHECK(resident_kib() - before < (long)(size - 1) * MANY * 2 + LIMIT_KIB);
}

/* The message asked for stands behind many others of its sender: the grant rule. */
static void behind(void)
{
    int word = rank;

    if (rank == size - 1) {
        send_many(1);
        CHECK(MPI_Send(&word, 1, MPI_INT, 0, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else if (rank == 0) {
        CHECK(MPI_Recv(&word, 1, MPI_INT, size - 1, 2, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(word == size - 1);
        take_many(size - 1, 1);
    }
}

/* One message of each stretch is never received: it must not pin the rest. */
static void survivors(void)
{
    char byte = 0;

    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < 4000; i++) {
            char message[512];
            int tag = i == 0 ? 7 : 3;

            if (rank == 1) {
                CHECK(MPI_Send(message, 512, MPI_BYTE, 0, tag, MPI_COMM_WORLD) ==
                      MPI_SUCCESS);
            } else if (rank == 0 && i > 0) {
                CHECK(MPI_Recv(message, 512, MPI_BYTE, 1, 3, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE) == MPI_SUCCESS);
            }
        }
    }
    if (rank == 0) {
        for (int round = 0; round < 20; round++) {
            char message[512];

            CHECK(MPI_Recv(message, 512, MPI_BYTE, 1, 7, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE) == MPI_SUCCESS);
        }
    }
    (void)byte;
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    if (size > 1) {
        flood();
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        behind();
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        survivors();
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    return MPI_Finalize();
}
