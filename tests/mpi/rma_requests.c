/*
 * rma_requests.c - chapter 12.3.5: operations with requests, ended by every call that
 * ends requests; what is complete then, and what only after a flush.
 */
#include "rma.h"

enum { MANY = 64, CELL = 8 };

static int64_t *cells(const struct window *w)
{
    return (int64_t *)(void *)w->base;
}

/* Every rank has MANY cells in every rank. */
static MPI_Aint cell(const struct window *w, int target, int owner, int i)
{
    return at(w, target, (MPI_Aint)CELL * (owner * MANY + i));
}

static void all_store(struct window *w, int factor)
{
    for (int i = 0; i < w->size * MANY; i++) {
        cells(w)[i] = (int64_t)factor * (w->rank * 1000 + i);
    }
}

/* ---- each way to end requests ---- */

enum ending { WAIT, TEST, WAITALL, TESTALL, WAITANY, WAITSOME, ENDINGS };

static void end_all(MPI_Request *requests, int n, enum ending ending)
{
    int left = n;
    int flag = 0;
    int index;
    int done;
    int *indices = malloc((size_t)n * sizeof(int));

    CHECK(indices != NULL);
    for (int i = 0; i < n && ending == WAIT; i++) {
        DONE(MPI_Wait(&requests[(i * 5 + 3) % n], MPI_STATUS_IGNORE));
    }
    for (int i = 0; i < n && ending == TEST; i++) {
        for (flag = 0; !flag;) {
            DONE(MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE));
        }
    }
    if (ending == WAITALL) {
        DONE(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    }
    while (ending == TESTALL && !flag) {
        DONE(MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE));
    }
    while (ending == WAITANY && left > 0) {
        DONE(MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE));
        CHECK(index >= 0 && index < n);
        left--;
    }
    while (ending == WAITSOME && left > 0) {
        DONE(MPI_Waitsome(n, requests, &done, indices, MPI_STATUSES_IGNORE));
        CHECK(done > 0);
        left -= done;
    }
    for (int i = 0; i < n; i++) {
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    free(indices);
}

/* ---- puts: their buffers are free, and a flush brings them to the target ---- */

static void puts_(struct window *w, enum ending ending)
{
    const int next = (w->rank + 1) % w->size;
    const int previous = (w->rank + w->size - 1) % w->size;
    int64_t out[MANY];
    MPI_Request requests[MANY];

    all_store(w, 1);
    settle(w);
    DONE(MPI_Win_lock_all(0, w->win));
    for (int i = 0; i < MANY; i++) {
        out[i] = w->rank * 500 + i;
        DONE(MPI_Rput(&out[i], 1, MPI_INT64_T, next, cell(w, next, w->rank, i), 1,
                      MPI_INT64_T, w->win, &requests[i]));
    }
    end_all(requests, MANY, ending);
    memset(out, 0xee, sizeof(out));
    DONE(MPI_Win_flush(next, w->win));
    DONE(MPI_Barrier(w->comm));
    DONE(MPI_Win_sync(w->win));
    for (int i = 0; i < MANY; i++) {
        CHECK(cells(w)[previous * MANY + i] == previous * 500 + i);
    }
    DONE(MPI_Win_unlock_all(w->win));
    DONE(MPI_Barrier(w->comm));
}

/* ---- gets: their data are there ---- */

static void gets_(struct window *w, enum ending ending)
{
    int64_t in[MANY];
    MPI_Request requests[MANY];

    all_store(w, 3);
    settle(w);
    DONE(MPI_Win_lock_all(0, w->win));
    for (int i = 0; i < MANY; i++) {
        const int target = (w->rank + i) % w->size;

        in[i] = -1;
        DONE(MPI_Rget(&in[i], 1, MPI_INT64_T, target, cell(w, target, w->rank, i), 1,
                      MPI_INT64_T, w->win, &requests[i]));
    }
    end_all(requests, MANY, ending);
    for (int i = 0; i < MANY; i++) {
        const int target = (w->rank + i) % w->size;

        CHECK(in[i] == 3 * (target * 1000 + w->rank * MANY + i));
    }
    DONE(MPI_Win_unlock_all(w->win));
    DONE(MPI_Barrier(w->comm));
}

/* ---- accumulates of all ranks to the same cells ---- */

static void accumulates(struct window *w, enum ending ending)
{
    int64_t out[MANY];
    MPI_Request requests[MANY];

    all_store(w, 0);
    settle(w);
    DONE(MPI_Win_lock_all(0, w->win));
    for (int i = 0; i < MANY; i++) {
        const int target = i % w->size;

        out[i] = w->rank + i;
        DONE(MPI_Raccumulate(&out[i], 1, MPI_INT64_T, target, cell(w, target, 0, i), 1,
                             MPI_INT64_T, MPI_SUM, w->win, &requests[i]));
    }
    end_all(requests, MANY, ending);
    memset(out, 0xee, sizeof(out));
    DONE(MPI_Win_unlock_all(w->win));
    settle(w);
    for (int i = 0; i < MANY; i++) {
        CHECK(cells(w)[i] ==
              (i % w->size == w->rank
                   ? (int64_t)w->size * i + (int64_t)w->size * (w->size - 1) / 2
                   : 0));
    }
    DONE(MPI_Barrier(w->comm));
}

/* Tickets: each number is fetched once. */
static void fetches(struct window *w, enum ending ending)
{
    int64_t in[MANY];
    const int64_t one = 1;
    MPI_Request requests[MANY];
    int *taken = calloc((size_t)(w->size * MANY), sizeof(int));

    CHECK(taken != NULL);
    all_store(w, 0);
    settle(w);
    DONE(MPI_Win_lock_all(0, w->win));
    for (int i = 0; i < MANY; i++) {
        in[i] = -1;
        DONE(MPI_Rget_accumulate(&one, 1, MPI_INT64_T, &in[i], 1, MPI_INT64_T, 0,
                                 cell(w, 0, 0, 0), 1, MPI_INT64_T, MPI_SUM, w->win,
                                 &requests[i]));
    }
    end_all(requests, MANY, ending);
    for (int i = 0; i < MANY; i++) {
        CHECK(in[i] >= 0 && in[i] < w->size * MANY);
        CHECK(i == 0 || in[i] > in[i - 1]); /* of one origin in order */
        taken[in[i]]++;
    }
    DONE(MPI_Win_unlock_all(w->win));
    DONE(MPI_Allreduce(MPI_IN_PLACE, taken, w->size * MANY, MPI_INT, MPI_SUM, w->comm));
    for (int i = 0; i < w->size * MANY; i++) {
        CHECK(taken[i] == 1);
    }
    free(taken);
    DONE(MPI_Barrier(w->comm));
}

/* ---- nothing, and nobody ---- */

static void nothing(struct window *w)
{
    MPI_Request requests[8];
    int64_t word = 4;

    DONE(MPI_Win_lock_all(0, w->win));
    DONE(MPI_Rput(&word, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, w->win,
                  &requests[0]));
    DONE(MPI_Rget(&word, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, w->win,
                  &requests[1]));
    DONE(MPI_Raccumulate(&word, 1, MPI_INT64_T, MPI_PROC_NULL, 0, 1, MPI_INT64_T, MPI_SUM,
                         w->win, &requests[2]));
    DONE(MPI_Rget_accumulate(&word, 1, MPI_INT64_T, &word, 1, MPI_INT64_T, MPI_PROC_NULL,
                             0, 1, MPI_INT64_T, MPI_SUM, w->win, &requests[3]));
    DONE(MPI_Rput(NULL, 0, MPI_INT, 0, cell(w, 0, 0, 0), 0, MPI_INT, w->win,
                  &requests[4]));
    DONE(MPI_Rget(NULL, 0, MPI_INT, 0, cell(w, 0, 0, 0), 0, MPI_INT, w->win,
                  &requests[5]));
    DONE(MPI_Raccumulate(NULL, 0, MPI_INT, 0, cell(w, 0, 0, 0), 0, MPI_INT, MPI_SUM,
                         w->win, &requests[6]));
    DONE(MPI_Rget_accumulate(NULL, 0, MPI_INT, NULL, 0, MPI_INT, 0, cell(w, 0, 0, 0), 0,
                             MPI_INT, MPI_SUM, w->win, &requests[7]));
    end_all(requests, 8, WAITALL);
    CHECK(word == 4);
    DONE(MPI_Win_unlock_all(w->win));
    DONE(MPI_Barrier(w->comm));
}

/* ---- long ones, of derived types that are freed at once; beside other messages ---- */

static void long_ones(void)
{
    enum { LONG = 1 << 18 };

    struct window w = make_window(CREATED, 2 * LONG * sizeof(int), 4);
    const int next = (w.rank + 1) % w.size;
    const int previous = (w.rank + w.size - 1) % w.size;
    int *out = malloc(LONG * sizeof(int));
    int *in = malloc(LONG * sizeof(int));
    int word = -1;
    MPI_Datatype column;
    MPI_Request requests[3];

    CHECK(out != NULL && in != NULL);
    for (int i = 0; i < LONG; i++) {
        out[i] = w.rank * 7 + i;
        ((int *)(void *)w.base)[2 * i + 1] = w.rank - i;
    }
    settle(&w);
    DONE(MPI_Type_vector(LONG, 1, 2, MPI_INT, &column));
    DONE(MPI_Type_commit(&column));
    DONE(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w.win));
    DONE(MPI_Irecv(&word, 1, MPI_INT, previous, 3, w.comm, &requests[0]));
    DONE(MPI_Rput(out, LONG, MPI_INT, next, at(&w, next, 0), 1, column, w.win,
                  &requests[1]));
    DONE(MPI_Rget(in, LONG, MPI_INT, next, at(&w, next, 4), 1, column, w.win,
                  &requests[2]));
    DONE(MPI_Type_free(&column));
    DONE(MPI_Send(&w.rank, 1, MPI_INT, next, 3, w.comm));
    end_all(requests, 3, WAITALL);
    CHECK(word == previous);
    if (!is_weft()) { /* MPICH 4.0 ends such a request before its data are there */
        DONE(MPI_Win_flush(next, w.win));
    }
    for (int i = 0; i < LONG; i++) {
        CHECK(in[i] == next - i);
        out[i] = -1;
    }
    DONE(MPI_Win_unlock(next, w.win));
    settle(&w);
    for (int i = 0; i < LONG; i++) {
        CHECK(((int *)(void *)w.base)[2 * i] == previous * 7 + i);
    }
    DONE(MPI_Barrier(w.comm));
    free(out);
    free(in);
    free_window(&w);
}

/* A request may be waited for after its epoch has ended, where it is complete. */
static void after_the_epoch(struct window *w)
{
    const int next = (w->rank + 1) % w->size;
    const int64_t out = 77 + w->rank;
    int64_t in = -1;
    MPI_Request requests[2];

    all_store(w, 1);
    settle(w);
    DONE(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, w->win));
    DONE(MPI_Rput(&out, 1, MPI_INT64_T, next, cell(w, next, w->rank, 0), 1, MPI_INT64_T,
                  w->win, &requests[0]));
    DONE(MPI_Rget(&in, 1, MPI_INT64_T, next, cell(w, next, w->rank, 1), 1, MPI_INT64_T,
                  w->win, &requests[1]));
    DONE(MPI_Win_unlock(next, w->win));
    CHECK(in == next * 1000 + w->rank * MANY + 1);
    end_all(requests, 2, WAITALL);
    settle(w);
    DONE(MPI_Barrier(w->comm));
}

/* ---- the calls with large counts ---- */

static void large_counts(struct window *w)
{
    const int next = (w->rank + 1) % w->size;
    const MPI_Count one = 1;
    const int64_t three = 3;
    int64_t old[2] = {-1, -1};
    int64_t in = -1;
    MPI_Request requests[2];

    all_store(w, 0);
    settle(w);
    DONE(MPI_Win_lock_all(0, w->win));
    DONE(MPI_Rput_c(&three, one, MPI_INT64_T, next, cell(w, next, w->rank, 0), one,
                    MPI_INT64_T, w->win, &requests[0]));
    DONE(MPI_Raccumulate_c(&three, one, MPI_INT64_T, next, cell(w, next, w->rank, 1), one,
                           MPI_INT64_T, MPI_SUM, w->win, &requests[1]));
    end_all(requests, 2, WAITALL);
    DONE(MPI_Win_flush(next, w->win));
    DONE(MPI_Accumulate_c(&three, one, MPI_INT64_T, next, cell(w, next, w->rank, 1), one,
                          MPI_INT64_T, MPI_SUM, w->win));
    DONE(MPI_Get_accumulate_c(&three, one, MPI_INT64_T, &old[0], one, MPI_INT64_T, next,
                              cell(w, next, w->rank, 1), one, MPI_INT64_T, MPI_SUM,
                              w->win));
    DONE(MPI_Win_flush(next, w->win));
    DONE(MPI_Rget_c(&in, one, MPI_INT64_T, next, cell(w, next, w->rank, 0), one,
                    MPI_INT64_T, w->win, &requests[0]));
    DONE(MPI_Rget_accumulate_c(NULL, 0, MPI_INT64_T, &old[1], one, MPI_INT64_T, next,
                               cell(w, next, w->rank, 1), one, MPI_INT64_T, MPI_NO_OP,
                               w->win, &requests[1]));
    end_all(requests, 2, WAITALL);
    DONE(MPI_Win_unlock_all(w->win));
    CHECK(in == 3 && old[0] == 6 && old[1] == 9);
    settle(w);
    DONE(MPI_Barrier(w->comm));
}

int main(int argc, char **argv)
{
    int size;

    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    for (enum kind kind = CREATED; kind < KINDS; kind++) {
        struct window w = make_window(kind, (MPI_Aint)size * MANY * CELL, CELL);

        for (enum ending ending = WAIT; ending < ENDINGS; ending++) {
            puts_(&w, ending);
            gets_(&w, ending);
            accumulates(&w, ending);
            fetches(&w, ending);
        }
        nothing(&w);
        large_counts(&w);
        after_the_epoch(&w);
        free_window(&w);
    }
    long_ones();
    DONE(MPI_Finalize());
    return 0;
}
