/*
 * hang.c - programs that never end, by the name of what is wrong with them: hang.py reads
 * what mpiexec says of each. Ranks that have no part in it wait in MPI_Barrier.
 */
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PARTS = 4, SMALL = 2048, TAG = 5 };

static int rank;
static int size;
static const char *path; /* of a file */
static char buffer[1 << 16];

/* A macro, so that each call has a line of its own. */
#define RECEIVE(from, tag, comm)                                                         \
    MPI_Recv(buffer, 8, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE)

static void deadlock(void)
{
    if (rank < 2) {
        RECEIVE(1 - rank, TAG, MPI_COMM_WORLD); /* deadlock receives */
    }
}

static void cycle(void)
{
    if (rank < 5) {
        RECEIVE((rank + 1) % 5, TAG, MPI_COMM_WORLD); /* cycle receives */
    }
}

static void missing(void)
{
    int sum = 0;

    if (rank == 1) {
        RECEIVE(3, 7, MPI_COMM_WORLD); /* missing receives */
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* sums */
}

/* Of two blocking calls the ranks themselves would say that they differ. */
static void mismatch(void)
{
    MPI_Request request;

    if (rank == 1) {
        MPI_Bcast(buffer, 8, MPI_BYTE, 0, MPI_COMM_WORLD); /* mismatch casts */
        return;
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* mismatch waits */
}

static void tag(void)
{
    if (rank == 0) {
        MPI_Send(buffer, 8, MPI_BYTE, 1, TAG + 1, MPI_COMM_WORLD);
    } else if (rank == 1) {
        RECEIVE(0, TAG, MPI_COMM_WORLD); /* tag receives */
    }
}

static void communicator(void)
{
    MPI_Comm other;

    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_name(other, "other");
    if (rank == 0) {
        MPI_Send(buffer, 8, MPI_BYTE, 1, TAG, other);
    } else if (rank == 1) {
        RECEIVE(0, TAG, MPI_COMM_WORLD); /* communicator receives */
    }
}

static void wildcard(void)
{
    if (rank == 0) {
        for (int i = 0; i < size; i++) { /* one more than there are */
            RECEIVE(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD); /* wildcard receives */
        }
    } else {
        MPI_Send(buffer, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

static void loop(void)
{
    volatile unsigned long turns = 0;

    while (rank == 2) {
        turns = turns + 1; /* loops */
    }
}

static void stopped(void)
{
    if (rank == 2) {
        raise(SIGSTOP);
    }
}

/* Rank 1 was to pass on what rank 2 sends. */
static void dead(void)
{
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 2) {
        raise(SIGKILL);
    } else if (rank == 1) {
        RECEIVE(2, TAG, MPI_COMM_WORLD);
        RECEIVE(0, TAG + 1, MPI_COMM_WORLD); /* dead receives */
    } else {
        RECEIVE(rank == 0 ? 1 : 0, TAG, MPI_COMM_WORLD); /* dead receives, too */
    }
}

static void space(void)
{
    if (rank == 0) {
        RECEIVE(2, TAG, MPI_COMM_WORLD); /* space receives */
    }
    while (rank == 1) {
        MPI_Send(buffer, SMALL, MPI_BYTE, 0, TAG, MPI_COMM_WORLD); /* space sends */
    }
}

static void partitioned(void)
{
    MPI_Request request;

    if (rank == 0) {
        MPI_Psend_init(buffer, PARTS, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
        MPI_Start(&request);
        MPI_Pready_range(0, PARTS - 2, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* partitioned send */
    } else if (rank == 1) {
        MPI_Precv_init(buffer, PARTS, 8, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* partitioned receive */
    }
}

static void synchronous(void)
{
    if (rank == 0) {
        MPI_Ssend(buffer, 8, MPI_BYTE, 1, 7, MPI_COMM_WORLD); /* synchronous sends */
    }
}

static void request(void)
{
    MPI_Request r;

    if (rank == 0) {
        MPI_Irecv(buffer, 8, MPI_BYTE, 1, 9, MPI_COMM_WORLD, &r);
        MPI_Wait(&r, MPI_STATUS_IGNORE); /* request waits */
    }
}

static void finalize(void)
{
    if (rank == 2) {
        pause(); /* sleeps */
    }
    MPI_Finalize(); /* finalize ends */
    exit(0);
}

static void probe(void)
{
    int flag = 0;

    while (rank == 0 && !flag) {
        MPI_Iprobe(1, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); /* probe probes */
    }
}

static void test(void)
{
    MPI_Request r;
    int flag = 0;

    if (rank == 0) {
        MPI_Irecv(buffer, 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &r);
        while (!flag) {
            MPI_Test(&r, &flag, MPI_STATUS_IGNORE); /* test tests */
        }
    } else if (rank == 1) {
        MPI_Send(buffer, 8, MPI_BYTE, 0, TAG + 1, MPI_COMM_WORLD);
    }
}

/* A half of the ranks, in a communicator of its own, misses its last member. */
static void part(void)
{
    MPI_Comm half;

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Comm_set_name(half, rank % 2 == 0 ? "even" : "odd");
    if (rank == 3) {
        pause();
    }
    MPI_Barrier(half); /* part meets */
}

/* A FIFO that nobody writes stands for a file on a server that does not answer. */
static void file(void)
{
    MPI_File handle;

    if (rank == 2) {
        const int how = MPI_MODE_RDONLY;

        MPI_File_open(MPI_COMM_SELF, path, how, MPI_INFO_NULL, &handle); /* file opens */
    }
}

/* ---- jobs that are not stuck ---- */

static MPI_Win window;
static MPI_File scratch;
static long one = 1;
static long old;

static void fetch_once(void)
{
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
}

static void put_once(void)
{
    MPI_Put(&one, 1, MPI_LONG, size - 1, 0, 1, MPI_LONG, window);
    MPI_Win_flush_all(window);
}

static void write_once(void)
{
    MPI_File_write_at(scratch, 0, &one, sizeof(one), MPI_BYTE, MPI_STATUS_IGNORE);
}

static void pack_once(void)
{
    static char packed[SMALL];
    int at = 0;

    MPI_Pack(buffer, SMALL, MPI_BYTE, packed, SMALL, &at, MPI_COMM_SELF);
    at = 0;
    MPI_Unpack(packed, SMALL, &at, buffer, SMALL, MPI_BYTE, MPI_COMM_SELF);
}

static void reduce_once(void)
{
    MPI_Reduce_local(&one, &old, 1, MPI_LONG, MPI_MAX);
}

static void make_type_once(void)
{
    MPI_Datatype type;

    MPI_Type_vector(2, 1, 2, MPI_LONG, &type);
    MPI_Type_free(&type);
}

/* The longest time between two moves of rank 0, so far. */
static double longest_pause(void)
{
    static double last;
    static double longest;
    const double now = MPI_Wtime();

    longest = last > 0 && now - last > longest ? now - last : longest;
    last = now;
    return longest;
}

/* Rank 0 does each of these for a while. */
static void work(void (*const each[])(void), int count)
{
    for (int i = 0; i < count; i++) {
        const double begin = MPI_Wtime();

        while (rank == 0 && MPI_Wtime() - begin < 0.6) {
            each[i]();
            longest_pause();
        }
    }
}

static void say_longest_pause(void)
{
    if (rank == 0) {
        printf("%f\n", longest_pause());
    }
}

/* Rank 0 works, and all others wait for it. */
static void works(void)
{
    void (*const each[])(void) = {fetch_once, put_once, write_once};
    long *memory;

    longest_pause();
    MPI_Win_allocate(sizeof(long), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL,
                  &scratch);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
    work(each, 3);
    MPI_Win_unlock_all(window);
    MPI_File_close(&scratch);
    MPI_Win_free(&window);
    say_longest_pause();
}

/* Makes progress by calls that communicate with no other rank. */
static void local(void)
{
    void (*const each[])(void) = {pack_once, reduce_once, make_type_once};

    longest_pause();
    work(each, 3);
    say_longest_pause();
}

/* Not stuck at all: all ranks speak with each other until they are ended. */
static void busy(void)
{
    int sum = 0;

    for (;;) {
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} all[] = {
    {"deadlock", deadlock},
    {"cycle", cycle},
    {"missing", missing},
    {"mismatch", mismatch},
    {"tag", tag},
    {"communicator", communicator},
    {"wildcard", wildcard},
    {"loop", loop},
    {"stopped", stopped},
    {"dead", dead},
    {"space", space},
    {"partitioned", partitioned},
    {"synchronous", synchronous},
    {"request", request},
    {"finalize", finalize},
    {"probe", probe},
    {"test", test},
    {"part", part},
    {"busy", busy},
    {"file", file},
    {"works", works},
    {"local", local},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    path = argc == 3 ? argv[2] : "";
    for (size_t i = 0; argc >= 2 && i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(all[i].name, argv[1]) == 0) {
            all[i].run();                /* runs */
            MPI_Barrier(MPI_COMM_WORLD); /* all meet */
            MPI_Finalize();
            return 0;
        }
    }
    fprintf(stderr, "usage: hang NAME [FILE]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
}
