/*
 * rma_sync.c - chapter 12.5: what opens and ends epochs: fences with every assertion,
 * post-start-complete-wait, locks, flushes; one after the other on one window.
 */
#include "rma.h"

static int size;
static int next;
static int previous;

static int *words(const struct window *w)
{
    return (int *)(void *)w->base;
}

/* A put that needs no buffer until its epoch ends: of a table of numbers. */
static void put_number(const struct window *w, int number, int target, int place)
{
    static int numbers[1 << 16];

    CHECK(number >= 0 && number < (int)LENGTH(numbers));
    numbers[number] = number;
    DONE(MPI_Put(&numbers[number], 1, MPI_INT, target, at(w, target, 4 * place), 1,
                 MPI_INT, w->win));
}

/* ---- fences ---- */

/* Halo exchange: stores, puts and gets in turn, each fence with what is true of it. */
static void fences(struct window *w)
{
    int in = -1;

    for (int turn = 0; turn < 30; turn++) {
        const int first = MPI_MODE_NOPRECEDE | MPI_MODE_NOPUT;

        words(w)[0] = 1000 * turn + w->rank;
        /* Now only gets follow. */
        DONE(MPI_Win_fence(first, w->win));
        DONE(MPI_Get(&in, 1, MPI_INT, next, at(w, next, 0), 1, MPI_INT, w->win));
        /* No store since the last one; puts follow. */
        DONE(MPI_Win_fence(MPI_MODE_NOSTORE, w->win));
        CHECK(in == 1000 * turn + next);
        put_number(w, 100 * turn + w->rank, next, 1);
        DONE(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT, w->win));
        CHECK(words(w)[1] == 100 * turn + previous);
        DONE(MPI_Get(&in, 1, MPI_INT, next, at(w, next, 4), 1, MPI_INT, w->win));
        DONE(MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOSUCCEED,
                           w->win));
        CHECK(in == 100 * turn + w->rank);
        DONE(MPI_Barrier(w->comm)); /* the next store is of the next turn */
    }
}

static void all_fences(struct window *w)
{
    fences(w);
    DONE(MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win));
    for (int turn = 1; turn <= 50; turn++) {
        /* Some do nothing; others may be a fence ahead, and then write elsewhere. */
        if (w->rank == turn % w->size || turn % 3 == 0) {
            put_number(w, 64 * turn + w->rank, next, 1 + turn % 2);
        }
        DONE(MPI_Win_fence(0, w->win));
        if (previous == turn % w->size || turn % 3 == 0) {
            CHECK(words(w)[1 + turn % 2] == 64 * turn + previous);
        }
    }
    DONE(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
}

/* ---- post, start, complete, wait ---- */

static MPI_Group group_of(const struct window *w, int n, const int *ranks)
{
    MPI_Group group;

    DONE(MPI_Group_incl(w->group, n, ranks, &group));
    return group;
}

/* A ring: each posts to the one before and starts to the one behind. */
static void ring(struct window *w, int post, int start, bool is_tested)
{
    MPI_Group before = group_of(w, 1, &previous);
    MPI_Group behind = group_of(w, 1, &next);

    for (int turn = 0; turn < 20; turn++) {
        int flag = 0;

        words(w)[4] = 7;
        DONE(MPI_Win_post(before, post, w->win));
        if ((start & MPI_MODE_NOCHECK) != 0) { /* all posts are done before all starts */
            DONE(MPI_Barrier(w->comm));
        }
        DONE(MPI_Win_start(behind, start, w->win));
        put_number(w, 50 * turn + w->rank, next, 3);
        DONE(MPI_Win_complete(w->win));
        while (is_tested && !flag) {
            DONE(MPI_Win_test(w->win, &flag));
        }
        if (!is_tested) {
            DONE(MPI_Win_wait(w->win));
        }
        CHECK(words(w)[3] == 50 * turn + previous && words(w)[4] == 7);
    }
    DONE(MPI_Group_free(&before));
    DONE(MPI_Group_free(&behind));
    DONE(MPI_Barrier(w->comm));
}

/* Everybody writes to rank 0, and to rank 0 only; it alone posts. Groups may go early. */
static void many_to_one(struct window *w)
{
    const int zero = 0;

    for (int turn = 0; turn < 10; turn++) {
        MPI_Group others;
        MPI_Group home = group_of(w, 1, &zero);

        DONE(MPI_Group_excl(w->group, 1, &zero, &others));
        if (w->rank == 0) {
            DONE(MPI_Win_post(others, 0, w->win));
            DONE(MPI_Group_free(&others));
            DONE(MPI_Win_wait(w->win));
            for (int r = 1; r < w->size; r++) {
                CHECK(words(w)[8 + r] == 100 * turn + r);
            }
        } else {
            DONE(MPI_Win_start(home, 0, w->win));
            DONE(MPI_Group_free(&others));
            put_number(w, 100 * turn + w->rank, 0, 8 + w->rank);
            DONE(MPI_Win_complete(w->win));
        }
        DONE(MPI_Group_free(&home));
    }
    DONE(MPI_Barrier(w->comm));
}

/* Rank 0 reads from all others; each of them posts and goes its way. */
static void one_to_many(struct window *w)
{
    const int zero = 0;
    MPI_Group others;
    MPI_Group home = group_of(w, 1, &zero);
    int *in = calloc((size_t)w->size, sizeof(int));

    CHECK(in != NULL);
    DONE(MPI_Group_excl(w->group, 1, &zero, &others));
    for (int turn = 0; turn < 10; turn++) {
        if (w->rank == 0) {
            DONE(MPI_Win_start(others, 0, w->win));
            for (int r = 1; r < w->size; r++) {
                DONE(MPI_Get(&in[r], 1, MPI_INT, r, at(w, r, 4 * 5), 1, MPI_INT, w->win));
            }
            DONE(MPI_Win_complete(w->win));
            for (int r = 1; r < w->size; r++) {
                CHECK(in[r] == 1000 * turn + r);
            }
        } else {
            words(w)[5] = 1000 * turn + w->rank;
            DONE(MPI_Win_post(home, MPI_MODE_NOPUT, w->win));
            DONE(MPI_Win_wait(w->win));
        }
    }
    free(in);
    DONE(MPI_Group_free(&home));
    DONE(MPI_Group_free(&others));
    DONE(MPI_Barrier(w->comm));
}

/* Epochs with nobody. */
static void nobody(struct window *w)
{
    int flag = 0;

    for (int turn = 0; turn < 3; turn++) {
        DONE(MPI_Win_post(MPI_GROUP_EMPTY, 0, w->win));
        DONE(MPI_Win_start(MPI_GROUP_EMPTY, 0, w->win));
        DONE(MPI_Win_complete(w->win));
        DONE(MPI_Win_wait(w->win));
        DONE(MPI_Win_post(MPI_GROUP_EMPTY, 0, w->win));
        DONE(MPI_Win_test(w->win, &flag));
        CHECK(flag == 1);
    }
    if (!is_weft()) { /* MPICH 4.0 takes a post of the next epoch for one of this */
        DONE(MPI_Barrier(w->comm));
    }
}

/* The test says no while the origin has not completed, and calling it changes nothing. */
static void tested(struct window *w)
{
    MPI_Group before = group_of(w, 1, &previous);
    MPI_Group behind = group_of(w, 1, &next);

    for (int turn = 0; turn < 5; turn++) {
        int flag = -1;

        DONE(MPI_Win_post(before, 0, w->win));
        DONE(MPI_Win_start(behind, 0, w->win));
        put_number(w, 900 + turn, next, 6);
        DONE(MPI_Win_test(w->win, &flag));
        CHECK(flag == 0);
        DONE(MPI_Barrier(w->comm)); /* before this nobody completes */
        DONE(MPI_Win_complete(w->win));
        while (flag != 1) {
            DONE(MPI_Win_test(w->win, &flag));
        }
        CHECK(words(w)[6] == 900 + turn);
        DONE(MPI_Barrier(w->comm));
    }
    DONE(MPI_Group_free(&before));
    DONE(MPI_Group_free(&behind));
}

static void not_yet(struct window *w)
{
    MPI_Group before = group_of(w, 1, &previous);
    MPI_Group behind = group_of(w, 1, &next);
    int flag = -1;

    DONE(MPI_Win_post(before, 0, w->win));
    for (int i = 0; i < 100; i++) {
        DONE(MPI_Win_test(w->win, &flag));
        CHECK(flag == 0);
    }
    DONE(MPI_Barrier(w->comm)); /* before this nobody starts */
    DONE(MPI_Win_start(behind, 0, w->win));
    DONE(MPI_Win_complete(w->win));
    DONE(MPI_Win_wait(w->win));
    DONE(MPI_Group_free(&before));
    DONE(MPI_Group_free(&behind));
}

static void all_pscw(struct window *w)
{
    ring(w, 0, 0, false);
    ring(w, MPI_MODE_NOSTORE, 0, true);
    ring(w, MPI_MODE_NOCHECK, MPI_MODE_NOCHECK, false);
    many_to_one(w);
    one_to_many(w);
    nobody(w);
    tested(w);
    not_yet(w);
}

/* ---- locks ---- */

/* Read, add one, write: nothing is lost only if nobody else is inside. */
static void mutual_exclusion(struct window *w)
{
    enum { ROUNDS = 60 };

    const int home = w->size / 2;
    int value = -1;

    words(w)[7] = 0;
    settle(w);
    for (int i = 0; i < ROUNDS; i++) {
        DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, home, 0, w->win));
        DONE(MPI_Get(&value, 1, MPI_INT, home, at(w, home, 28), 1, MPI_INT, w->win));
        DONE(MPI_Win_flush(home, w->win));
        value++;
        DONE(MPI_Put(&value, 1, MPI_INT, home, at(w, home, 28), 1, MPI_INT, w->win));
        DONE(MPI_Win_unlock(home, w->win));
    }
    settle(w);
    CHECK(w->rank != home || words(w)[7] == ROUNDS * w->size);
    DONE(MPI_Barrier(w->comm));
}

/* Writers change two words, readers see both or neither. Writers are rare. */
static void readers_and_writers(struct window *w)
{
    int both[2];

    words(w)[10] = 0;
    words(w)[11] = 0;
    settle(w);
    for (int i = 0; i < 40; i++) {
        if ((i + w->rank) % 4 == 0) {
            both[0] = 100 * w->rank + i;
            both[1] = -both[0];
            DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
            DONE(MPI_Put(&both[0], 1, MPI_INT, 0, at(w, 0, 40), 1, MPI_INT, w->win));
            DONE(MPI_Win_flush(0, w->win));
            DONE(MPI_Put(&both[1], 1, MPI_INT, 0, at(w, 0, 44), 1, MPI_INT, w->win));
        } else {
            DONE(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
            DONE(MPI_Get(both, 2, MPI_INT, 0, at(w, 0, 40), 2, MPI_INT, w->win));
        }
        DONE(MPI_Win_unlock(0, w->win));
        CHECK(both[0] == -both[1]);
    }
    DONE(MPI_Barrier(w->comm));
}

/* All hold the lock at once: each waits for the others while it does. */
static void held_together(struct window *w)
{
    int in = -1;

    words(w)[12] = 5;
    settle(w);
    DONE(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, w->win));
    DONE(MPI_Get(&in, 1, MPI_INT, 0, at(w, 0, 48), 1, MPI_INT, w->win));
    DONE(MPI_Win_flush(0, w->win));
    DONE(MPI_Barrier(w->comm));
    CHECK(in == 5);
    DONE(MPI_Win_unlock(0, w->win));
    DONE(MPI_Barrier(w->comm));
}

/* A lock of this rank's own memory keeps others out while it loads and stores. */
static void own_lock(struct window *w)
{
    enum { ROUNDS = 30 };

    words(w)[13] = 0;
    settle(w);
    for (int i = 0; i < ROUNDS; i++) {
        if (w->rank == 0) {
            DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
            words(w)[13] = words(w)[13] + 1;
            DONE(MPI_Win_unlock(0, w->win));
        } else {
            int value = -1;

            DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, w->win));
            DONE(MPI_Get(&value, 1, MPI_INT, 0, at(w, 0, 52), 1, MPI_INT, w->win));
            DONE(MPI_Win_flush(0, w->win));
            value++;
            DONE(MPI_Put(&value, 1, MPI_INT, 0, at(w, 0, 52), 1, MPI_INT, w->win));
            DONE(MPI_Win_unlock(0, w->win));
        }
    }
    settle(w);
    CHECK(w->rank != 0 || words(w)[13] == ROUNDS * w->size);
    DONE(MPI_Barrier(w->comm));
}

/* Nobody else locks, and the library need not look. */
static void unchecked_locks(struct window *w)
{
    DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, MPI_MODE_NOCHECK, w->win));
    put_number(w, 400 + w->rank, next, 3);
    DONE(MPI_Win_unlock(next, w->win));
    DONE(MPI_Barrier(w->comm));
    DONE(MPI_Win_lock(MPI_LOCK_SHARED, w->rank, MPI_MODE_NOCHECK, w->win));
    CHECK(words(w)[3] == 400 + previous);
    DONE(MPI_Win_unlock(w->rank, w->win));
    DONE(MPI_Barrier(w->comm));
}

/* Locks of several targets at once, ended in another order; with no operation inside. */
static void several_locks(struct window *w)
{
    settle(w);
    for (int target = 0; target < w->size; target++) {
        DONE(MPI_Win_lock(MPI_LOCK_SHARED, target, 0, w->win));
    }
    for (int target = w->size - 1; target >= 0; target--) {
        put_number(w, 300 + w->rank, target, 16 + w->rank);
    }
    for (int i = 0; i < w->size; i++) {
        DONE(MPI_Win_unlock((i + w->rank) % w->size, w->win));
    }
    settle(w);
    for (int r = 0; r < w->size; r++) {
        CHECK(words(w)[16 + r] == 300 + r);
    }
    DONE(MPI_Barrier(w->comm));
    for (int i = 0; i < 5; i++) {
        DONE(MPI_Win_lock(i % 2 == 0 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, next, 0,
                          w->win));
        DONE(MPI_Win_unlock(next, w->win));
    }
    DONE(MPI_Barrier(w->comm));
    if (is_weft()) { /* MPICH 4.0 never gives the next lock */
        unchecked_locks(w);
    }
}

/* ---- flushes ---- */

/* What is flushed is at the target: a message sent afterwards finds it there. What is
 * flushed locally leaves its buffer. */
static void flushes(struct window *w)
{
    enum { ROUNDS = 40 };

    settle(w);
    DONE(MPI_Win_lock_all(0, w->win));
    for (int turn = 0; turn < ROUNDS; turn++) {
        int out = 100 * turn + w->rank;
        int word = -1;

        DONE(MPI_Put(&out, 1, MPI_INT, next, at(w, next, 4 * 3), 1, MPI_INT, w->win));
        if (turn % 4 == 0) {
            DONE(MPI_Win_flush(next, w->win));
        } else if (turn % 4 == 1) {
            DONE(MPI_Win_flush_all(w->win));
        } else {
            DONE(turn % 4 == 2 ? MPI_Win_flush_local(next, w->win)
                               : MPI_Win_flush_local_all(w->win));
            out = -1;
            DONE(MPI_Win_flush(next, w->win));
        }
        DONE(MPI_Sendrecv(&turn, 1, MPI_INT, next, 0, &word, 1, MPI_INT, previous, 0,
                          w->comm, MPI_STATUS_IGNORE));
        DONE(MPI_Win_sync(w->win));
        CHECK(words(w)[3] == 100 * turn + previous);
        DONE(MPI_Barrier(w->comm));
    }
    DONE(MPI_Win_flush_all(w->win));
    DONE(MPI_Win_flush_local_all(w->win));
    DONE(MPI_Win_flush(w->rank, w->win));
    DONE(MPI_Win_unlock_all(w->win));
    DONE(MPI_Barrier(w->comm));
}

/* A get that is flushed locally has its data. */
static void local_gets(struct window *w)
{
    words(w)[9] = 70 + w->rank;
    settle(w);
    DONE(MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win));
    for (int i = 0; i < 3 * w->size; i++) {
        const int target = (w->rank + i) % w->size;
        int in = -1;

        DONE(MPI_Get(&in, 1, MPI_INT, target, at(w, target, 36), 1, MPI_INT, w->win));
        DONE(i % 2 == 0 ? MPI_Win_flush_local(target, w->win)
                        : MPI_Win_flush_local_all(w->win));
        CHECK(in == 70 + target);
    }
    DONE(MPI_Win_unlock_all(w->win));
    DONE(MPI_Barrier(w->comm));
}

/* Loads and stores of shared memory, ordered by MPI_Win_sync and messages alone. */
static void synced(struct window *w)
{
    int *there = NULL;
    MPI_Aint bytes;
    int unit;

    DONE(MPI_Win_shared_query(w->win, next, &bytes, &unit, &there));
    settle(w);
    DONE(MPI_Win_lock_all(MPI_MODE_NOCHECK, w->win));
    for (int turn = 0; turn < 50; turn++) {
        there[14] = 100 * turn + w->rank;
        DONE(MPI_Win_sync(w->win));
        DONE(MPI_Barrier(w->comm));
        DONE(MPI_Win_sync(w->win));
        CHECK(words(w)[14] == 100 * turn + previous);
        DONE(MPI_Barrier(w->comm));
    }
    DONE(MPI_Win_unlock_all(w->win));
    DONE(MPI_Barrier(w->comm));
}

/* ---- one after the other on one window ---- */

static void mixed(struct window *w)
{
    MPI_Group before = group_of(w, 1, &previous);
    MPI_Group behind = group_of(w, 1, &next);

    for (int turn = 0; turn < 10; turn++) {
        DONE(MPI_Win_fence(MPI_MODE_NOPRECEDE, w->win));
        put_number(w, 10 * turn, next, 0);
        DONE(MPI_Win_fence(MPI_MODE_NOSUCCEED, w->win));
        CHECK(words(w)[0] == 10 * turn);
        DONE(MPI_Win_post(before, 0, w->win));
        DONE(MPI_Win_start(behind, 0, w->win));
        put_number(w, 10 * turn + 1, next, 0);
        DONE(MPI_Win_complete(w->win));
        DONE(MPI_Win_wait(w->win));
        CHECK(words(w)[0] == 10 * turn + 1);
        settle(w);
        DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, w->win));
        put_number(w, 10 * turn + 2, next, 0);
        DONE(MPI_Win_unlock(next, w->win));
        settle(w);
        CHECK(words(w)[0] == 10 * turn + 2);
        DONE(MPI_Barrier(w->comm));
        DONE(MPI_Win_lock_all(0, w->win));
        put_number(w, 10 * turn + 3, next, 0);
        DONE(MPI_Win_unlock_all(w->win));
        settle(w);
        CHECK(words(w)[0] == 10 * turn + 3);
        DONE(MPI_Barrier(w->comm));
    }
    DONE(MPI_Group_free(&before));
    DONE(MPI_Group_free(&behind));
}

/* This rank is origin by a lock on one window while it is a target on another, and its
 * epochs of different windows overlap. */
static void two_windows(struct window *w)
{
    struct window other = make_window(w->kind, 64, 4);

    DONE(MPI_Win_fence(0, other.win));
    DONE(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w->win));
    put_number(w, 500, next, 15);
    put_number(&other, 501, next, 0);
    DONE(MPI_Win_unlock(next, w->win));
    DONE(MPI_Win_fence(0, other.win));
    CHECK(words(&other)[0] == 501);
    settle(w);
    CHECK(words(w)[15] == 500);
    DONE(MPI_Barrier(w->comm));
    free_window(&other);
}

int main(int argc, char **argv)
{
    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    for (enum kind kind = CREATED; kind < KINDS; kind++) {
        struct window w = make_window(kind, 64 * (16 + size), 4);

        next = (w.rank + 1) % w.size;
        previous = (w.rank + w.size - 1) % w.size;
        all_fences(&w);
        all_pscw(&w);
        mutual_exclusion(&w);
        readers_and_writers(&w);
        held_together(&w);
        own_lock(&w);
        several_locks(&w);
        flushes(&w);
        local_gets(&w);
        if (kind == SHARED) {
            synced(&w);
        }
        mixed(&w);
        two_windows(&w);
        free_window(&w);
    }
    DONE(MPI_Finalize());
    return 0;
}
