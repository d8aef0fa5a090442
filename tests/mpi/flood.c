/*
 * flood.c - chapter 3: floods at full length, with the memory of every rank read every 10
 * ms. Plain MPI, so that other libraries can be asked the same.
 *
 *     flood CASE COUNT SLEEP_MS LIMIT_MIB
 *
 *   send     every other rank sends COUNT messages of 1 KiB to rank 0, which sleeps
 *            first and then takes them, last sender first
 *   isend    the same with MPI_Isend, a window of requests at a time
 *   all-out  the same with the requests of all messages outstanding at once
 *   empty    the same with messages of no bytes; their order shows in the tags
 *   kept     one message of every 1024 is not received before all others are over
 *   behind   the last rank sends COUNT messages with tag 1, then one with tag 2, which
 *            is received first
 *   left     the same, but rank 0 has begun to receive that one, and computes: while
 *            it calls no MPI function, its memory has to keep to the limit
 *   all      each, in this order
 *
 * Ends the job if rank 0 has ever more than LIMIT_MIB resident (0: no limit). What must
 * be let in before the message that is asked for can be seen is allowed besides: all of
 * them in `behind`, and in `left` once it is waited for.
 */
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

enum {
    BYTES = 1024,
    WORDS = BYTES / (int)sizeof(int),
    WINDOW = 1000,
    STRETCH = 1024, /* messages, of which one is kept */
    RECORD = 208,   /* bytes that a message may cost besides its data */
    TAGS = 32768,   /* that every library has */
    EVERY_NS = 10000000,
};

static int rank;
static int size;
static int count;
static int sleep_ms;

/* ---- memory ---- */

static struct {
    _Atomic long peak_kib;
    _Atomic long limit_kib; /* 0: none */
    _Atomic int is_over;
    pthread_t thread;
} memory;

static long resident_kib(void)
{
    char line[128];
    long pages = 0;
    int file = open("/proc/self/statm", O_RDONLY);
    ssize_t n;

    CHECK(file >= 0);
    n = read(file, line, sizeof(line) - 1);
    close(file);
    CHECK(n > 0);
    line[n] = 0;
    CHECK(sscanf(line, "%*s %ld", &pages) == 1);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void look(void)
{
    const long kib = resident_kib();
    const long limit = atomic_load(&memory.limit_kib);

    if (kib > atomic_load(&memory.peak_kib)) {
        atomic_store(&memory.peak_kib, kib);
    }
    if (limit > 0 && kib > limit) {
        fprintf(stderr, "rank %d has %ld MiB, more than %ld\n", rank, kib / 1024,
                limit / 1024);
        _exit(98);
    }
}

static void *watch(void *argument)
{
    while (!atomic_load(&memory.is_over)) {
        nanosleep(&(struct timespec){.tv_nsec = EVERY_NS}, NULL);
        look();
    }
    return argument;
}

/* ---- the floods ---- */

static void fill(int *message, int i)
{
    message[0] = i;
    message[WORDS - 1] = i ^ rank;
}

static void send_each(int to, int tag)
{
    static int message[WORDS];

    for (int i = 0; i < count; i++) {
        fill(message, i);
        CHECK(MPI_Send(message, BYTES, MPI_BYTE, to, tag, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

static void isend_each(int to, int tag)
{
    static int messages[WINDOW][WORDS];
    static MPI_Request requests[WINDOW];

    for (int i = 0; i < count; i += WINDOW) {
        const int n = count - i < WINDOW ? count - i : WINDOW;

        for (int k = 0; k < n; k++) {
            fill(messages[k], i + k);
            CHECK(MPI_Isend(messages[k], BYTES, MPI_BYTE, to, tag, MPI_COMM_WORLD,
                            &requests[k]) == MPI_SUCCESS);
        }
        CHECK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    }
}

static void isend_all(int to, int tag)
{
    int(*messages)[WORDS] = malloc((size_t)count * sizeof(*messages));
    MPI_Request *requests = malloc((size_t)count * sizeof(*requests));

    CHECK(messages != NULL && requests != NULL);
    for (int i = 0; i < count; i++) {
        fill(messages[i], i);
        CHECK(MPI_Isend(messages[i], BYTES, MPI_BYTE, to, tag, MPI_COMM_WORLD,
                        &requests[i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < count; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    free(requests);
    free(messages);
}

static void take_one(int from, int tag, int i)
{
    static int message[WORDS];
    MPI_Status status;
    int n;

    CHECK(MPI_Recv(message, BYTES, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status) ==
          MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_BYTE, &n) == MPI_SUCCESS && n == BYTES);
    CHECK(message[0] == i && message[WORDS - 1] == (i ^ from));
}

static void take_each(int from, int tag)
{
    for (int i = 0; i < count; i++) {
        take_one(from, tag, i);
    }
}

static void sleep_first(void)
{
    nanosleep(&(struct timespec){.tv_sec = sleep_ms / 1000,
                                 .tv_nsec = sleep_ms % 1000 * 1000000L},
              NULL);
}

static void flood(void (*send)(int to, int tag))
{
    if (rank != 0) {
        send(0, 1);
        return;
    }
    sleep_first();
    for (int from = size - 1; from > 0; from--) {
        take_each(from, 1);
    }
}

static void flood_send(void)
{
    flood(send_each);
}

static void flood_isend(void)
{
    flood(isend_each);
}

static void flood_all_out(void)
{
    flood(isend_all);
}

static void flood_empty(void)
{
    MPI_Status status;

    if (rank != 0) {
        for (int i = 0; i < count; i++) {
            CHECK(MPI_Send(NULL, 0, MPI_BYTE, 0, i % TAGS, MPI_COMM_WORLD) ==
                  MPI_SUCCESS);
        }
        return;
    }
    sleep_first();
    for (int from = size - 1; from > 0; from--) {
        for (int i = 0; i < count; i++) {
            CHECK(MPI_Recv(NULL, 0, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD,
                           &status) == MPI_SUCCESS);
            CHECK(status.MPI_TAG == i % TAGS && status.MPI_SOURCE == from);
        }
    }
}

/* The last of a stretch is received first, so that all others of it have to be kept. */
static void take_stretch(int first, int last)
{
    take_one(1, 4, last);
    for (int i = first + 1; i < last; i++) {
        take_one(1, 3, i);
    }
}

static void flood_kept(void)
{
    static int message[WORDS];

    for (int first = 0; first < count; first += STRETCH) {
        const int last = first + STRETCH - 1;

        for (int i = first; rank == 1 && i <= last; i++) {
            const int tag = i == first ? 7 : i == last ? 4 : 3;

            fill(message, i);
            CHECK(MPI_Send(message, BYTES, MPI_BYTE, 0, tag, MPI_COMM_WORLD) ==
                  MPI_SUCCESS);
        }
        if (rank == 0) {
            take_stretch(first, last);
        }
    }
    for (int first = 0; rank == 0 && first < count; first += STRETCH) {
        take_one(1, 7, first);
    }
}

static void flood_behind(void)
{
    static int message[WORDS];

    if (rank == size - 1) {
        send_each(0, 1);
        fill(message, count);
        CHECK(MPI_Send(message, BYTES, MPI_BYTE, 0, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else if (rank == 0) {
        take_one(size - 1, 2, count);
        take_each(size - 1, 1);
    }
}

static long allowance_kib(void)
{
    return ((BYTES + RECORD) * (long)count + 1023) / 1024;
}

static void flood_left(void)
{
    static int message[WORDS];
    MPI_Request request;

    if (rank == 0) {
        CHECK(MPI_Irecv(message, BYTES, MPI_BYTE, size - 1, 2, MPI_COMM_WORLD,
                        &request) == MPI_SUCCESS);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank == size - 1) {
        send_each(0, 1);
        fill(message, count);
        CHECK(MPI_Send(message, BYTES, MPI_BYTE, 0, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else if (rank == 0) {
        sleep_first();
        look();
        if (atomic_load(&memory.limit_kib) > 0) {
            atomic_fetch_add(&memory.limit_kib, allowance_kib());
        }
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(message[0] == count && message[WORDS - 1] == (count ^ (size - 1)));
        take_each(size - 1, 1);
    }
}

/* ---- one case after the other ---- */

static const struct {
    const char *name;
    void (*run)(void);
    bool lets_all_in;
} cases[] = {
    {"send", flood_send, false},       {"isend", flood_isend, false},
    {"all-out", flood_all_out, false}, {"empty", flood_empty, false},
    {"kept", flood_kept, false},       {"behind", flood_behind, true},
    {"left", flood_left, false},
};

static void run_case(size_t which, long limit_mib)
{
    const long allowed =
        limit_mib * 1024 + (cases[which].lets_all_in ? allowance_kib() : 0);
    double start;
    long mine;
    long others = 0;

    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    atomic_store(&memory.limit_kib, rank == 0 && limit_mib > 0 ? allowed : 0);
    atomic_store(&memory.peak_kib, 0);
    start = MPI_Wtime();
    cases[which].run();
    look();
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    mine = rank == 0 ? 0 : atomic_load(&memory.peak_kib);
    CHECK(MPI_Reduce(&mine, &others, 1, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    if (rank == 0) {
        printf("%-7s  %d ranks  %d messages  %.1f s  receiver %.1f MiB  "
               "largest sender %.1f MiB\n",
               cases[which].name, size, count, MPI_Wtime() - start,
               (double)atomic_load(&memory.peak_kib) / 1024, (double)others / 1024);
        fflush(stdout);
    }
    atomic_store(&memory.limit_kib, 0);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "all";
    const long limit_mib = argc > 4 ? strtol(argv[4], NULL, 10) : 0;
    bool is_known = false;
    int provided;

    CHECK(MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    count = argc > 2 ? atoi(argv[2]) : 20000;
    sleep_ms = argc > 3 ? atoi(argv[3]) : 100;
    CHECK(pthread_create(&memory.thread, NULL, watch, NULL) == 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        if (strcmp(name, "all") == 0 || strcmp(name, cases[i].name) == 0) {
            is_known = true;
            if (size > 1) {
                run_case(i, limit_mib);
            }
        }
    }
    CHECK(is_known);
    atomic_store(&memory.is_over, 1);
    CHECK(pthread_join(memory.thread, NULL) == 0);
    return MPI_Finalize();
}
