/*
 * listen.c - says at which addresses this rank listens: "HOST ADDRESS ADDRESS", sorted.
 */
#include "mpi.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { DESCRIPTORS = 256, MOST = 16 };

static char addresses[MOST][INET_ADDRSTRLEN];
static int count;

static void look_at(int fd)
{
    struct sockaddr_in at;
    socklen_t bytes = sizeof(at);
    int listens = 0;
    socklen_t length = sizeof(listens);

    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &length) != 0 || !listens ||
        getsockname(fd, (struct sockaddr *)&at, &bytes) != 0 ||
        at.sin_family != AF_INET || count == MOST) {
        return;
    }
    inet_ntop(AF_INET, &at.sin_addr, addresses[count], sizeof(addresses[0]));
    for (int i = 0; i < count; i++) {
        if (strcmp(addresses[i], addresses[count]) == 0) {
            return; /* several descriptors may be of one socket */
        }
    }
    count++;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

int main(int argc, char **argv)
{
    char host[64] = "";

    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int fd = 0; fd < DESCRIPTORS; fd++) {
        look_at(fd);
    }
    qsort(addresses, (size_t)count, sizeof(addresses[0]), by_text);
    gethostname(host, sizeof(host) - 1);
    printf("%s", host);
    for (int i = 0; i < count; i++) {
        printf(" %s", addresses[i]);
    }
    printf("\n");
    return MPI_Finalize();
}
