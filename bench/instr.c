/* instr: a fixed number of calls for an instruction counter to look at, by bench/instr.
 *   instr CASE FILE   under mpiexec with 2 processes
 * Every case makes 640 of the calls it is named after, in groups of 16, with 8 bytes:
 *   send, isend       rank 0 sends; rank 1 receives
 *   recv              rank 1 receives what waits in the transport: it stays out of MPI
 *                     until a group was sent, so that no call polls for long
 *   irecv             rank 1 begins to receive a group before it is sent, stays away as
 *                     above, and waits for each message of it
 *   unexpected        rank 1 receives what it has taken before without a receive for it
 *   sendrecv          rank 0 with itself
 *   put, get, fetch, flush  rank 0 on allocated memory of rank 1, in one epoch
 *   allreduce, bcast, barrier  both ranks, rank 1 is the root; rank 0 comes a little
 *                     later than rank 1, so that it seldom waits
 *
 * FILE is an empty file, in whose memory rank 0 counts the groups that it has sent, and
 * rank 1 its collective calls.  All else uses other calls than the counted ones, so that
 * a counter can be told to look at those only. */
#include "bench.h"
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>
enum { GROUPS = 40, GROUP = 16, DATA = 1, GO = 2 };

static const char *which;
static _Alignas(8) char in[8], out[8];
static _Atomic int *sent; /* groups, or calls that have begun; shared */

static int is(const char *name)
{
    return strcmp(which, name) == 0;
}

static void send_group(void)
{
    MPI_Request r;

    for (int i = 0; i < GROUP; i++)
        if (is("isend")) {
            MPI_Isend(out, 8, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        } else {
            MPI_Send(out, 8, MPI_BYTE, 1, DATA, MPI_COMM_WORLD);
        }
}

static void recv_group(MPI_Request *requests)
{
    for (int i = 0; i < GROUP; i++)
        if (is("irecv"))
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        else
            MPI_Recv(in, 8, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A message from one rank to the other, by calls that no case counts. */
static void tell(int from)
{
    MPI_Request r;

    if (me == from)
        MPI_Isend(out, 1, MPI_BYTE, 1 - from, GO, MPI_COMM_WORLD, &r);
    else
        MPI_Irecv(in, 1, MPI_BYTE, from, GO, MPI_COMM_WORLD, &r);
    for (int done = 0; !done;)
        MPI_Test(&r, &done, MPI_STATUS_IGNORE);
}

static void share(const char *path)
{
    int fd = open(path, O_RDWR);

    if (fd < 0 || ftruncate(fd, sizeof *sent) != 0)
        MPI_Abort(MPI_COMM_WORLD, 4);
    sent = mmap(NULL, sizeof *sent, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (sent == MAP_FAILED)
        MPI_Abort(MPI_COMM_WORLD, 4);
    close(fd);
}

static void self(void)
{
    for (int i = 0; me == 0 && i < GROUPS * GROUP; i++)
        MPI_Sendrecv(out, 8, MPI_BYTE, 0, DATA, in, 8, MPI_BYTE, 0, DATA, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
}

static void one_sided(void)
{
    static long long one = 1, old;
    MPI_Win win;
    char *base;

    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
    MPI_Win_lock_all(0, win);
    if (me == 0) { /* the first operation on a target is another way */
        MPI_Raccumulate(out, 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, MPI_REPLACE, win,
                        &(MPI_Request){MPI_REQUEST_NULL});
        MPI_Win_flush_all(win);
    }
    for (int i = 0; me == 0 && i < GROUPS * GROUP; i++)
        if (is("put"))
            MPI_Put(out, 8, MPI_BYTE, 1, 8, 8, MPI_BYTE, win);
        else if (is("get"))
            MPI_Get(in, 8, MPI_BYTE, 1, 8, 8, MPI_BYTE, win);
        else if (is("fetch"))
            MPI_Fetch_and_op(&one, &old, MPI_LONG_LONG, 1, 16, MPI_SUM, win);
        else
            MPI_Win_flush(1, win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* Rank 0 comes when rank 1 is most likely in the call, and is not yet asleep there. */
static void meet(int call)
{
    enum { TURNS = 2000 };

    if (me == 1) {
        atomic_store(sent, call + 1);
        return;
    }
    while (atomic_load(sent) <= call)
        sched_yield();
    for (volatile int i = 0; i < TURNS; i++) {
    }
}

static void collectives(void)
{
    for (int i = 0; i < GROUPS * GROUP; i++) {
        meet(i);
        if (is("allreduce"))
            MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        else if (is("bcast"))
            MPI_Bcast(in, 8, MPI_BYTE, 1, MPI_COMM_WORLD);
        else
            MPI_Barrier(MPI_COMM_WORLD);
    }
}

static void pair(void)
{
    MPI_Request requests[GROUP];

    for (int g = 0; g < GROUPS; g++) {
        for (int i = 0; me == 1 && is("irecv") && i < GROUP; i++)
            MPI_Irecv(in, 8, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, &requests[i]);
        tell(1); /* rank 1 is ready for a group */
        if (me == 0) {
            send_group();
            atomic_store(sent, g + 1);
        }
        while (atomic_load(sent) <= g) /* not inside MPI */
            sched_yield();
        if (is("unexpected"))
            tell(0); /* rank 1 takes the group on its way to this one */
        if (me == 1)
            recv_group(requests);
    }
}

int main(int argc, char **argv)
{
    bench_begin(&argc, &argv, 2);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    which = argv[1];
    share(argv[2]);
    if (is("sendrecv"))
        self();
    else if (is("put") || is("get") || is("fetch") || is("flush"))
        one_sided();
    else if (is("allreduce") || is("bcast") || is("barrier"))
        collectives();
    else
        pair();
    tell(0); /* no barrier: one case counts those */
    tell(1);
    MPI_Finalize();
    return 0;
}
