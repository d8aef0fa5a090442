/* datagram: what bench/datagrams measures over each transport.
 *
 *   datagram latency [SIZE [BATCHES]]   half round trip of SIZE bytes (8): median of
 * batches datagram tail [COUNT]        half round trips of 1 KiB, one by one: median,
 * p99, longest datagram stream [SIZE [SECONDS]]  messages of SIZE bytes (1 MiB), WINDOW
 * under way datagram incast [MIB]        every rank sends so much (64) to rank 0 in
 * messages of 1 MiB, first rank 1 alone, then all at once: goodput, and the time of the
 * slowest sender by that of the fastest datagram all                 8 bytes to and from
 * every rank, all at once, twice; and the memory of a process before and after: its own
 * pages (uss), its share (pss), and what the kernel holds for its sockets
 *
 * The first two have one value for each message or batch; every byte is checked. */
#include "bench.h"
#include <dirent.h>
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
    double t[1000];
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

/* KiB that the kernel holds in the buffers of this process's sockets: what is allocated,
 * by /proc/net, for UDP and TCP, of the receive and send queues together. */
static double socket_kib(void)
{
    double all = 0;
    char line[512];
    FILE *f = fopen("/proc/net/sockstat", "r");
    while (f && fgets(line, sizeof line, f)) {
        char *at = strstr(line, " mem ");
        if (at && (!strncmp(line, "TCP:", 4) || !strncmp(line, "UDP:", 4)))
            all += atof(at + 5) * (double)sysconf(_SC_PAGESIZE) / 1024;
    }
    if (f)
        fclose(f);
    return all / np; /* of all processes of this host, which are those of the job */
}

static int count_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n - 3;
}

static void memory(double kib[4])
{
    char line[256];
    long v;
    FILE *f = fopen("/proc/self/smaps_rollup", "r");
    memset(kib, 0, 4 * sizeof *kib);
    while (f && fgets(line, sizeof line, f)) {
        if (sscanf(line, "Pss: %ld", &v) == 1)
            kib[0] = (double)v;
        if (sscanf(line, "Private_Clean: %ld", &v) == 1 ||
            sscanf(line, "Private_Dirty: %ld", &v) == 1)
            kib[1] += (double)v;
    }
    if (f)
        fclose(f);
    kib[2] = socket_kib();
    kib[3] = count_descriptors();
    MPI_Barrier(MPI_COMM_WORLD);
}

static double exchange(MPI_Request *q, uint64_t *from)
{
    uint64_t mine = word(2, me, 0);
    int k = 0, ok = 1;
    double t = MPI_Wtime(), longest;
    for (int d = 1; d < np; d++)
        MPI_Irecv(&from[d], 8, MPI_BYTE, (me - d + np) % np, 2, MPI_COMM_WORLD, &q[k++]);
    for (int d = 1; d < np; d++)
        MPI_Isend(&mine, 8, MPI_BYTE, (me + d) % np, 2, MPI_COMM_WORLD, &q[k++]);
    MPI_Waitall(k, q, MPI_STATUSES_IGNORE);
    t = MPI_Wtime() - t;
    for (int d = 1; d < np; d++)
        ok &= from[d] == word(2, (me - d + np) % np, 0);
    check(ok, "all", "bytes");
    MPI_Reduce(&t, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return longest;
}

static void all_with_all(void)
{
    static const char *const what[] = {"pss", "uss", "sockets", "descriptors"};
    MPI_Request *q = malloc(2 * (size_t)np * sizeof *q);
    uint64_t *from = malloc((size_t)np * sizeof *from);
    double before[4], after[4], mean[8], first, again;
    MPI_Barrier(MPI_COMM_WORLD);
    memory(before);
    first = exchange(q, from);
    MPI_Barrier(MPI_COMM_WORLD);
    again = exchange(q, from);
    MPI_Barrier(MPI_COMM_WORLD);
    usleep(100000);
    memory(after);
    MPI_Reduce(before, mean, 4, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(after, mean + 4, 4, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (me == 0) {
        row("all.first", "time", first * 1e3, "ms");
        row("all.again", "time", again * 1e3, "ms");
        for (int i = 0; i < 4; i++) {
            row("all.before", what[i], mean[i] / np, i < 3 ? "KiB" : "files");
            row("all.after", what[i], mean[4 + i] / np, i < 3 ? "KiB" : "files");
        }
        row("all.growth", "uss", (mean[5] - mean[1]) / np * 1024 / (np - 1), "B/peer");
    }
    free(q), free(from);
}

static double number(int argc, char **argv, int at, double usual)
{
    return argc > at ? atof(argv[at]) : usual;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "latency";
    bench_begin(&argc, &argv, strchr("ia", *what) ? 0 : 2);
    if (strcmp(what, "all") == 0) {
        all_with_all();
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
