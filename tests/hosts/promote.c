/*
 * promote.c - messages between hosts while a network comes and goes (promote.py).
 *
 *   promote MESSAGES [FILE]
 *
 * Every rank sends so many numbered messages to every other, of lengths from 0 to 6,000
 * bytes, and checks those that it gets: each comes once, in order, with all its bytes.
 * The first rank says how long the first of each took.
 * With FILE the first rank says "half" in the middle, and all wait until the file exists;
 * if FILE is "connected", until each has a connection to every other.
 *
 *   promote talk MESSAGES [FILE]
 *
 * The first rank sends so many messages of 100, 5,000 and 60,000 bytes in turn to each
 * other; who waits for one sends a short message back every 20 ms meanwhile. FILE is as
 * above.
 *
 *   promote stream ROUNDS
 *
 * The first rank sends 1 MiB messages to the second, and small ones go both ways
 * meanwhile; all bytes are checked. In the middle both wait until they are connected.
 *
 *   promote ring
 *
 * Every rank sends a short message to every other, then each sends 1 MiB to the next.
 *
 *   promote wait FILE
 *
 * All have heard of each other, and the file exists: each waits for a message of the rank
 * before it, which sends none.
 *
 *   promote forget FILE
 *
 * The same, but the second rank sends a short message to the first and waits for the
 * third; that one waits for the first, and the first for anybody.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST = 6000, LONG = 1 << 20 };

static int me;
static int size;

static _Noreturn void fail(const char *what, int number, int from)
{
    fprintf(stderr, "rank %d: message %d of rank %d: %s\n", me, number, from, what);
    MPI_Abort(MPI_COMM_WORLD, 3);
    exit(3);
}

static unsigned char byte_of(int number, int from, int to, int at)
{
    return (unsigned char)(number * 7 + from * 31 + to * 13 + at);
}

static int length_of(int number)
{
    return number % 5 == 4 ? LONGEST - number % 97 : number * 37 % 1500;
}

static void fill(unsigned char *bytes, int length, int number, int to)
{
    for (int i = 0; i < length; i++) {
        bytes[i] = byte_of(number, me, to, i);
    }
}

static void check(const unsigned char *bytes, int length, int number, int from)
{
    for (int i = 0; i < length; i++) {
        if (bytes[i] != byte_of(number, from, me, i)) {
            fail("wrong bytes", number, from);
        }
    }
}

static void exchange(int number)
{
    const int length = length_of(number);
    unsigned char *out = malloc((size_t)size * LONGEST);
    unsigned char *in = malloc(LONGEST);
    MPI_Request *requests = malloc((size_t)size * sizeof(*requests));
    MPI_Status status;
    int got;

    if (out == NULL || in == NULL || requests == NULL) {
        fail("no memory", number, me);
    }
    for (int to = 0; to < size; to++) {
        fill(out + (size_t)to * LONGEST, length, number, to);
        MPI_Isend(out + (size_t)to * LONGEST, length, MPI_BYTE, to, 5, MPI_COMM_WORLD,
                  &requests[to]);
    }
    for (int from = 0; from < size; from++) {
        MPI_Recv(in, LONGEST, MPI_BYTE, from, 5, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &got);
        if (got != length) {
            fail("wrong length", number, from);
        }
        check(in, length, number, from);
    }
    MPI_Waitall(size, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(in);
    free(out);
}

/* The network of connections is loaded while datagrams go on, which takes a while. */
static void wait_for_connections(unsigned long long least)
{
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handle;
    unsigned long long open = 0;
    int provided;
    int index;
    int count;
    int flag;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    if (MPI_T_pvar_get_index("msg_connections", MPI_T_PVAR_CLASS_LEVEL, &index) !=
            MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) != MPI_SUCCESS) {
        fail("connections are not counted", 0, me);
    }
    while (open < least) {
        MPI_Iprobe(me, 8, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        MPI_T_pvar_read(session, handle, &open);
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
}

static void wait_for(const char *file)
{
    const struct timespec pause = {.tv_nsec = 20000000};

    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(file, "connected") == 0) {
        wait_for_connections((unsigned long long)size - 1);
        return;
    }
    if (me == 0) {
        printf("half\n");
        fflush(stdout);
    }
    while (access(file, F_OK) != 0) {
        nanosleep(&pause, NULL);
    }
}

static void number_all(int count, const char *file)
{
    const double begin = MPI_Wtime();
    double first = 0;

    for (int i = 0; i < count; i++) {
        if (i == count / 2 && file != NULL) {
            wait_for(file);
        }
        exchange(i);
        first = i == 0 ? MPI_Wtime() - begin : first;
    }
    if (me == 0) {
        printf("first messages: %.0f ms\n", first * 1e3);
    }
}

/* The first rank's half: a long message out, until the other has it. */
static void talk_to(int to, const unsigned char *bytes, int length)
{
    MPI_Request request;
    int is_here = 0;

    MPI_Isend(bytes, length, MPI_BYTE, to, 5, MPI_COMM_WORLD, &request);
    while (!is_here) {
        MPI_Recv(&is_here, 1, MPI_INT, to, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void listen_and_talk(unsigned char *bytes, int length)
{
    MPI_Request request;
    int is_here = 0;
    double next = MPI_Wtime();

    MPI_Irecv(bytes, length, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
    while (!is_here) {
        MPI_Test(&request, &is_here, MPI_STATUS_IGNORE);
        if (is_here || MPI_Wtime() > next) {
            MPI_Send(&is_here, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
            next += 0.02;
        }
    }
}

static void talk(int count, const char *file)
{
    static const int lengths[] = {100, 5000, 60000};
    unsigned char *bytes = malloc(60000);

    for (int i = 0; i < count && bytes != NULL; i++) {
        const int length = lengths[i % 3];

        if (i == count / 2 && file != NULL) {
            wait_for(file);
        }
        for (int to = 1; to < size && me == 0; to++) {
            fill(bytes, length, i, to);
            talk_to(to, bytes, length);
        }
        if (me != 0) {
            listen_and_talk(bytes, length);
            check(bytes, length, i, 0);
        }
    }
    free(bytes);
}

static void stream(int rounds)
{
    unsigned char *bytes = malloc(LONG);
    int other = 1 - me;

    for (int i = 0; i < rounds && me < 2 && bytes != NULL; i++) {
        MPI_Request request;
        int number = -1;

        if (i == rounds / 2) {
            wait_for_connections(1);
        }
        if (me == 0) {
            fill(bytes, LONG, i, 1);
            MPI_Isend(bytes, LONG, MPI_BYTE, 1, 6, MPI_COMM_WORLD, &request);
        } else {
            MPI_Irecv(bytes, LONG, MPI_BYTE, 0, 6, MPI_COMM_WORLD, &request);
        }
        for (int k = 0; k < 10; k++) {
            const int mine = i * 10 + k;

            MPI_Sendrecv(&mine, 1, MPI_INT, other, 7, &number, 1, MPI_INT, other, 7,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (number != mine) {
                fail("a small one is out of order", number, other);
            }
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (me == 1) {
            check(bytes, LONG, i, 0);
        }
    }
    free(bytes);
}

static void ring(void)
{
    unsigned char *bytes = malloc((size_t)2 * LONG);
    const int next = (me + 1) % size;
    const int before = (me + size - 1) % size;

    if (bytes == NULL) {
        fail("no memory", 0, me);
    }
    exchange(1);
    fill(bytes, LONG, 1, next);
    MPI_Sendrecv(bytes, LONG, MPI_BYTE, next, 8, bytes + LONG, LONG, MPI_BYTE, before, 8,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(bytes + LONG, LONG, 1, before);
    free(bytes);
}

static void receive_from(int rank)
{
    int number;

    MPI_Recv(&number, 1, MPI_INT, rank, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void wait_for_each_other(const char *file)
{
    exchange(1);
    wait_for(file);
    receive_from((me + size - 1) % size);
}

static void forget(const char *file)
{
    exchange(1);
    wait_for(file);
    if (me == 1) {
        MPI_Send(&me, 1, MPI_INT, 0, 10, MPI_COMM_WORLD);
    }
    receive_from(me == 0 ? MPI_ANY_SOURCE : me == 1 ? 2 : 0);
    if (me == 0) {
        for (int to = 1; to < size; to++) {
            MPI_Send(&me, 1, MPI_INT, to, 10, MPI_COMM_WORLD);
        }
    } else if (me == 2) {
        MPI_Send(&me, 1, MPI_INT, 1, 10, MPI_COMM_WORLD);
    }
}

/* A job of few messages does without. */
static void say_if_loaded(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096];
    int is_loaded = 0;

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        is_loaded |= strstr(line, "/libfabric.so") != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    if (is_loaded) {
        fprintf(stderr, "rank %d has loaded libfabric\n", me);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2 && strcmp(argv[1], "stream") == 0) {
        stream(atoi(argv[2]));
    } else if (argc > 2 && strcmp(argv[1], "talk") == 0) {
        talk(atoi(argv[2]), argc > 3 ? argv[3] : NULL);
    } else if (argc > 2 && strcmp(argv[1], "wait") == 0) {
        wait_for_each_other(argv[2]);
    } else if (argc > 2 && strcmp(argv[1], "forget") == 0) {
        forget(argv[2]);
    } else if (argc > 1 && strcmp(argv[1], "ring") == 0) {
        ring();
    } else {
        number_all(argc > 1 ? atoi(argv[1]) : 10, argc > 2 ? argv[2] : NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    say_if_loaded();
    if (me == 0) {
        printf("all came\n");
    }
    MPI_Finalize();
    return 0;
}
