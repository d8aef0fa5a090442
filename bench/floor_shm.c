/* floor_shm: what two processes on two cores can do at best, without MPI.
 *   flag:   half-round-trip of one cache line bounced between them
 *   copy2:  double copy through a shared ring of 32 KiB slots (in, then out)
 *   copy1:  one memcpy from shared memory another process wrote
 *   vmread: one process_vm_readv from the other process's private memory
 *   memcpy: one process alone, private to private
 * Linux only.  Build: cc -O2 -o floor_shm floor_shm.c   Run: ./floor_shm */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { BATCHES = 61, BIG = 4194304, SLOT = 32768, SLOTS = 8 };

struct line {
    _Alignas(128) atomic_long v;
};
static struct shared {
    struct line ping, pong, head, tail, gate[2];
    char *volatile where;
    _Alignas(4096) char ring[SLOTS][SLOT];
    char big[BIG];
} * sh;
static int me;
static double t[BATCHES];

static double now(void)
{
    struct timespec s;
    clock_gettime(CLOCK_MONOTONIC, &s);
    return s.tv_sec + 1e-9 * s.tv_nsec;
}
static void barrier(void)
{
    long n = atomic_fetch_add(&sh->gate[me].v, 1) + 1;
    while (atomic_load(&sh->gate[!me].v) < n)
        ;
}
static int cmp(const void *a, const void *b)
{
    double x = *(double *)a, y = *(double *)b;
    return (x > y) - (x < y);
}
static void say(const char *name, size_t n, double scale, const char *unit)
{
    qsort(t, BATCHES, sizeof *t, cmp);
    if (me)
        return;
    double med = t[BATCHES / 2], best = t[0];
    if (n) {
        printf("%s\t%zuB\t%.4g\t%s\n", name, n, n / med / scale, unit);
        printf("%s.max\t%zuB\t%.4g\t%s\n", name, n, n / best / scale, unit);
    } else {
        printf("%s\t-\t%.4g\t%s\n%s.min\t-\t%.4g\t%s\n", name, med * scale, unit, name,
               best * scale, unit);
    }
    fflush(stdout);
}

static void flag(void)
{
    long n = 0;
    for (int b = 0; b < BATCHES; b++) {
        barrier();
        double t0 = now();
        for (int i = 0; i < 2000; i++) {
            n++;
            if (me == 0)
                atomic_store_explicit(&sh->ping.v, n, memory_order_release);
            while (atomic_load_explicit(me ? &sh->ping.v : &sh->pong.v,
                                        memory_order_acquire) != n)
                ;
            if (me)
                atomic_store_explicit(&sh->pong.v, n, memory_order_release);
        }
        t[b] = (now() - t0) / 2 / 2000;
    }
    say("floor.flag", 0, 1e6, "us");
}

static void copy2(char *buf, size_t n)
{
    for (int b = 0; b < BATCHES; b++) {
        barrier();
        long base = atomic_load(&sh->head.v);
        barrier();
        double t0 = now();
        for (size_t at = 0, k = 0; at < n; at += SLOT, k++) {
            size_t len = n - at < SLOT ? n - at : SLOT;
            if (me == 0) {
                while (base + (long)k - atomic_load(&sh->tail.v) >= SLOTS)
                    ;
                memcpy(sh->ring[k % SLOTS], buf + at, len);
                atomic_store(&sh->head.v, base + (long)k + 1);
            } else {
                while (atomic_load(&sh->head.v) < base + (long)k + 1)
                    ;
                memcpy(buf + at, sh->ring[k % SLOTS], len);
                atomic_store(&sh->tail.v, base + (long)k + 1);
            }
        }
        barrier();
        t[b] = now() - t0;
    }
    say("floor.copy2", n, 1e6, "MB/s");
}

/* The two take turns: 0 writes its memory afresh, 1 fetches it; 1's time. */
static void fetch(const char *name, int vm, char *buf, size_t n, pid_t parent)
{
    double sum[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        if (me == 0)
            memset(vm ? buf : sh->big, b, n);
        barrier();
        if (me == 1) {
            double t0 = now();
            if (vm) {
                struct iovec l = {buf, n}, r = {sh->where, n};
                if (process_vm_readv(parent, &l, 1, &r, 1, 0) != (ssize_t)n)
                    perror("process_vm_readv");
            } else {
                memcpy(buf, sh->big, n);
            }
            double *slot = (double *)sh->ring[0];
            *slot = now() - t0;
        }
        barrier();
        sum[b] = *(double *)sh->ring[0];
    }
    memcpy(t, sum, sizeof t);
    say(name, n, 1e6, "MB/s");
}

int main(void)
{
    static const size_t size[] = {65536, 262144, 1048576, BIG};
    sh = mmap(0, sizeof *sh, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(sh, 0, sizeof *sh);
    pid_t parent = getpid(), child = fork();
    me = child == 0;
    cpu_set_t c;
    CPU_ZERO(&c);
    CPU_SET(me, &c);
    sched_setaffinity(0, sizeof c, &c);
    char *a = malloc(BIG), *b = malloc(BIG);
    memset(a, me, BIG);
    memset(b, me, BIG);
    if (!me)
        sh->where = a;
    flag();
    for (int s = 0; s < 4; s++) {
        copy2(a, size[s]);
        fetch("floor.copy1", 0, a, size[s], parent);
        fetch("floor.vmread", 1, a, size[s], parent);
    }
    for (int s = 0; s < 4; s++) {
        for (int i = 0; i < BATCHES; i++) {
            double t0 = now();
            memcpy(i % 2 ? a : b, i % 2 ? b : a, size[s]);
            t[i] = now() - t0;
        }
        barrier();
        say("floor.memcpy", size[s], 1e6, "MB/s");
    }
    if (!me)
        wait(0);
    return 0;
}
