/*
 * attacker.c - many connections to one port that are of no use (siege.py).
 *
 *   attacker PORT CONNECTIONS KIND SECONDS
 *
 * Every PERIOD_MS each connection does what KIND says:
 *
 *   silent   nothing
 *   bytes    sends one byte of a request
 *   heads    sends the first half of a request: the 32 bytes of libfabric's tcp
 *   whole    once a second, on a new connection, sends a whole request of another job
 *
 * Connections that were closed by the other end are made anew. All is on the loopback.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_MS = 20, HEAD = 32, DATA = 50, WHOLE_EVERY = 50, MOST = 2000 };

static int port;
static long sent;
static long refused;
static uint8_t request[HEAD + DATA] = {3, 0, 0, DATA};

static int dial(void)
{
    const int one = 1;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0) {
        refused++;
        close(fd);
        return -1;
    }
    return fd;
}

static void redial(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = dial();
}

static void send_or_redial(int *fd, const void *data, size_t bytes)
{
    if (*fd >= 0 &&
        send(*fd, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)bytes) {
        sent++;
    } else {
        redial(fd);
    }
}

static void act(int *fd, const char *kind, long round, long which)
{
    char byte;

    if (strcmp(kind, "heads") == 0) {
        send_or_redial(fd, request, HEAD);
    } else if (strcmp(kind, "bytes") == 0) {
        send_or_redial(fd, request + round % HEAD, 1);
    } else if (strcmp(kind, "whole") == 0 && (round + which) % WHOLE_EVERY == 0) {
        redial(fd);
        send_or_redial(fd, request, sizeof(request));
    } else if (*fd < 0 || recv(*fd, &byte, 1, MSG_DONTWAIT) == 0) {
        redial(fd);
    }
}

int main(int argc, char **argv)
{
    const struct timespec period = {.tv_nsec = PERIOD_MS * 1000 * 1000};
    const struct rlimit limit = {.rlim_cur = MOST + 100, .rlim_max = MOST + 100};
    static int fds[MOST];
    const uint64_t one = 1;
    long count;
    long rounds;

    if (argc < 5 || (count = atol(argv[2])) > MOST) {
        return 2;
    }
    port = atoi(argv[1]);
    rounds = (long)(atof(argv[4]) * 1000 / PERIOD_MS);
    memcpy(request + 24, &one, sizeof(one));
    setrlimit(RLIMIT_NOFILE, &limit); /* else as many as there may be */
    for (long i = 0; i < count; i++) {
        fds[i] = dial();
    }
    for (long round = 0; round < rounds; round++) {
        for (long i = 0; i < count; i++) {
            act(&fds[i], argv[3], round, i);
        }
        nanosleep(&period, NULL);
    }
    printf("%ld connections, %s: %ld sent, %ld refused\n", count, argv[3], sent, refused);
    return 0;
}
