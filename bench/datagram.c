/* datagram: what bench/datagrams measures over each transport.
 *
 *   datagram latency [SIZE [BATCHES]]
 *       half round trip of SIZE bytes (8): median of batches
 *   datagram tail [COUNT]
 *       half round trips of 1 KiB, one by one: median, p99, longest
 *   datagram stream [SIZE [SECONDS]]
 *       messages of SIZE bytes (1 MiB), WINDOW under way
 *   datagram incast [MIB]
 *       every rank sends so much (64) to rank 0 in messages of 1 MiB, first rank 1 alone,
 *       then all at once: goodput, and the time of the slowest sender by the fastest's
 *   datagram all
 *       8 bytes to and from every rank, twice, one after the other in the order of a ring
 *       (the UD paper's benchmark), then once with all requests at once; the mean time of
 *       a process; its memory before and after: own pages (uss), share (pss), its
 * sockets, what their buffers hold and what they may hold; and repeated datagrams
 *   datagram mixed [TIMES]
 *       the ring once, then 1 MiB to the next rank and from the one before, so many times
 *       (8): time, bandwidth of all, memory
 *
 * The first two have one value for each message or batch; every byte is checked. */
#include "bench.h"
#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WINDOW = 16, BATCH = 200, MIB = 1 << 20 };

static char *out, *in;

static void bounce(int n)
{
    if (me == 0)
        MPI_Send(out, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(in, n, MPI_BYTE, 1 - me, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (me == 1)
        MPI_Send(out, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

static void latency(size_t n, int batches)
{
    double *t = malloc((size_t)batches * sizeof *t);
    fill(out, n, 1, me), spoil(in, n);
    for (int b = -1; b < batches; b++) {
        double t0 = MPI_Wtime();
        for (int i = 0; i < BATCH; i++)
            bounce((int)n);
        if (b >= 0)
            t[b] = (MPI_Wtime() - t0) / 2 / BATCH;
    }
    check(right(in, n, 1, 1 - me), "latency", bytes_name(n));
    if (me == 0) {
        row("latency", bytes_name(n), median(t, batches) * 1e6, "us");
        row("latency.min", bytes_name(n), t[0] * 1e6, "us");
    }
    free(t);
}

static void tail(int count)
{
    double *t = malloc((size_t)count * sizeof *t);
    for (int i = -100; i < count; i++) {
        double t0 = MPI_Wtime();
        bounce(1024);
        if (i >= 0)
            t[i] = (MPI_Wtime() - t0) / 2;
    }
    if (me == 0) {
        row("tail", "median", median(t, count) * 1e6, "us");
        row("tail", "p99", t[count * 99L / 100] * 1e6, "us");
        row("tail", "longest", t[count - 1] * 1e6, "us");
    }
    free(t);
}

/* Sends or takes one window, and returns its bytes. */
static double window(size_t n, int is_sender, int peer)
{
    MPI_Request q[WINDOW];
    for (int i = 0; i < WINDOW; i++)
        if (is_sender)
            MPI_Isend(out, (int)n, MPI_BYTE, peer, 2, MPI_COMM_WORLD, &q[i]);
        else
            MPI_Irecv(in + (size_t)i * n, (int)n, MPI_BYTE, peer, 2, MPI_COMM_WORLD,
                      &q[i]);
    MPI_Waitall(WINDOW, q, MPI_STATUSES_IGNORE);
    return WINDOW * (double)n;
}

static void stream(size_t n, double seconds)
{
    double bytes = 0, t0;
    int more = 1;
    fill(out, n, 3, 0), spoil(in, WINDOW * n);
    window(n, me == 0, 1 - me);
    MPI_Barrier(MPI_COMM_WORLD);
    t0 = MPI_Wtime();
    while (more) { /* the sender is one window ahead */
        bytes += window(n, me == 0, 1 - me);
        if (me == 0)
            more = MPI_Wtime() - t0 < seconds;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    t0 = MPI_Wtime() - t0;
    for (int i = 0; me == 1 && i < WINDOW; i++)
        check(right(in + (size_t)i * n, n, 3, 0), "stream", bytes_name(n));
    if (me == 0)
        row("stream", bytes_name(n), bytes / t0 / 1e6, "MB/s");
}

/* Ranks 1 to `senders` send; rank 0 gets the seconds of each, and of all. */
static double incast(int senders, int mib, double *each)
{
    MPI_Request *q = malloc((size_t)senders * sizeof *q);
    double mine = 0, all;
    MPI_Barrier(MPI_COMM_WORLD);
    all = MPI_Wtime();
    if (me == 0) {
        int *left = malloc((size_t)senders * sizeof *left), done;
        for (int s = 0; s < senders; s++) {
            left[s] = mib;
            MPI_Irecv(in + (size_t)s * MIB, MIB, MPI_BYTE, s + 1, 3, MPI_COMM_WORLD,
                      &q[s]);
        }
        for (MPI_Waitany(senders, q, &done, MPI_STATUS_IGNORE); done != MPI_UNDEFINED;
             MPI_Waitany(senders, q, &done, MPI_STATUS_IGNORE))
            if (--left[done] > 0)
                MPI_Irecv(in + (size_t)done * MIB, MIB, MPI_BYTE, done + 1, 3,
                          MPI_COMM_WORLD, &q[done]);
            else
                each[done] = MPI_Wtime() - all;
        free(left);
    } else if (me <= senders) {
        for (int i = 0; i < mib; i++)
            MPI_Send(out, MIB, MPI_BYTE, 0, 3, MPI_COMM_WORLD);
    }
    mine = MPI_Wtime() - all;
    for (int s = 0; me == 0 && s < senders; s++)
        check(right(in + (size_t)s * MIB, MIB, 4, s + 1), "incast", "bytes");
    free(q);
    MPI_Barrier(MPI_COMM_WORLD);
    return mine;
}

static void incasts(int mib)
{
    double *each = malloc((size_t)np * sizeof *each);
    double alone, all;
    fill(out, MIB, 4, me);
    incast(np - 1, 1, each);
    alone = incast(1, mib, each);
    all = incast(np - 1, mib, each);
    if (me == 0) {
        double one = mib * 1.048576 / alone, goodput = mib * 1.048576 * (np - 1) / all;
        qsort(each, (size_t)np - 1, sizeof *each, cmp_double);
        row("incast", "alone", one, "MB/s");
        row("incast", "goodput", goodput, "MB/s");
        row("incast", "share", 100 * goodput / one, "%");
        row("incast", "slowest", each[np - 2] / each[0], "times");
    }
    free(each);
}

/* ---- every rank to every other ---- */

enum { PSS, USS, SOCKETS, HELD, BOUND, MEMORY };
static const char *const memory_of[] = {"pss", "uss", "sockets", "buffers", "bounds"};
static const char *const memory_in[] = {"KiB", "KiB", "sockets", "KiB", "KiB"};

/* What the kernel holds for the data of a socket, and what it would hold at the most. */
static void add_socket(int fd, double *kib)
{
    enum { RMEM, RCVBUF, WMEM, SNDBUF, FORWARD, QUEUED, VARIABLES = 9 };
    uint32_t v[VARIABLES] = {0};
    socklen_t n = sizeof v;
    if (getsockopt(fd, SOL_SOCKET, 55 /* SO_MEMINFO */, v, &n) != 0)
        return;
    kib[SOCKETS]++;
    kib[HELD] +=
        (v[RMEM] + (v[WMEM] > v[QUEUED] ? v[WMEM] : v[QUEUED]) + v[FORWARD]) / 1024.;
    kib[BOUND] += (v[RCVBUF] + v[SNDBUF]) / 1024.;
}

static void memory(double *kib)
{
    char line[256];
    long v;
    struct dirent *e;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    DIR *d = opendir("/proc/self/fd");
    memset(kib, 0, MEMORY * sizeof *kib);
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "Pss: %ld", &v) == 1)
            kib[PSS] = (double)v;
        if (sscanf(line, "Private_Clean: %ld", &v) == 1 ||
            sscanf(line, "Private_Dirty: %ld", &v) == 1)
            kib[USS] += (double)v;
    }
    while (d && (e = readdir(d)))
        if (e->d_name[0] != '.')
            add_socket(atoi(e->d_name), kib);
    if (f)
        fclose(f);
    if (d)
        closedir(d);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void memory_rows(const char *bench, double *kib)
{
    double mean[MEMORY];
    MPI_Reduce(kib, mean, MEMORY, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int i = 0; me == 0 && i < MEMORY; i++)
        row(bench, memory_of[i], mean[i] / np, memory_in[i]);
}

static double mean_of(double t)
{
    double sum;
    MPI_Reduce(&t, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return sum / np;
}

/* One message after the other, as the paper does it. */
static double ring(void)
{
    uint64_t mine = word(2, me, 0), from;
    int ok = 1;
    double t = MPI_Wtime();
    for (int d = 1; d < np; d++) {
        int before = (me - d + np) % np;
        MPI_Sendrecv(&mine, 8, MPI_BYTE, (me + d) % np, 2, &from, 8, MPI_BYTE, before, 2,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        ok &= from == word(2, before, 0);
    }
    t = MPI_Wtime() - t;
    check(ok, "all", "bytes");
    MPI_Barrier(MPI_COMM_WORLD);
    return mean_of(t);
}

static double at_once(void)
{
    MPI_Request *q = malloc(2 * (size_t)np * sizeof *q);
    uint64_t *from = malloc((size_t)np * sizeof *from), mine = word(3, me, 0);
    int k = 0, ok = 1;
    double t;
    MPI_Barrier(MPI_COMM_WORLD);
    t = MPI_Wtime();
    for (int d = 1; d < np; d++)
        MPI_Irecv(&from[d], 8, MPI_BYTE, (me - d + np) % np, 2, MPI_COMM_WORLD, &q[k++]);
    for (int d = 1; d < np; d++)
        MPI_Isend(&mine, 8, MPI_BYTE, (me + d) % np, 2, MPI_COMM_WORLD, &q[k++]);
    MPI_Waitall(k, q, MPI_STATUSES_IGNORE);
    t = MPI_Wtime() - t;
    for (int d = 1; d < np; d++)
        ok &= from[d] == word(3, (me - d + np) % np, 0);
    check(ok, "all", "bytes");
    free(q), free(from);
    return mean_of(t);
}

/* Weft's counters of datagrams, from here on; other MPIs have none of that name. */
enum { SENT, REPEATED, DUPLICATES, COUNTERS };
static MPI_T_pvar_handle counters[COUNTERS];
static MPI_T_pvar_session session;

static int count_begin(void)
{
    static const char *const name[] = {"dgram_sent", "dgram_repeated",
                                       "dgram_duplicates"};
    int index, n, level;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &level);
    MPI_T_pvar_session_create(&session);
    for (int i = 0; i < COUNTERS; i++) {
        if (MPI_T_pvar_get_index(name[i], MPI_T_PVAR_CLASS_COUNTER, &index) !=
            MPI_SUCCESS)
            return 0;
        MPI_T_pvar_handle_alloc(session, index, NULL, &counters[i], &n);
        MPI_T_pvar_start(session, counters[i]);
    }
    return 1;
}

static void count_rows(const char *param)
{
    unsigned long long mine[COUNTERS] = {0}, all[COUNTERS];
    for (int i = 0; i < COUNTERS; i++)
        MPI_T_pvar_read(session, counters[i], &mine[i]);
    MPI_Reduce(mine, all, COUNTERS, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0 && all[SENT] > 0) {
        row("datagrams", param, (double)all[SENT], "datagrams");
        row("repeated", param, 100. * (double)all[REPEATED] / (double)all[SENT], "%");
        row("in vain", param, 100. * (double)all[DUPLICATES] / (double)all[SENT], "%");
    }
}

static void all_with_all(int again)
{
    double kib[MEMORY], t;
    int counts = count_begin();
    MPI_Barrier(MPI_COMM_WORLD);
    memory(kib);
    memory_rows("before", kib);
    t = ring();
    if (me == 0)
        row("first", "ring", t * 1e3, "ms");
    memory(kib);
    memory_rows("after", kib);
    if (counts)
        count_rows("ring");
    for (int i = 0; i < again; i++) {
        t = ring();
        if (me == 0)
            row("again", "ring", t * 1e3, "ms");
    }
    t = at_once();
    if (me == 0)
        row("again", "at once", t * 1e3, "ms");
    memory(kib);
    memory_rows("at once", kib);
    if (counts)
        count_rows("all");
}

/* What a job with few busy pairs wants: every peer once, one of them with much data. */
static void mixed(int times)
{
    double before[MEMORY], after[MEMORY], first, t;
    out = buffer(MIB), in = buffer(MIB);
    fill(out, MIB, 5, me), spoil(in, MIB);
    MPI_Barrier(MPI_COMM_WORLD);
    memory(before);
    first = ring();
    MPI_Barrier(MPI_COMM_WORLD);
    t = MPI_Wtime();
    for (int i = -1; i < times; i++) {
        MPI_Sendrecv(out, MIB, MPI_BYTE, (me + 1) % np, 3, in, MIB, MPI_BYTE,
                     (me - 1 + np) % np, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i < 0) { /* what connects, has */
            MPI_Barrier(MPI_COMM_WORLD);
            t = MPI_Wtime();
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    t = MPI_Wtime() - t;
    check(right(in, MIB, 5, (me - 1 + np) % np), "mixed", "bytes");
    memory(after);
    for (int i = 0; i < MEMORY; i++)
        after[i] -= i < SOCKETS ? before[i] : 0;
    if (me == 0) {
        row("mixed", "ring of 8B", first * 1e3, "ms");
        row("mixed", "ring of 1MiB", np * 1.048576 * times / t, "MB/s");
    }
    memory_rows("mixed", after);
}

static double number(int argc, char **argv, int at, double usual)
{
    return argc > at ? atof(argv[at]) : usual;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "latency";
    bench_begin(&argc, &argv, strchr("iam", *what) ? 0 : 2);
    if (strcmp(what, "all") == 0 || strcmp(what, "mixed") == 0) {
        if (*what == 'a')
            all_with_all((int)number(argc, argv, 2, 1));
        else
            mixed((int)number(argc, argv, 2, 8));
        return MPI_Finalize();
    }
    out = buffer(MIB);
    in = buffer((size_t)(np > WINDOW ? np : WINDOW) * MIB);
    if (strcmp(what, "tail") == 0)
        tail((int)number(argc, argv, 2, 10000));
    else if (strcmp(what, "stream") == 0)
        stream((size_t)number(argc, argv, 2, MIB), number(argc, argv, 3, 1));
    else if (strcmp(what, "incast") == 0)
        incasts((int)number(argc, argv, 2, 64));
    else
        latency((size_t)number(argc, argv, 2, 8), (int)number(argc, argv, 3, 41));
    free(out), free(in);
    return MPI_Finalize();
}
