/* overlap: post - work - wait.  Rank 0 is measured, rank 1 sits inside MPI.
 *   recv: rank 0 posts a receive, tells rank 1, works, waits.
 *   send: rank 1 posts a receive, tells rank 0, which sends, works, waits.
 * The work calls neither MPI nor the clock and lasts x times the bare transfer,
 * which is shown too (overlap.bare: the same without work) to hold against the
 * half-round-trip time of pingpong.
 * overlap% = 100 (t_comm + t_work - t_total) / min(t_comm, t_work).
 *   away.sender:   the receiver waits for a message whose sender left MPI for
 *                  200 ms just after MPI_Isend; time from asking to having it.
 *   away.receiver: the sender's MPI_Isend..MPI_Wait when the receiver posted
 *                  its receive and then left MPI for 200 ms.
 *   away.*.ssend:    the same by MPI_Issend.
 *   away.*.late:     the message was there before its receive was posted.
 *   away.*.wildcard: received from MPI_ANY_SOURCE with MPI_ANY_TAG.
 * An argument is the only size that is measured (4194304 only so). Behind it:
 *   bound   each rank's program is kept on a processor of its own, its other threads are
 * not works   rank 1 computes as long as rank 0 when it has sent: no processor is free
 * What a bare socket and a thread reach with these is shown by floor_overlap. */
#define _GNU_SOURCE
#include "bench.h"
#include <sched.h>
enum { REPS = 41, AWAY = 5 };

static int partner_works;

static void keep_apart(void)
{
    cpu_set_t mine;
    CPU_ZERO(&mine);
    CPU_SET(me, &mine);
    sched_setaffinity(0, sizeof mine, &mine);
}

static void take_words(int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (strcmp(argv[i], "bound") == 0)
            keep_apart();
        if (strcmp(argv[i], "works") == 0)
            partner_works = 1;
    }
}

/* once: send it outside the clock too; caches are then as sending leaves them. */
static void before(char *buf, int n, int i, int from, int once)
{
    if (me == from) {
        fill(buf, (size_t)n, i, me);
        if (once)
            MPI_Send(buf, n, MPI_BYTE, 1 - me, 5, MPI_COMM_WORLD);
    } else {
        if (once)
            MPI_Recv(buf, n, MPI_BYTE, from, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        spoil(buf, (size_t)n);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void after(char *buf, int n, int i, int from, const char *bench, const char *param)
{
    MPI_Barrier(MPI_COMM_WORLD);
    check(right(buf, (size_t)n, i, from), bench, param);
}

static double post_work_wait(char *buf, int n, int sender, long turns, const char *bench,
                             const char *param)
{
    double t[REPS];
    MPI_Request r;
    int from = sender ? 0 : 1;
    for (int i = -3; i < REPS; i++) {
        before(buf, n, i, from, 1);
        if (me == 0) {
            if (sender)
                MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            double t0 = MPI_Wtime();
            if (sender) {
                MPI_Isend(buf, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &r);
            } else {
                MPI_Irecv(buf, n, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &r);
                MPI_Send(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
            }
            work(turns);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
            if (i >= 0)
                t[i] = MPI_Wtime() - t0;
        } else if (sender) {
            MPI_Irecv(buf, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r);
            MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buf, n, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            if (partner_works)
                work(turns);
        }
        after(buf, n, i, from, bench, param);
    }
    return me == 0 ? median(t, REPS) : 0;
}

enum { PLAIN, SSEND, LATE, WILDCARD, KINDS };

/* The receiver's part, or the sender's; time from asking to having. */
static double take(char *buf, int n, int leaves, int kind)
{
    MPI_Request r;
    int any = kind == WILDCARD;
    if (kind == LATE)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double t0 = MPI_Wtime();
    MPI_Irecv(buf, n, MPI_BYTE, any ? MPI_ANY_SOURCE : 0, any ? MPI_ANY_TAG : 3,
              MPI_COMM_WORLD, &r);
    if (kind != LATE)
        MPI_Send(NULL, 0, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
    if (leaves)
        away(0.2);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    return MPI_Wtime() - t0;
}

static double give(char *buf, int n, int leaves, int kind)
{
    MPI_Request r;
    if (kind != LATE)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double t0 = MPI_Wtime();
    if (kind == SSEND)
        MPI_Issend(buf, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &r);
    else
        MPI_Isend(buf, n, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &r);
    if (kind == LATE)
        MPI_Send(NULL, 0, MPI_BYTE, 1, 4, MPI_COMM_WORLD);
    if (leaves)
        away(0.2);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    return MPI_Wtime() - t0;
}

static double leave(char *buf, int n, int sender_leaves, int kind, const char *bench)
{
    double t[AWAY];
    for (int i = 0; i < AWAY; i++) {
        before(buf, n, i, 0, 0);
        t[i] = me == 1 ? take(buf, n, !sender_leaves, kind)
                       : give(buf, n, sender_leaves, kind);
        after(buf, n, i, 0, bench, bytes_name((size_t)n));
    }
    double m = median(t, AWAY);
    if (sender_leaves) /* the receiver's figure, shown by rank 0 */
        MPI_Bcast(&m, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    return m;
}

int main(int argc, char **argv)
{
    static const int size[] = {8, 1024, 102400, 1048576, 4194304};
    static const double times[] = {1, 2, 4};
    static const char *const kind_name[] = {"", ".ssend", ".late", ".wildcard"};
    bench_begin(&argc, &argv, 2);
    char *buf = buffer(4194304), p[64];
    take_words(argc, argv);
    double rate = work_turns_per_second();

    for (int s = 0; s < 5; s++) {
        if (argc > 1 ? atoi(argv[1]) != size[s] : s == 4)
            continue;
        for (int sender = 0; sender < 2 && s > 1; sender++) {
            snprintf(p, sizeof p, "%s,%d", sender ? "send" : "recv", size[s]);
            double comm = post_work_wait(buf, size[s], sender, 0, "overlap.bare", p);
            if (me == 0)
                row("overlap.bare", p, comm * 1e6, "us");
            for (int k = 0; k < 3; k++) {
                long turns = (long)(rate * comm * times[k]);
                MPI_Bcast(&turns, 1, MPI_LONG, 0, MPI_COMM_WORLD);
                double w[REPS];
                for (int i = 0; i < REPS; i++) {
                    w[i] = wall();
                    work(turns);
                    w[i] = wall() - w[i];
                }
                double wk = median(w, REPS);
                snprintf(p, sizeof p, "%s,%d,work=%gx", sender ? "send" : "recv", size[s],
                         times[k]);
                double total = post_work_wait(buf, size[s], sender, turns, "overlap", p);
                if (me == 0)
                    row("overlap", p, 100 * (comm + wk - total) / (comm < wk ? comm : wk),
                        "%");
            }
        }
        for (int k = 0; k < 2 * KINDS; k++) {
            int sl = k % 2 == 0;
            char bench[32];
            snprintf(bench, sizeof bench, "away.%s%s", sl ? "sender" : "receiver",
                     kind_name[k / 2]);
            double t = leave(buf, size[s], sl, k / 2, bench);
            if (me == 0)
                row(bench, bytes_name((size_t)size[s]), t * 1e3, "ms");
        }
    }
    free(buf);
    MPI_Finalize();
    return 0;
}
