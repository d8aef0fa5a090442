/*
 * rma_threads.c - several threads of a rank on one window: all of them put, fetch and
 * flush at once, one flushes what another has begun, and one flushes while another goes
 * on.
 */
#include "rma.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { THREADS = 4, ROUNDS = 100, WORD = 8 };

static struct window w;

/* Word 0: a counter of all; then a word for each thread of each rank. */
static MPI_Aint word_of(int target, int who, int thread)
{
    return at(&w, target, (MPI_Aint)WORD * (1 + who * THREADS + thread));
}

/* ---- all at once ---- */

static int64_t fetched[THREADS][ROUNDS];

static void *hammer(void *argument)
{
    const int me = (int)(intptr_t)argument;
    const int64_t one = 1;

    for (int i = 0; i < ROUNDS; i++) {
        const int target = (w.rank + i) % w.size;
        const int64_t out = (int64_t)i * 1000 + w.rank * THREADS + me;
        int64_t in = -1;

        DONE(MPI_Fetch_and_op(&one, &fetched[me][i], MPI_INT64_T, 0, at(&w, 0, 0),
                              MPI_SUM, w.win));
        DONE(MPI_Put(&out, 1, MPI_INT64_T, target, word_of(target, w.rank, me), 1,
                     MPI_INT64_T, w.win));
        DONE(MPI_Win_flush(target, w.win));
        DONE(MPI_Get(&in, 1, MPI_INT64_T, target, word_of(target, w.rank, me), 1,
                     MPI_INT64_T, w.win));
        DONE(i % 2 == 0 ? MPI_Win_flush_all(w.win) : MPI_Win_flush_local(target, w.win));
        CHECK(in == out);
        DONE(MPI_Win_flush(0, w.win));
        CHECK(i == 0 || fetched[me][i] > fetched[me][i - 1]);
    }
    return NULL;
}

static void at_once(void)
{
    const int all = w.size * THREADS * ROUNDS;
    int *taken = calloc((size_t)all, sizeof(int));
    pthread_t threads[THREADS];

    CHECK(taken != NULL);
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_create(&threads[i], NULL, hammer, (void *)(intptr_t)i) == 0);
    }
    for (int i = 0; i < THREADS; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
        for (int k = 0; k < ROUNDS; k++) {
            CHECK(fetched[i][k] >= 0 && fetched[i][k] < all);
            taken[fetched[i][k]]++;
        }
    }
    DONE(MPI_Allreduce(MPI_IN_PLACE, taken, all, MPI_INT, MPI_SUM, w.comm));
    for (int i = 0; i < all; i++) {
        CHECK(taken[i] == 1); /* each number was fetched once, by whatever thread */
    }
    free(taken);
}

/* ---- a flush from another thread ---- */

static pthread_barrier_t meeting;
static int64_t number;
static int64_t seen;

static void *flusher(void *argument)
{
    const int target = (w.rank + 1) % w.size;

    (void)argument;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&meeting); /* the other thread has put and asked to fetch */
        DONE(i % 2 == 0 ? MPI_Win_flush(target, w.win) : MPI_Win_flush_all(w.win));
        CHECK(seen == number - 1); /* it was fetched by the other thread */
        number = -1;               /* so the buffer is free */
        pthread_barrier_wait(&meeting);
    }
    return NULL;
}

static void by_another(void)
{
    const int target = (w.rank + 1) % w.size;
    const MPI_Aint place = word_of(target, w.rank, 0);
    int64_t zero = 0;
    pthread_t thread;

    DONE(MPI_Put(&zero, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, w.win));
    DONE(MPI_Win_flush(target, w.win));
    CHECK(pthread_barrier_init(&meeting, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, flusher, NULL) == 0);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t in = -1;

        number = i + 1;
        seen = -1;
        DONE(MPI_Fetch_and_op(&number, &seen, MPI_INT64_T, target, place, MPI_REPLACE,
                              w.win));
        pthread_barrier_wait(&meeting);
        pthread_barrier_wait(&meeting); /* it is flushed */
        DONE(MPI_Get(&in, 1, MPI_INT64_T, target, place, 1, MPI_INT64_T, w.win));
        DONE(MPI_Win_flush(target, w.win));
        CHECK(in == i + 1);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_barrier_destroy(&meeting) == 0);
}

/* ---- beside another that never stops ---- */

enum { BLOCK = 16384, SOME = 1024, FLUSHES = 10 };

static char moved[2][2 * BLOCK];
static MPI_Datatype every_other;
static bool is_put;
static atomic_int begun;
static atomic_bool is_over;

static void begin(int which, MPI_Request *request)
{
    const int target = (w.rank + 1) % w.size;
    const MPI_Aint place = at(&w, target, WORD + which * BLOCK);

    if (is_put) { /* it begins in parts where it goes straight to memory */
        DONE(MPI_Rput(moved[which], 1, every_other, target, place, BLOCK, MPI_BYTE, w.win,
                      request));
    } else {
        DONE(MPI_Rget(moved[which], BLOCK, MPI_BYTE, target, place, BLOCK, MPI_BYTE,
                      w.win, request));
    }
    atomic_fetch_add(&begun, 1);
}

/* Begins an operation before it waits for the one before: one is always under way. */
static void *move_on(void *argument)
{
    MPI_Request requests[2];
    int i = 0;

    begin(0, &requests[0]);
    while (!atomic_load(&is_over)) {
        i = 1 - i;
        begin(i, &requests[i]);
        DONE(MPI_Wait(&requests[1 - i], MPI_STATUS_IGNORE));
    }
    DONE(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
    return argument;
}

/* Waits for nothing, so that as many are under way as the library lets begin. */
static void *put_on(void *argument)
{
    const int target = (w.rank + 1) % w.size;

    while (!atomic_load(&is_over)) {
        DONE(MPI_Put(moved[0], SOME, MPI_BYTE, target, at(&w, target, WORD), SOME,
                     MPI_BYTE, w.win));
        atomic_fetch_add(&begun, 1);
    }
    return argument;
}

/* A flush waits for what has begun, not for what the other thread begins later. */
static void beside(void *(*other)(void *))
{
    const int target = (w.rank + 1) % w.size;
    const int64_t word = 7;
    pthread_t thread;

    atomic_store(&begun, 0);
    atomic_store(&is_over, false);
    CHECK(pthread_create(&thread, NULL, other, NULL) == 0);
    while (atomic_load(&begun) < 2) {
        sched_yield();
    }
    for (int i = 0; i < FLUSHES; i++) {
        DONE(MPI_Put(&word, 1, MPI_INT64_T, target, at(&w, target, 0), 1, MPI_INT64_T,
                     w.win));
        DONE(MPI_Win_flush(target, w.win));
        DONE(MPI_Win_flush_local(target, w.win));
        DONE(MPI_Win_flush_all(w.win));
    }
    atomic_store(&is_over, true);
    CHECK(pthread_join(thread, NULL) == 0);
}

static void beside_puts_and_gets(void)
{
    DONE(MPI_Type_vector(BLOCK / 256, 256, 512, MPI_BYTE, &every_other));
    DONE(MPI_Type_commit(&every_other));
    w = make_window(CREATED, WORD + 2 * BLOCK, WORD);
    DONE(MPI_Win_lock_all(0, w.win));
    beside(move_on);
    is_put = true;
    beside(move_on);
    beside(put_on);
    DONE(MPI_Win_unlock_all(w.win));
    DONE(MPI_Barrier(w.comm));
    free_window(&w);
    DONE(MPI_Type_free(&every_other));
}

int main(int argc, char **argv)
{
    int provided = -1;
    int size;

    DONE(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_MULTIPLE);
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    for (enum kind kind = CREATED; kind < KINDS; kind++) {
        w = make_window(kind, (MPI_Aint)WORD * 2 * (1 + size * THREADS), WORD);
        settle(&w);
        DONE(MPI_Win_lock_all(0, w.win));
        at_once();
        DONE(MPI_Barrier(w.comm));
        by_another();
        DONE(MPI_Win_unlock_all(w.win));
        DONE(MPI_Barrier(w.comm));
        free_window(&w);
    }
    if (is_weft()) {
        beside_puts_and_gets();
    }
    DONE(MPI_Finalize());
    return 0;
}
