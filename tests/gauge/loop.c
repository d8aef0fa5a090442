/*
 * loop.c - twenty lines that know nothing of weft-gauge: 8 bytes to and fro over a TCP
 * stream on loopback, spinning; prints the median of half a round trip in nanoseconds.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { TRIPS = 4000 };

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

int main(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(here);
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    int one = 1;
    double time[TRIPS];

    if (bind(listener, (struct sockaddr *)&here, length) != 0 ||
        listen(listener, 1) != 0 ||
        getsockname(listener, (struct sockaddr *)&here, &length) != 0) {
        return 1;
    }
    int first = fork() != 0;
    int fd = first ? accept(listener, NULL, NULL) : socket(AF_INET, SOCK_STREAM, 0);
    if (!first && connect(fd, (struct sockaddr *)&here, length) != 0) {
        return 1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    for (int i = 0; i < TRIPS; i++) {
        struct timespec before, after;

        clock_gettime(CLOCK_MONOTONIC, &before);
        bounce(fd, first);
        clock_gettime(CLOCK_MONOTONIC, &after);
        time[i] = (double)(after.tv_sec - before.tv_sec) * 1e9 +
                  (double)(after.tv_nsec - before.tv_nsec);
    }
    qsort(time, TRIPS, sizeof(*time), compare);
    if (first) {
        printf("%.1f\n", time[TRIPS / 2] / 2);
    }
    return 0;
}
