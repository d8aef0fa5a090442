/*
 * trace.c - the black box holds what the program has called: this program reads its own
 * and its neighbour's in the job segment.
 *
 * It is linked without the counter that other programs here have, so that return
 * addresses are those of this file.
 */
#include "check.h"

#include "wireup/doing.h"
#include "wireup/segment.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TAG = 7, SPINS = 20000, LONG = 1 << 20, NONE = WEFT_DOING_UNKNOWN, NO_TAG = -2 };

static struct weft_trace_copy copy;
static struct weft_segment_header *header;
static char buffer[LONG];
static char other[LONG];
static int rank;
static int size;

/* What the ring is to end with. */
static struct expected {
    enum weft_call_number call;
    int peer;
    int tag;
    uint32_t bytes;
} expected[64];
static uint32_t count;

#define DO(Name, peer, tag, bytes, ...)                                                  \
    do {                                                                                 \
        expected[count++] = (struct expected){WEFT_CALL_##Name, peer, tag, bytes};       \
        CHECK(MPI_##Name(__VA_ARGS__) == MPI_SUCCESS);                                   \
    } while (0)

static void map_segment(void)
{
    const int fd = atoi(getenv("WEFT_JOB"));
    struct stat st;

    CHECK(fstat(fd, &st) == 0);
    header = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    CHECK(header != MAP_FAILED);
}

/* The last `n` events of a rank of this node. */
static const struct weft_trace_event *read_last(int of, uint32_t n)
{
    const struct weft_slice *slice =
        (const struct weft_slice *)((const char *)header + header->slices_at +
                                    header->slice_bytes * (uint64_t)of);

    weft_trace_read(weft_slice_trace(slice), &copy);
    return copy.count >= n ? &copy.events[copy.count - n] : NULL;
}

static int is_in_program(uint64_t address)
{
    for (uint32_t i = 0; i < copy.module_count; i++) {
        const struct weft_trace_module *module = &copy.modules[i];

        if (address >= module->low && address < module->high) {
            return strstr(module->path, "mpi_trace") != NULL;
        }
    }
    return 0;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void check_expected(uint64_t begun)
{
    const struct weft_trace_event *events = read_last(rank, count);
    const uint64_t slack = 1000000000;

    CHECK(events != NULL && !copy.is_open);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t ns = weft_trace_ns(&copy, events[i].when);

        if (weft_trace_call(&events[i]) != expected[i].call) {
            fprintf(stderr, "event %u is %s, not %s\n", i,
                    weft_trace_name(weft_trace_call(&events[i])),
                    weft_trace_name(expected[i].call));
        }
        CHECK(weft_trace_call(&events[i]) == expected[i].call);
        CHECK(events[i].peer == expected[i].peer);
        CHECK(events[i].tag == expected[i].tag);
        CHECK(events[i].bytes == expected[i].bytes);
        CHECK(is_in_program(weft_trace_address(&events[i])));
        CHECK(ns + slack >= begun && ns <= now_ns() + slack);
    }
}

static void messages(MPI_Comm comm)
{
    const int next = (rank + 1) % size;
    const int last = (rank + size - 1) % size;
    const uint64_t begun = now_ns();
    MPI_Request request;
    MPI_Request both[2];

    count = 0;
    DO(Irecv, last, TAG, 8, other, 8, MPI_BYTE, last, TAG, comm, &request);
    DO(Send, next, TAG, 8, buffer, 2, MPI_INT, next, TAG, comm);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    expected[count++] = (struct expected){WEFT_CALL_Wait, 0, 0, 0}; /* filled below */
    DO(Isend, next, TAG, 16, buffer, 4, MPI_FLOAT, next, TAG, comm, &request);
    DO(Recv, MPI_ANY_SOURCE, MPI_ANY_TAG, 100, other, 100, MPI_BYTE, MPI_ANY_SOURCE,
       MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    expected[count++] = (struct expected){WEFT_CALL_Wait, 0, 0, 0};
    DO(Sendrecv, last, TAG + 1, LONG, buffer, LONG, MPI_BYTE, next, TAG + 1, other, LONG,
       MPI_BYTE, last, TAG + 1, comm, MPI_STATUS_IGNORE);
    DO(Irecv, last, TAG, 8, other, 1, MPI_DOUBLE, last, TAG, comm, &both[0]);
    DO(Issend, next, TAG, 8, buffer, 1, MPI_DOUBLE, next, TAG, comm, &both[1]);
    CHECK(MPI_Waitall(2, both, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    expected[count++] = (struct expected){WEFT_CALL_Waitall, 0, 0, 0};
    DO(Send, MPI_PROC_NULL, TAG, 1, buffer, 1, MPI_BYTE, MPI_PROC_NULL, TAG, comm);
    DO(Barrier, NONE, NO_TAG, 0, comm);
    DO(Bcast, size - 1, NO_TAG, 12, buffer, 3, MPI_INT, size - 1, comm);
    DO(Allreduce, NONE, NO_TAG, 8, buffer, other, 1, MPI_DOUBLE, MPI_SUM, comm);

    /* What a wait finds depends on whether the message has come. */
    CHECK(read_last(rank, count) != NULL);
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_trace_event *event = &copy.events[copy.count - count + i];

        if (expected[i].call == WEFT_CALL_Wait || expected[i].call == WEFT_CALL_Waitall) {
            CHECK(event->peer == NONE || event->peer == last || event->peer == next);
            expected[i].peer = event->peer;
            expected[i].tag = event->tag;
            expected[i].bytes = event->bytes;
        }
    }
    check_expected(begun);
}

/* MPI_Test and MPI_Iprobe in a loop leave what came before. */
static void spins(void)
{
    const int last = (rank + size - 1) % size;
    const uint64_t begun = now_ns();
    MPI_Request request;
    int flag;

    count = 0;
    DO(Irecv, last, TAG + 2, 8, other, 8, MPI_BYTE, last, TAG + 2, MPI_COMM_WORLD,
       &request);
    for (int i = 0; i < SPINS; i++) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        MPI_Iprobe(last, TAG + 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    expected[count++] = (struct expected){WEFT_CALL_Test, NONE, NO_TAG, 0};
    expected[count++] = (struct expected){WEFT_CALL_Iprobe, last, TAG + 3, 0};
    check_expected(begun);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(buffer, 8, MPI_BYTE, (rank + 1) % size, TAG + 2, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Does this rank wait in MPI_Recv from us? */
static int is_waiting(int of)
{
    const struct weft_trace_event *event = read_last(of, 1);

    return event != NULL && copy.is_open && weft_trace_call(event) == WEFT_CALL_Recv &&
           event->peer == 0 && event->tag == TAG + 4;
}

/* Rank 0 sees that another waits, sends, and sees that it waits no more. */
static void open_calls(void)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000};
    char word = 1;

    if (rank == 0) {
        for (int i = 0; i < 60000 && !is_waiting(1); i++) {
            nanosleep(&pause, NULL);
        }
        CHECK(is_waiting(1));
        MPI_Send(&word, 1, MPI_BYTE, 1, TAG + 4, MPI_COMM_WORLD);
        for (int i = 0; i < 60000 && is_waiting(1); i++) {
            nanosleep(&pause, NULL);
        }
        CHECK(!is_waiting(1));
    } else if (rank == 1) {
        MPI_Recv(&word, 1, MPI_BYTE, 0, TAG + 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        (void)read_last(1, 1);
        CHECK(!copy.is_open);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void laps(void)
{
    for (int i = 0; i < WEFT_TRACE_EVENTS + 100; i++) {
        MPI_Sendrecv(buffer, 1, MPI_BYTE, rank, i, other, 1, MPI_BYTE, rank, i,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    (void)read_last(rank, 1);
    CHECK(copy.count == WEFT_TRACE_EVENTS);
    for (uint32_t i = 0; i < copy.count; i++) {
        CHECK(weft_trace_call(&copy.events[i]) == WEFT_CALL_Sendrecv);
        CHECK(copy.events[i].tag == (int32_t)i + 100);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm comm;
    int provided;

    MPI_Init_thread(NULL, NULL,
                    argc > 1 && strcmp(argv[1], "threads") == 0 ? MPI_THREAD_MULTIPLE
                                                                : MPI_THREAD_SINGLE,
                    &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    map_segment();
    (void)read_last(rank, 1);
    CHECK(weft_trace_call(&copy.events[0]) == WEFT_CALL_Init_thread);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    messages(MPI_COMM_WORLD);
    messages(comm);
    spins();
    open_calls();
    laps();
    MPI_Comm_free(&comm);
    MPI_Finalize();
    (void)read_last(rank, 1);
    CHECK(weft_trace_call(&copy.events[copy.count - 1]) == WEFT_CALL_Finalize);
    CHECK(!copy.is_open);
    return 0;
}
