/*
 * inherit.c - programs that a rank starts inherit nothing of the library's.
 *
 * All ranks exchange a message with all others. Then every descriptor that was not open
 * before MPI_Init has the flag close-on-exec. A connection may be accepted by another
 * thread at that moment, so a descriptor is looked at for a while.
 */
#include "mpi.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 1024, LOOKS = 1000 };

static bool is_inherited(int fd)
{
    const int flags = fcntl(fd, F_GETFD);

    return flags >= 0 && (flags & FD_CLOEXEC) == 0;
}

static void name_of(int fd, char *name, size_t room)
{
    char link[64];
    ssize_t length;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    length = readlink(link, name, room - 1);
    name[length > 0 ? length : 0] = '\0';
}

int main(int argc, char **argv)
{
    static bool is_old[MOST];
    char name[256];
    int rank;
    int size;
    int wrong = 0;

    for (int fd = 0; fd < MOST; fd++) {
        is_old[fd] = fcntl(fd, F_GETFD) >= 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int k = 1; k < size; k++) {
        const int to = (rank + k) % size;
        const int from = (rank + size - k) % size;
        int got = -1;

        MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, &got, 1, MPI_INT, from, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        wrong += got != from;
    }
    for (int fd = 0; fd < MOST; fd++) {
        for (int i = 0; i < LOOKS && !is_old[fd] && is_inherited(fd); i++) {
            usleep(1000);
        }
        if (!is_old[fd] && is_inherited(fd)) {
            name_of(fd, name, sizeof(name));
            printf("rank %d: descriptor %d, %s, would be inherited\n", rank, fd, name);
            wrong++;
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
