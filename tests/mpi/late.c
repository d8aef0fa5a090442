/*
 * late.c - chapters 3 and 11: MPI_Isend to a rank that has not called MPI_Init is local,
 * and messages to others go on meanwhile.
 *
 *     WEFT_TRANSPORT=msg mpiexec -n N late FILE
 *
 * The last rank calls MPI_Init when FILE is there. Rank 1 makes it, once it has received
 * all that rank 0 has sent after its MPI_Isend to the last one. If that waited, nobody
 * would make the file.
 */
#include "check.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 5, LONG = 4 * 1024 * 1024, PATIENCE_MS = 30000 };

static char buffer[LONG];

static void wait_for_file(const char *path)
{
    for (int i = 0; access(path, F_OK) != 0; i++) {
        if (i == PATIENCE_MS) {
            fprintf(stderr, "MPI_Isend waits for a rank that has not called MPI_Init\n");
            exit(99);
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* To the last rank first, and then for the first time to each of the others. */
static void send_all(int last)
{
    MPI_Request request;
    int word = 7;

    CHECK(MPI_Isend(&word, 1, MPI_INT, last, TAG, MPI_COMM_WORLD, &request) ==
          MPI_SUCCESS);
    for (int to = last - 1; to > 0; to--) {
        CHECK(MPI_Send(buffer, LONG, MPI_BYTE, to, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    const char *own = getenv("PMI_RANK");
    const char *all = getenv("PMI_SIZE");
    const int rank = own != NULL ? atoi(own) : 0;
    const int last = all != NULL ? atoi(all) - 1 : 0;
    int word = 0;

    CHECK(argc == 2);
    if (rank == last) {
        wait_for_file(argv[1]);
        CHECK(unlink(argv[1]) == 0);
    }
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    if (rank == 0) {
        send_all(last);
    } else if (rank == last) {
        MPI_Recv(&word, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(word == 7);
    } else {
        MPI_Recv(buffer, LONG, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 1) {
        const int fd = open(argv[1], O_CREAT | O_WRONLY, 0600);

        CHECK(fd >= 0 && close(fd) == 0);
    }
    MPI_Finalize();
    return 0;
}
