/* floor_sched: what handing over between two waiting processes costs when they
 * may not spin: half-round-trip of one word in shared memory, waiting by
 *   yield1: sched_yield in a loop, both on one core (oversubscribed)
 *   futex1: futex wait/wake, both on one core
 *   futex2: futex wait/wake, a core each (both asleep in turn)
 * Linux only.  Build: cc -O2 -o floor_sched floor_sched.c */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
enum { BATCHES = 41, TURNS = 500 };

static struct {
    _Alignas(128) atomic_int v;
} * word; /* [0] ping, [1] pong */

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
static void pin(int cpu)
{
    cpu_set_t c;
    CPU_ZERO(&c);
    CPU_SET(cpu, &c);
    sched_setaffinity(0, sizeof c, &c);
}
static void tell(int k, int n, int futex)
{
    atomic_store(&word[k].v, n);
    if (futex)
        syscall(SYS_futex, &word[k].v, FUTEX_WAKE, 1, 0, 0, 0);
}
static void hear(int k, int n, int futex)
{
    int v;
    while ((v = atomic_load(&word[k].v)) != n)
        if (futex)
            syscall(SYS_futex, &word[k].v, FUTEX_WAIT, v, 0, 0, 0);
        else
            sched_yield();
}
static void run(const char *name, int futex, int cpu1)
{
    double t[BATCHES];
    word[0].v = word[1].v = 0;
    pid_t child = fork();
    int me = child == 0, n = 0;
    pin(me ? cpu1 : 0);
    for (int b = -1; b < BATCHES; b++) {
        double t0 = now();
        for (int i = 0; i < TURNS; i++) {
            n++;
            if (me == 0)
                tell(0, n, futex);
            hear(me ? 0 : 1, n, futex);
            if (me == 1)
                tell(1, n, futex);
        }
        if (b >= 0)
            t[b] = (now() - t0) / 2 / TURNS;
    }
    if (me)
        _exit(0);
    waitpid(child, 0, 0);
    qsort(t, BATCHES, sizeof *t, cmp);
    printf("floor.%s\t-\t%.4g\tus\nfloor.%s.min\t-\t%.4g\tus\n", name,
           t[BATCHES / 2] * 1e6, name, t[0] * 1e6);
    fflush(stdout);
}
int main(void)
{
    word = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    run("yield1", 0, 0);
    run("futex1", 1, 0);
    run("futex2", 1, 1);
    return 0;
}
