/*
 * sessions_again.c - a process that could not open MPI is told so again, at once: ranks
 * that have opened it would wait for each other for ever.
 *
 * It occupies the only port that it may listen at (WEFT_PORTS), and gives it back before
 * the second try.
 */
#include "mpi.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int occupy(void)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t bytes = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    char ports[32];

    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
        listen(fd, 1) != 0 || getsockname(fd, (struct sockaddr *)&at, &bytes) != 0) {
        perror("a port to occupy");
        exit(1);
    }
    snprintf(ports, sizeof(ports), "%d-%d", ntohs(at.sin_port), ntohs(at.sin_port));
    setenv("WEFT_PORTS", ports, 1);
    return fd;
}

int main(void)
{
    MPI_Session session;
    const int fd = occupy();
    const int first = MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);

    close(fd);
    if (first == MPI_SUCCESS) {
        fprintf(stderr, "a port that is taken was listened at\n");
        return 1;
    }
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS) {
        fprintf(stderr, "the second try has opened MPI\n");
        return 1;
    }
    printf("refused twice\n");
    return 0;
}
