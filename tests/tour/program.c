/*
 * program.c - messages from rank 0 to rank 1, whose way through the library is recorded.
 *
 *     program FILE BYTES ROUNDS
 *
 * Each rank writes FILE.RANK, a line for each message. The receiver says that it is about
 * to receive, and the sender hears that before it sends, so that most messages meet a
 * receive.
 */
#include "record.h"

#include <mpi.h>
#include <stdlib.h>

static void send_one(char *data, int bytes)
{
    char word;

    MPI_Recv(&word, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tour_begin();
    MPI_Send(data, bytes, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
    tour_end();
}

static void receive_one(char *data, int bytes)
{
    char word = 0;

    MPI_Send(&word, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    tour_begin();
    MPI_Recv(data, bytes, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    tour_end();
}

int main(int argc, char **argv)
{
    char name[4096];
    FILE *file;
    char *data;
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof(name), "%s.%d", argv[1], rank);
    file = fopen(name, "w");
    data = calloc(1, (size_t)atoi(argv[2]));
    if (file == NULL || data == NULL) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < atoi(argv[3]); i++) {
        (rank == 0 ? send_one : receive_one)(data, atoi(argv[2]));
        tour_write(file);
    }
    fclose(file);
    free(data);
    MPI_Finalize();
    return 0;
}
