/*
 * loop.c - twenty lines that know nothing of weft-gauge, over a TCP stream on loopback,
 * spinning. It prints the median in nanoseconds of half a round trip of 8 bytes; with an
 * argument, of one in 64 messages of 4 KiB that are answered by a byte.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TRIPS = 4000, LIMIT_SECONDS = 150 };

static int compare(const void *a, const void *b)
{
    return (*(const double *)a > *(const double *)b) -
           (*(const double *)a < *(const double *)b);
}

static void bounce(int fd, int first)
{
    char bytes[8] = {0};

    if (first && send(fd, bytes, 8, 0) != 8) {
        exit(1);
    }
    while (recv(fd, bytes, 8, MSG_DONTWAIT) != 8) {
    }
    if (!first && send(fd, bytes, 8, 0) != 8) {
        exit(1);
    }
}

/* Moves all of them, in pieces as the socket likes. */
static void move(int fd, int is_send, long bytes)
{
    static char buffer[4096];

    while (bytes > 0) {
        long most = bytes < 4096 ? bytes : 4096;
        ssize_t n = is_send ? send(fd, buffer, (size_t)most, MSG_DONTWAIT)
                            : recv(fd, buffer, (size_t)most, MSG_DONTWAIT);

        bytes -= n > 0 ? n : 0;
    }
}

static void stream(int fd, int first)
{
    move(fd, first, 64 * 4096);
    move(fd, !first, 1);
}

int main(int argc, char **argv)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(here);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int one = 1;
    double time[TRIPS];
    double parts = argc > 1 ? 64 : 2;

    (void)argv;
    if (bind(listener, (struct sockaddr *)&here, length) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&here, &length) != 0) {
        return 1;
    }
    int first = fork() != 0;
    alarm(LIMIT_SECONDS); /* who has lost the other would read for ever */
    int fd = first ? accept(listener, NULL, NULL) : socket(AF_INET, SOCK_STREAM, 0);
    if (!first && connect(fd, (struct sockaddr *)&here, length) != 0) {
        return 1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    for (int i = 0; i < TRIPS; i++) {
        struct timespec before, after;

        clock_gettime(CLOCK_MONOTONIC, &before);
        if (argc > 1) {
            stream(fd, first);
        } else {
            bounce(fd, first);
        }
        clock_gettime(CLOCK_MONOTONIC, &after);
        time[i] = (double)(after.tv_sec - before.tv_sec) * 1e9 +
                  (double)(after.tv_nsec - before.tv_nsec);
    }
    qsort(time, TRIPS, sizeof(*time), compare);
    if (first) {
        printf("%.1f\n", time[TRIPS / 2] / parts);
    }
    return 0;
}
