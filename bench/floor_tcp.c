/* floor_tcp: ping-pong over one TCP_NODELAY connection, without MPI.
 *   poll:  both ends spin on non-blocking read; block: both block in read
 * Usage: floor_tcp                 both ends here, over 127.0.0.1
 *        floor_tcp -s ADDR PORT    the answering end (start it first)
 *        floor_tcp -c ADDR PORT    the asking end, which reports
 * Build: cc -O2 -o floor_tcp floor_tcp.c */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { BATCHES = 41, BIG = 4194304 };

static double now(void)
{
    struct timespec s;
    clock_gettime(CLOCK_MONOTONIC, &s);
    return s.tv_sec + 1e-9 * s.tv_nsec;
}
static int cmp(const void *a, const void *b)
{
    double x = *(double *)a, y = *(double *)b;
    return (x > y) - (x < y);
}
static void pump(int fd, char *buf, size_t n, int out, int spin)
{
    while (n) {
        ssize_t r = out ? send(fd, buf, n, MSG_NOSIGNAL | (spin ? MSG_DONTWAIT : 0))
                        : recv(fd, buf, n, spin ? MSG_DONTWAIT : 0);
        if (r > 0) {
            buf += r;
            n -= (size_t)r;
        } else if (r == 0 || (errno != EAGAIN && errno != EINTR)) {
            perror("pump");
            exit(1);
        }
    }
}

int main(int argc, char **argv)
{
    static const size_t size[] = {1,     8,     64,     1024,    4096,
                                  16384, 65536, 262144, 1048576, BIG};
    int ask = argc < 4 || argv[1][1] == 'c', self = argc < 4, fd, one = 1;
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    inet_pton(AF_INET, self ? "127.0.0.1" : argv[2], &a.sin_addr);
    a.sin_port = htons(self ? 0 : (unsigned short)atoi(argv[3]));
    if (self || !ask) {
        int l = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(l, (void *)&a, len) || listen(l, 1) ||
            getsockname(l, (void *)&a, &len)) {
            perror("listen");
            return 1;
        }
        if (self && fork() != 0)
            goto connecting;
        ask = 0;
        fd = accept(l, 0, 0);
    } else {
    connecting:
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (void *)&a, len)) {
            perror("connect");
            return 1;
        }
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    cpu_set_t c;
    CPU_ZERO(&c);
    CPU_SET(ask ? 0 : 1, &c);
    sched_setaffinity(0, sizeof c, &c);
    char *buf = calloc(1, BIG);
    memset(buf, 1, BIG);

    for (int spin = 1; spin >= 0; spin--)
        for (int s = 0; s < 10; s++) {
            size_t n = size[s];
            int iters = n <= 4096 ? 200 : n <= 65536 ? 50 : n <= 1048576 ? 8 : 3;
            double t[BATCHES];
            for (int b = -1; b < BATCHES; b++) {
                double t0 = now();
                for (int i = 0; i < iters; i++) {
                    pump(fd, buf, n, ask, spin);
                    pump(fd, buf, n, !ask, spin);
                }
                if (b >= 0)
                    t[b] = (now() - t0) / 2 / iters;
            }
            qsort(t, BATCHES, sizeof *t, cmp);
            if (ask)
                printf("floor.tcp.%s\t%zuB\t%.4g\tus\nfloor.tcp.%s.min\t%zuB\t%.4g"
                       "\tus\nfloor.tcp.%s.bw\t%zuB\t%.4g\tMB/s\n",
                       spin ? "poll" : "block", n, t[BATCHES / 2] * 1e6,
                       spin ? "poll" : "block", n, t[0] * 1e6, spin ? "poll" : "block", n,
                       n / t[BATCHES / 2] / 1e6);
        }
    if (self && ask)
        wait(0);
    return 0;
}
