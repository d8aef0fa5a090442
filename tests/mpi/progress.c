/*
 * progress.c - chapter 3: a posted operation completes while its partner computes.
 *
 * Rank 0 sends to the last rank. One of them, or both, leave MPI right after posting and
 * compute; what the other waits for must be over before half of that time has passed. The
 * ranks are on one node and so have one clock. A busy machine may spoil a try, so a few
 * are made and one must do.
 *
 * With WEFT_PROGRESS=0 the wait must show instead: then a sender has its long message
 * taken only after the receiver came back, in every try. Else this test proved nothing.
 */
#include "bytes.h"
#include "check.h"

#include <stdbool.h>
#include <time.h>

enum {
    AWAY_MS = 300,
    TRIES = 8,
    LONG_FROM = 100 * 1024,
    LONGEST = 1024 * 1024,
    MOST = 4,
    TAG = 3,
    GO = 4,   /* the receives are posted */
    NEWS = 5, /* the messages are on their way */
    TIMES = 6,
    SENDER = 1,
    RECEIVER = 2,
};

struct probe {
    const char *name;
    int gone;     /* SENDER | RECEIVER */
    int messages; /* which share the bytes */
    bool is_synchronous;
    bool is_wildcard;
    bool is_late; /* the receive is posted when the message is there */
};

static const struct probe probes[] = {
    {.name = "sender gone", .gone = SENDER, .messages = 1},
    {.name = "receiver gone", .gone = RECEIVER, .messages = 1},
    {.name = "sender of Issend gone",
     .gone = SENDER,
     .messages = 1,
     .is_synchronous = true},
    {.name = "receiver of Issend gone",
     .gone = RECEIVER,
     .messages = 1,
     .is_synchronous = true},
    {.name = "sender gone, posted later", .gone = SENDER, .messages = 1, .is_late = true},
    {.name = "receiver gone, posted later",
     .gone = RECEIVER,
     .messages = 1,
     .is_late = true},
    {.name = "sender gone, wildcard", .gone = SENDER, .messages = 1, .is_wildcard = true},
    {.name = "receiver gone, wildcard",
     .gone = RECEIVER,
     .messages = 1,
     .is_wildcard = true},
    {.name = "sender of several gone", .gone = SENDER, .messages = MOST},
    {.name = "receiver of several gone", .gone = RECEIVER, .messages = MOST},
    {.name = "both gone", .gone = SENDER | RECEIVER, .messages = 1},
    {.name = "both gone, several", .gone = SENDER | RECEIVER, .messages = MOST},
};

/* In seconds, by the node's clock. */
struct times {
    double left;    /* of who went away: when, */
    double back;    /* and until when */
    double done;    /* of who did not: its wait was over */
    int were_there; /* of a receiver: the bytes, when it came back */
};

static int rank;
static int other;
static char *buffers[MOST];

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void compute(struct times *times)
{
    times->left = now();
    do {
        times->back = now();
    } while (times->back - times->left < AWAY_MS * 1e-3);
}

static void tell(int tag)
{
    CHECK(MPI_Send(NULL, 0, MPI_BYTE, other, tag, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void listen(int tag)
{
    CHECK(MPI_Recv(NULL, 0, MPI_BYTE, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
}

static void send_all(const struct probe *probe, int bytes, int try, struct times *times)
{
    MPI_Request requests[MOST];

    for (int i = 0; i < probe->messages; i++) {
        fill_bytes(buffers[i], (size_t)bytes, (uint32_t)(try * MOST + i));
    }
    if (!probe->is_late) {
        listen(GO);
    }
    for (int i = 0; i < probe->messages; i++) {
        CHECK((probe->is_synchronous ? MPI_Issend : MPI_Isend)(
                  buffers[i], bytes, MPI_BYTE, other, TAG, MPI_COMM_WORLD,
                  &requests[i]) == MPI_SUCCESS);
    }
    if (probe->is_late) {
        tell(NEWS);
    }
    if ((probe->gone & SENDER) != 0) {
        compute(times);
    }
    CHECK(MPI_Waitall(probe->messages, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    times->done = now();
}

/* Also asked while the receives are outstanding: a race, and just what we want to see. */
__attribute__((no_sanitize("thread"))) static int are_there(const struct probe *probe,
                                                            int bytes, int try)
{
    int wrong = 0;

    for (int i = 0; i < probe->messages; i++) {
        for (int b = 0; b < bytes; b++) {
            wrong +=
                (uint8_t)buffers[i][b] != byte_at((uint32_t)(try * MOST + i), (size_t)b);
        }
    }
    return wrong == 0;
}

static void receive_all(const struct probe *probe, int bytes, int try,
                        struct times *times)
{
    MPI_Request requests[MOST];

    for (int i = 0; i < probe->messages; i++) {
        memset(buffers[i], 0, (size_t)bytes);
    }
    if (probe->is_late) {
        listen(NEWS);
    }
    for (int i = 0; i < probe->messages; i++) {
        CHECK(MPI_Irecv(buffers[i], bytes, MPI_BYTE,
                        probe->is_wildcard ? MPI_ANY_SOURCE : other,
                        probe->is_wildcard ? MPI_ANY_TAG : TAG, MPI_COMM_WORLD,
                        &requests[i]) == MPI_SUCCESS);
    }
    if (!probe->is_late) {
        tell(GO);
    }
    if ((probe->gone & RECEIVER) != 0) {
        compute(times);
        times->were_there = are_there(probe, bytes, try);
    }
    CHECK(MPI_Waitall(probe->messages, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    times->done = now();
    CHECK(are_there(probe, bytes, try));
}

/* One try; both ranks return the same. */
static struct times run_once(const struct probe *probe, int bytes, int try)
{
    const int each = bytes / probe->messages;
    struct times mine = {0};
    struct times theirs;

    if (rank == 0) {
        send_all(probe, each, try, &mine);
    } else {
        receive_all(probe, each, try, &mine);
    }
    CHECK(MPI_Sendrecv(&mine, (int)sizeof(mine), MPI_BYTE, other, TIMES, &theirs,
                       (int)sizeof(theirs), MPI_BYTE, other, TIMES, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (probe->gone == (SENDER | RECEIVER)) {
        mine.were_there |= theirs.were_there;
    } else if ((rank == 0) == (probe->gone == SENDER)) { /* we were away */
        mine.done = theirs.done;
    } else {
        mine.left = theirs.left;
        mine.back = theirs.back;
    }
    return mine;
}

/* A short message waits at the receiver, and nobody is woken to copy it. */
static bool is_judged(const struct probe *probe, int bytes)
{
    return probe->gone != (SENDER | RECEIVER) || bytes >= LONG_FROM;
}

static void must_not_wait(const struct probe *probe, int bytes)
{
    double best = 1;

    for (int try = 0; try < TRIES; try++) {
        const struct times t = run_once(probe, bytes, try);
        const double share = probe->gone == (SENDER | RECEIVER)
                                 ? 1.0 - t.were_there
                                 : (t.done - t.left) / (t.back - t.left);

        best = share < best ? share : best;
        if (!is_judged(probe, bytes) || best < 0.5) {
            return;
        }
    }
    fprintf(stderr, "%s, %d bytes: %.0f %% of the absence was waited for\n", probe->name,
            bytes, 100 * best);
    CHECK(best < 0.5);
}

/* Nobody can take a long message, or answer, for a receiver that is not there. */
static void must_wait(const struct probe *probe, int bytes)
{
    const struct times t = run_once(probe, bytes, 0);
    const bool needs_receiver = (probe->gone & RECEIVER) != 0 && !probe->is_late &&
                                (bytes >= LONG_FROM || probe->is_synchronous);

    if (needs_receiver && probe->gone == RECEIVER) {
        CHECK(t.done >= t.back);
    } else if (needs_receiver) {
        CHECK(!t.were_there);
    }
}

static void run_probes(bool has_progress)
{
    static const int sizes[] = {1024, LONG_FROM, LONGEST};

    for (size_t p = 0; p < sizeof(probes) / sizeof(probes[0]); p++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            if (has_progress) {
                must_not_wait(&probes[p], sizes[s]);
            } else {
                must_wait(&probes[p], sizes[s]);
            }
        }
    }
}

int main(int argc, char **argv)
{
    const char *setting = getenv("WEFT_PROGRESS");
    int size;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    other = rank == 0 ? size - 1 : 0;
    if (size > 1 && (rank == 0 || rank == size - 1)) {
        for (int i = 0; i < MOST; i++) {
            buffers[i] = malloc(LONGEST);
            CHECK(buffers[i] != NULL);
        }
        run_probes(setting == NULL || strcmp(setting, "0") != 0);
        for (int i = 0; i < MOST; i++) {
            free(buffers[i]);
        }
    }
    return MPI_Finalize();
}
