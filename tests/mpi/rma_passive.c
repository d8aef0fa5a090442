/*
 * rma_passive.c - the target is away: it computes and calls nothing of MPI until it sees
 * in its own memory that the origin is done. So every epoch of the origin has ended while
 * the target was outside.
 *
 * The origin says that it is done by a put into a second window. A target that has waited
 * for PATIENCE seconds gives up, which ends the test; no time is compared otherwise.
 * Other libraries may give up: the standard asks only that the target comes back at last.
 */
#include "rma.h"

#include <stdatomic.h>
#include <sched.h>
#include <time.h>

enum { PATIENCE = 30, BYTES = 1 << 20, WORD = 8 };

static struct window signs; /* word 0: the number of the last case that is done */
static int number;          /* of the case */
static bool is_promised;
static volatile double computed;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void say_done(int target)
{
    DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, signs.win));
    DONE(MPI_Put(&number, 1, MPI_INT, target, at(&signs, target, 0), 1, MPI_INT,
                 signs.win));
    DONE(MPI_Win_unlock(target, signs.win));
}

/* Without a call of MPI. */
static void stay_away(const char *what, enum kind kind)
{
    _Atomic int *sign = (_Atomic int *)(void *)signs.base;
    const double end = now() + (is_promised ? PATIENCE : 1);

    while (atomic_load_explicit(sign, memory_order_acquire) != number && now() < end) {
        for (int i = 0; i < 20000; i++) {
            computed += i * 0.5;
        }
        sched_yield(); /* there may be more ranks than processors */
    }
    if (atomic_load_explicit(sign, memory_order_acquire) != number) {
        fprintf(stderr, "%s, kind of window %d: waits for the target\n", what, (int)kind);
        CHECK(!is_promised);
    }
}

/* ---- what an origin does to a target that is away ---- */

static char out[BYTES];
static char in[BYTES];

static void put(const struct window *w, int target, int bytes)
{
    DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win));
    DONE(
        MPI_Put(out, bytes, MPI_CHAR, target, at(w, target, 0), bytes, MPI_CHAR, w->win));
    DONE(MPI_Win_flush(target, w->win));
    DONE(MPI_Win_unlock(target, w->win));
}

static void get(const struct window *w, int target, int bytes)
{
    memset(in, 0, sizeof(in));
    DONE(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win));
    DONE(MPI_Get(in, bytes, MPI_CHAR, target, at(w, target, 0), bytes, MPI_CHAR, w->win));
    DONE(MPI_Win_unlock(target, w->win));
    CHECK(memcmp(in, out, (size_t)bytes) == 0); /* of the put before */
}

static void accumulate(const struct window *w, int target, int bytes)
{
    DONE(MPI_Win_lock_all(0, w->win));
    DONE(MPI_Accumulate(out, bytes, MPI_CHAR, target, at(w, target, 0), bytes, MPI_CHAR,
                        MPI_REPLACE, w->win));
    DONE(MPI_Win_flush(target, w->win));
    DONE(MPI_Win_unlock_all(w->win));
}

static void atomics(const struct window *w, int target, int bytes)
{
    const int64_t one = 1;
    int64_t before = -1;
    int64_t had = -1;

    (void)bytes;
    DONE(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win));
    DONE(MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, at(w, target, BYTES),
                          MPI_SUM, w->win));
    DONE(MPI_Win_flush(target, w->win));
    before++;
    DONE(MPI_Compare_and_swap(&(int64_t){before + 1}, &before, &had, MPI_INT64_T, target,
                              at(w, target, BYTES), w->win));
    DONE(MPI_Win_unlock(target, w->win));
    CHECK(had == before);
}

static void rput(const struct window *w, int target, int bytes)
{
    MPI_Request request;

    DONE(MPI_Win_lock_all(0, w->win));
    DONE(MPI_Rput(out, bytes, MPI_CHAR, target, at(w, target, 0), bytes, MPI_CHAR, w->win,
                  &request));
    DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    DONE(MPI_Win_flush_all(w->win));
    DONE(MPI_Win_unlock_all(w->win));
}

static void typed(const struct window *w, int target, int bytes)
{
    MPI_Datatype column;

    DONE(MPI_Type_vector(bytes / 4, 1, 4, MPI_CHAR, &column));
    DONE(MPI_Type_commit(&column));
    DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, w->win));
    DONE(MPI_Put(out, 1, column, target, at(w, target, 0), 1, column, w->win));
    DONE(MPI_Win_unlock(target, w->win));
    DONE(MPI_Type_free(&column));
}

/* The target has posted before it went. */
static void start_complete(const struct window *w, int target, int bytes)
{
    MPI_Group group;

    DONE(MPI_Group_incl(w->group, 1, &target, &group));
    DONE(MPI_Win_start(group, 0, w->win));
    DONE(
        MPI_Put(out, bytes, MPI_CHAR, target, at(w, target, 0), bytes, MPI_CHAR, w->win));
    DONE(MPI_Win_complete(w->win));
    DONE(MPI_Group_free(&group));
}

static const struct {
    const char *what;
    void (*run)(const struct window *w, int target, int bytes);
    bool is_posted;
} cases[] = {
    {"put", put, false},
    {"get", get, false},
    {"accumulate", accumulate, false},
    {"fetch_and_op and compare_and_swap", atomics, false},
    {"rput", rput, false},
    {"put of a derived type", typed, false},
    {"start and complete", start_complete, true},
};

/* ---- pairs of ranks ---- */

static void post(const struct window *w, int origin)
{
    MPI_Group group;

    DONE(MPI_Group_incl(w->group, 1, &origin, &group));
    DONE(MPI_Win_post(group, 0, w->win));
    DONE(MPI_Group_free(&group));
}

static void one_case(const struct window *w, size_t which, int bytes)
{
    const bool is_origin = w->rank % 2 == 0 && w->rank + 1 < w->size;
    const bool is_target = w->rank % 2 == 1;

    number++;
    if (cases[which].run != get) { /* which reads what the case before has put */
        memset(out, 'a' + number % 26, (size_t)bytes);
    }
    if (is_target && cases[which].is_posted) {
        post(w, w->rank - 1);
    }
    DONE(MPI_Barrier(w->comm));
    if (is_origin) {
        cases[which].run(w, w->rank + 1, bytes);
        say_done(w->rank + 1);
    } else if (is_target) {
        stay_away(cases[which].what, w->kind);
        if (cases[which].is_posted) {
            DONE(MPI_Win_wait(w->win));
        }
    }
    DONE(MPI_Barrier(w->comm));
}

int main(int argc, char **argv)
{
    static const int sizes[] = {WORD, BYTES};

    DONE(MPI_Init(&argc, &argv));
    is_promised = is_weft();
    for (enum kind kind = CREATED; kind < KINDS; kind++) {
        struct window w;

        signs = make_window(kind == SHARED ? SHARED : ALLOCATED, 64, 4);
        number = 0;
        w = make_window(kind, BYTES + 64, WORD);
        for (size_t s = 0; s < LENGTH(sizes); s++) {
            for (size_t i = 0; i < LENGTH(cases); i++) {
                one_case(&w, i, sizes[s]);
            }
        }
        free_window(&w);
        free_window(&signs);
    }
    DONE(MPI_Finalize());
    return 0;
}
