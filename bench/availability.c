/* availability: what is left of rank 0's processor while rank 1 streams 100 KB
 * messages into its posted receives: Figures 12 and 13 of the MPI-on-Portals
 * paper, after COMB.  Work calls neither MPI nor the clock; its length is the
 * parameter, behind the kind of receive: named (source and tag given) or wildcard
 * (MPI_ANY_SOURCE, so that no sender can know where its message goes).
 *   poll: DEPTH receives are kept posted; rank 0 works for that long, tests them,
 *         each once and the oldest first, and posts those anew that are full.
 *         availability.poll = 100 (time of that work alone) / (time it took)
 *         availability.poll.bw = bytes received / the same time
 *   pww:  post DEPTH receives, work for that long, wait for all.
 *         availability.pww.alone, .work, .wait: the work alone, the same while
 *         messages come, as in the figures, and the wait after it
 *         availability.pww = 100 alone / (post + work + wait)
 *         availability.pww.bw = bytes received / (post + work + wait)
 * An argument, named or wildcard, leaves the other kind out. */
#include "bench.h"
enum { BYTES = 100000, DEPTH = 8, REPS = 5, MOST = 200, TAG = 1, GO = 2 };

static char *buf[DEPTH];
static double rate;
static int batch;

static double alone(long turns, int reps)
{
    double t[MOST];
    for (int i = 0; i < reps; i++) {
        t[i] = wall();
        work(turns);
        t[i] = wall() - t[i];
    }
    return median(t, reps);
}

static void begin(void)
{
    batch++;
    for (int i = 0; i < DEPTH; i++)
        if (me == 1)
            fill(buf[i], BYTES, batch, i);
        else
            spoil(buf[i], BYTES);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void end(const char *bench, const char *param)
{
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < DEPTH; i++)
        check(me == 1 || right(buf[i], BYTES, batch, i), bench, param);
}

static void post(int i, int wild, MPI_Request *r)
{
    MPI_Irecv(buf[i], BYTES, MPI_BYTE, wild ? MPI_ANY_SOURCE : 1, TAG, MPI_COMM_WORLD, r);
}

static void stream(int n)
{
    for (int i = 0; i < n; i++)
        MPI_Send(buf[i % DEPTH], BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

/* Time for n messages, and in *works how often the work was done meanwhile. */
static double poll(long turns, int n, int wild, long *works)
{
    MPI_Request r[DEPTH];
    int posted = 0, got = 0, is_full;
    for (; posted < DEPTH; posted++)
        post(posted, wild, &r[posted]);
    MPI_Send(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD);
    double t = wall();
    for (*works = 0; got < n; ++*works) {
        work(turns);
        for (int k = 0; k < DEPTH && got < n; k++) {
            MPI_Test(&r[got % DEPTH], &is_full, MPI_STATUS_IGNORE);
            if (!is_full)
                break;
            if (posted < n) {
                post(posted % DEPTH, wild, &r[posted % DEPTH]);
                posted++;
            }
            got++;
        }
    }
    return wall() - t;
}

static void polling(double x, int wild, const char *param)
{
    double per = x / DEPTH > 25e-6 ? x / DEPTH : 25e-6, a[REPS], b[REPS];
    int n = (int)(0.12 / per) / DEPTH * DEPTH;
    long turns = (long)(rate * x), works;
    int reps = x < 3e-3 ? REPS : 3;
    if (n < 2 * DEPTH)
        n = 2 * DEPTH;
    for (int i = -1; i < reps; i++) {
        double bare = alone(turns, x < 1e-3 ? 20 : 3); /* just before: speeds change */
        begin();
        if (me == 0) {
            double t = poll(turns, n, wild, &works);
            if (i >= 0) {
                a[i] = 100 * bare * (double)works / t;
                b[i] = (double)n * BYTES / t / 1e6;
            }
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            stream(n);
        }
        end("availability.poll", param);
    }
    if (me == 0) {
        row("availability.poll", param, median(a, reps), "%");
        row("availability.poll.bw", param, median(b, reps), "MB/s");
    }
}

static void post_work_wait(double x, int wild, const char *param)
{
    int reps = x < 1e-3 ? MOST : x < 1e-2 ? 41 : 11;
    double a[MOST], w[MOST], v[MOST], all[MOST];
    long turns = (long)(rate * x);
    MPI_Request r[DEPTH];
    for (int i = -3; i < reps; i++) {
        double bare = alone(turns, 1);
        begin();
        if (me == 0) {
            double t0 = wall();
            for (int k = 0; k < DEPTH; k++)
                post(k, wild, &r[k]);
            MPI_Send(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD);
            double t1 = wall();
            work(turns);
            double t2 = wall();
            MPI_Waitall(DEPTH, r, MPI_STATUSES_IGNORE);
            double t3 = wall();
            if (i >= 0) {
                a[i] = bare;
                w[i] = t2 - t1;
                v[i] = t3 - t2;
                all[i] = t3 - t0;
            }
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            stream(DEPTH);
        }
        end("availability.pww", param);
    }
    if (me == 0) {
        double t = median(all, reps), bare = median(a, reps);
        row("availability.pww", param, 100 * bare / t, "%");
        row("availability.pww.alone", param, bare * 1e6, "us");
        row("availability.pww.work", param, median(w, reps) * 1e6, "us");
        row("availability.pww.wait", param, median(v, reps) * 1e6, "us");
        row("availability.pww.bw", param, (double)DEPTH * BYTES / t / 1e6, "MB/s");
    }
}

int main(int argc, char **argv)
{
    static const int us[] = {10, 30, 100, 300, 1000, 3000, 10000, 30000};
    char param[64];
    bench_begin(&argc, &argv, 2);
    rate = work_turns_per_second();
    for (int i = 0; i < DEPTH; i++)
        buf[i] = buffer(BYTES);
    for (int wild = 0; wild < 2; wild++) {
        if (argc > 1 && strcmp(argv[1], wild ? "wildcard" : "named") != 0)
            continue;
        for (int k = 0; k < 8; k++) {
            snprintf(param, sizeof param, "%s,%dus", wild ? "wildcard" : "named", us[k]);
            polling(us[k] * 1e-6, wild, param);
            post_work_wait(us[k] * 1e-6, wild, param);
        }
    }
    for (int i = 0; i < DEPTH; i++)
        free(buf[i]);
    MPI_Finalize();
    return 0;
}
