/* floor_overlap: how much of receiving overlaps with work where a thread of its own does
 * nothing but read a bare TCP connection into the buffer; what bench/overlap reaches is
 * to be held against it.  Each end's work is kept on a processor of its own, the thread
 * is free.  The measured end posts the buffer to that thread, tells its partner, works,
 * and waits for the thread.  The partner sends, and then
 *   waits:  blocks in read until the next round
 *   works:  computes too, as long as the measured end: no processor is free
 * overlap% = 100 (t_comm + t_work - t_total) / min(t_comm, t_work), t_comm with a partner
 * of the same kind that has nothing to compute. Usage: floor_overlap                 both
 * ends here, over 127.0.0.1 floor_overlap -s ADDR PORT    the partner (start it first)
 *        floor_overlap -c ADDR PORT    the measured end, which reports
 * Build: cc -O2 -pthread -o floor_overlap floor_overlap.c */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
enum { REPS = 41, BIG = 4194304 };

struct round {
    int bytes; /* 0: it is over */
    long turns;
};

static int control, data;
static char *buf;
static sem_t posted, there;
static size_t wanted;

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
static double median(double *t)
{
    qsort(t, REPS, sizeof *t, cmp);
    return t[REPS / 2];
}
static void pump(int fd, void *at, size_t n, int out)
{
    while (n) {
        ssize_t r = out ? send(fd, at, n, MSG_NOSIGNAL) : recv(fd, at, n, 0);
        if (r > 0) {
            at = (char *)at + r;
            n -= (size_t)r;
        } else if (r == 0 || errno != EINTR) {
            perror("pump");
            exit(1);
        }
    }
}
static volatile double sink;
static void work(long turns)
{
    double x = sink;
    for (long i = 0; i < turns; i++)
        x = x * 0.999999 + 1e-6;
    sink = x;
}

static void *read_posted(void *unused)
{
    for (;;) {
        sem_wait(&posted);
        pump(data, buf, wanted, 0);
        sem_post(&there);
    }
    return unused;
}

static void bind_to(int processor)
{
    cpu_set_t c;
    CPU_ZERO(&c);
    CPU_SET(processor, &c);
    sched_setaffinity(0, sizeof c, &c);
}

static double measure(int bytes, long turns, int works)
{
    double t[REPS];
    struct round round = {bytes, works ? turns : 0};
    for (int i = -3; i < REPS; i++) {
        char ready;
        memset(buf, 0xa5, (size_t)bytes);
        wanted = (size_t)bytes;
        pump(control, &ready, 1, 0);
        double t0 = now();
        sem_post(&posted);
        pump(control, &round, sizeof round, 1);
        work(turns);
        while (sem_wait(&there) != 0)
            ;
        if (i >= 0)
            t[i] = now() - t0;
        if (buf[bytes - 1] != 1)
            exit(3);
    }
    return median(t);
}

static void report(void)
{
    static const int size[] = {1048576, BIG};
    static const int times[] = {1, 2, 4};
    double rate = 0;
    pthread_t helper;
    pthread_create(&helper, NULL, read_posted, NULL);
    bind_to(0);
    for (int k = 0; k < 9; k++) {
        double t = now();
        work(2000000);
        t = 2000000 / (now() - t);
        rate = t > rate ? t : rate;
    }
    for (int s = 0; s < 2; s++) {
        for (int works = 0; works < 2; works++) {
            const char *kind = works ? "works" : "waits";
            double comm = measure(size[s], 0, works);
            printf("floor_overlap.bare\trecv,%s,%d\t%.4g\tus\n", kind, size[s],
                   comm * 1e6);
            for (int k = 0; k < 3; k++) {
                long turns = (long)(rate * comm * times[k]);
                double w[REPS];
                for (int i = 0; i < REPS; i++) {
                    w[i] = now();
                    work(turns);
                    w[i] = now() - w[i];
                }
                double wk = median(w), total = measure(size[s], turns, works);
                printf("floor_overlap\trecv,%s,%d,work=%dx\t%.4g\t%%\n", kind, size[s],
                       times[k], 100 * (comm + wk - total) / (comm < wk ? comm : wk));
                fflush(stdout);
            }
        }
    }
    pump(control, &(struct round){0}, sizeof(struct round), 1);
}

static void partner(void)
{
    struct round round;
    memset(buf, 1, BIG);
    bind_to(1);
    for (;;) {
        pump(control, "r", 1, 1);
        pump(control, &round, sizeof round, 0);
        if (round.bytes == 0)
            return;
        pump(data, buf, (size_t)round.bytes, 1);
        work(round.turns);
    }
}

static int connection(struct sockaddr_in *a, int listener)
{
    int one = 1, fd = listener < 0 ? socket(AF_INET, SOCK_STREAM, 0)
                                   : accept(listener, NULL, NULL);
    if (fd < 0 || (listener < 0 && connect(fd, (void *)a, sizeof *a) != 0)) {
        perror("connection");
        exit(1);
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

int main(int argc, char **argv)
{
    int self = argc < 4, measured = self || argv[1][1] == 'c', listener = -1, one = 1;
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof a;
    inet_pton(AF_INET, self ? "127.0.0.1" : argv[2], &a.sin_addr);
    a.sin_port = htons(self ? 0 : (unsigned short)atoi(argv[3]));
    buf = malloc(BIG);
    sem_init(&posted, 0, 0);
    sem_init(&there, 0, 0);
    if (self || !measured) {
        listener = socket(AF_INET, SOCK_STREAM, 0);
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
        if (bind(listener, (void *)&a, len) || listen(listener, 2) ||
            getsockname(listener, (void *)&a, &len)) {
            perror("listen");
            return 1;
        }
        if (self && fork() != 0)
            listener = -1;
        else
            measured = 0;
    }
    control = connection(&a, listener);
    data = connection(&a, listener);
    measured ? report() : partner();
    return 0;
}
