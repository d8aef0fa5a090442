/*
 * rma_dynamic.c - memory is attached to dynamic windows and detached from them while
 * others operate on what stays, and what is not attached is refused when operations end.
 * rma_windows.c has the plain cases.
 */
#include "rma.h"

#include <sys/mman.h>

enum { INTS = 64 };

static int rank;
static int size;
static int to;   /* our target */
static int from; /* whose target we are */

static MPI_Win make_dynamic(void)
{
    MPI_Win win;

    DONE(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    DONE(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    return win;
}

/* The address of our memory goes to our origin, and that of our target's is returned. */
static MPI_Aint swap_address(const void *memory)
{
    MPI_Aint mine;
    MPI_Aint theirs;

    DONE(MPI_Get_address(memory, &mine));
    DONE(MPI_Sendrecv(&mine, 1, MPI_AINT, from, 0, &theirs, 1, MPI_AINT, to, 0,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    return theirs;
}

static MPI_Aint ints(MPI_Aint address, int n)
{
    return MPI_Aint_add(address, n * (MPI_Aint)sizeof(int));
}

/* ---- what is refused ---- */

enum operation { PUT, GET, ACCUMULATE, GET_ACCUMULATE, FETCH, SWAP, RPUT, OPERATIONS };
enum end { FLUSH, FLUSH_ALL, UNLOCK, UNLOCK_ALL, FENCES, COMPLETE, ENDS };

/* Buffers are the operation's until the end. */
static int one = 1;
static int old;

static void start(enum operation what, MPI_Win win, MPI_Aint at)
{
    MPI_Request request;

    if (what == PUT) {
        DONE(MPI_Put(&one, 1, MPI_INT, to, at, 1, MPI_INT, win));
    } else if (what == GET) {
        DONE(MPI_Get(&old, 1, MPI_INT, to, at, 1, MPI_INT, win));
    } else if (what == ACCUMULATE) {
        DONE(MPI_Accumulate(&one, 1, MPI_INT, to, at, 1, MPI_INT, MPI_SUM, win));
    } else if (what == GET_ACCUMULATE) {
        DONE(MPI_Get_accumulate(&one, 1, MPI_INT, &old, 1, MPI_INT, to, at, 1, MPI_INT,
                                MPI_SUM, win));
    } else if (what == FETCH) {
        DONE(MPI_Fetch_and_op(&one, &old, MPI_INT, to, at, MPI_SUM, win));
    } else if (what == SWAP) {
        DONE(MPI_Compare_and_swap(&one, &(int){0}, &old, MPI_INT, to, at, win));
    } else {
        DONE(MPI_Rput(&one, 1, MPI_INT, to, at, 1, MPI_INT, win, &request));
        DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
}

static void begin(enum end end, MPI_Win win, MPI_Group all)
{
    if (end == FENCES) {
        DONE(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    } else if (end == COMPLETE) {
        DONE(MPI_Win_post(all, 0, win));
        DONE(MPI_Win_start(all, 0, win));
    } else if (end == UNLOCK || end == FLUSH) {
        DONE(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
    } else {
        DONE(MPI_Win_lock_all(0, win));
    }
}

/* What is not attached is told by the call that ends operations, and by no other. */
static void finish(enum end end, MPI_Win win, int class)
{
    if (end == FENCES) {
        IS_CLASS(MPI_Win_fence(MPI_MODE_NOSUCCEED, win), class);
    } else if (end == COMPLETE) {
        IS_CLASS(MPI_Win_complete(win), class);
        DONE(MPI_Win_wait(win));
    } else if (end == UNLOCK) {
        IS_CLASS(MPI_Win_unlock(to, win), class);
    } else if (end == UNLOCK_ALL) {
        IS_CLASS(MPI_Win_unlock_all(win), class);
    } else if (end == FLUSH) {
        IS_CLASS(MPI_Win_flush(to, win), class);
        DONE(MPI_Win_flush(to, win));
        DONE(MPI_Win_unlock(to, win));
    } else {
        IS_CLASS(MPI_Win_flush_all(win), class);
        DONE(MPI_Win_flush_all(win));
        DONE(MPI_Win_unlock_all(win));
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

/* Requests belong to passive epochs. */
static bool is_told(enum operation what, enum end end)
{
    return what != RPUT || (end != FENCES && end != COMPLETE);
}

static void refused_in_every_epoch(void)
{
    static int memory[3 * INTS]; /* the middle is attached */
    MPI_Win win = make_dynamic();
    MPI_Group all;
    MPI_Aint there;

    DONE(MPI_Win_get_group(win, &all));
    DONE(MPI_Win_attach(win, memory + INTS, INTS * sizeof(int)));
    there = swap_address(memory);
    for (enum operation what = PUT; what < OPERATIONS; what++) {
        for (enum end end = FLUSH; end < ENDS; end++) {
            const int outside = end % 2 == 0 ? INTS - 1 : 2 * INTS;

            if (!is_told(what, end)) {
                continue;
            }
            memset(memory, 0, sizeof(memory));
            old = -7;
            DONE(MPI_Barrier(MPI_COMM_WORLD));
            begin(end, win, all);
            start(what, win, ints(there, outside));
            finish(end, win, MPI_ERR_RMA_RANGE);
            CHECK(old == -7 && memory[outside] == 0);
            begin(end, win, all);
            start(what, win, ints(there, INTS + 3));
            finish(end, win, MPI_SUCCESS);
            CHECK(memory[INTS + 3] == (what == GET ? 0 : 1));
        }
    }
    DONE(MPI_Group_free(&all));
    DONE(MPI_Win_free(&win));
}

/* An access that leaves what is attached, and one of whose blocks some are outside. */
static void partly_outside(void)
{
    enum { LARGE = 300 * 1000 };

    static int memory[2 * LARGE];
    static int values[LARGE];
    const MPI_Aint places[] = {0, LARGE * (MPI_Aint)sizeof(int)};
    MPI_Win win = make_dynamic();
    MPI_Datatype two;
    MPI_Aint there;

    DONE(MPI_Type_create_hindexed_block(2, 4, places, MPI_INT, &two));
    DONE(MPI_Type_commit(&two));
    DONE(MPI_Win_attach(win, memory, LARGE * sizeof(int)));
    there = swap_address(memory);
    DONE(MPI_Win_lock(MPI_LOCK_SHARED, to, 0, win));
    DONE(MPI_Put(values, LARGE, MPI_INT, to, there, LARGE, MPI_INT, win));
    DONE(MPI_Win_flush(to, win));
    DONE(MPI_Put(values, LARGE, MPI_INT, to, ints(there, 1), LARGE, MPI_INT, win));
    IS_CLASS(MPI_Win_flush(to, win), MPI_ERR_RMA_RANGE);
    DONE(MPI_Get(values, 8, MPI_INT, to, there, 1, two, win));
    IS_CLASS(MPI_Win_flush(to, win), MPI_ERR_RMA_RANGE);
    DONE(MPI_Accumulate(values, 8, MPI_INT, to, there, 1, two, MPI_REPLACE, win));
    IS_CLASS(MPI_Win_flush_all(win), MPI_ERR_RMA_RANGE);
    DONE(MPI_Put(values, 1, MPI_INT, to, 8, 1, MPI_INT, win)); /* an address of nobody */
    IS_CLASS(MPI_Win_unlock(to, win), MPI_ERR_RMA_RANGE);
    DONE(MPI_Type_free(&two));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_Win_free(&win));
}

/* ---- attaching ---- */

static void overlaps_are_refused(void)
{
    static char memory[400];
    MPI_Win win = make_dynamic();
    MPI_Aint there;
    char found = 0;

    memory[250] = 'y';
    DONE(MPI_Win_attach(win, memory + 100, 100));
    IS_CLASS(MPI_Win_attach(win, memory + 100, 100), MPI_ERR_RMA_ATTACH);
    IS_CLASS(MPI_Win_attach(win, memory + 100, 1), MPI_ERR_RMA_ATTACH);
    IS_CLASS(MPI_Win_attach(win, memory + 199, 1), MPI_ERR_RMA_ATTACH);
    IS_CLASS(MPI_Win_attach(win, memory + 50, 51), MPI_ERR_RMA_ATTACH);
    IS_CLASS(MPI_Win_attach(win, memory + 150, 200), MPI_ERR_RMA_ATTACH);
    IS_CLASS(MPI_Win_attach(win, memory, 400), MPI_ERR_RMA_ATTACH);
    DONE(MPI_Win_attach(win, memory + 150, 0)); /* nothing overlaps nothing */
    DONE(MPI_Win_attach(win, memory + 200, 100));
    IS_CLASS(MPI_Win_attach(win, memory + 90, 11), MPI_ERR_RMA_ATTACH);
    DONE(MPI_Win_attach(win, memory + 90, 10));
    IS_CLASS(MPI_Win_detach(win, memory + 101), MPI_ERR_RMA_ATTACH);
    there = swap_address(memory);
    DONE(MPI_Win_lock_all(0, win));
    DONE(MPI_Get(&found, 1, MPI_CHAR, to, there + 250, 1, MPI_CHAR, win));
    DONE(MPI_Win_flush(to, win));
    CHECK(found == 'y');
    DONE(MPI_Get(&found, 1, MPI_CHAR, to, there + 175, 1, MPI_CHAR, win));
    DONE(MPI_Win_flush(to, win));
    CHECK(found == 0);
    DONE(MPI_Get(&found, 1, MPI_CHAR, to, there + 300, 1, MPI_CHAR, win));
    IS_CLASS(MPI_Win_flush(to, win), MPI_ERR_RMA_RANGE);
    DONE(MPI_Win_unlock_all(win));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_Win_detach(win, memory + 150));
    DONE(MPI_Win_detach(win, memory + 100));
    DONE(MPI_Win_attach(win, memory + 150, 50));
    DONE(MPI_Win_free(&win));
}

static int *map_ints(void)
{
    int *memory = mmap(NULL, INTS * sizeof(int), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    return memory;
}

/* Memory goes back to the system, and other memory is attached in its place. */
static void memory_moves(void)
{
    MPI_Win win = make_dynamic();
    MPI_Aint before = 0;
    int *kept = NULL;

    DONE(MPI_Win_lock_all(0, win));
    for (int turn = 0; turn < 20; turn++) {
        int *memory = map_ints();
        MPI_Aint there;
        int value = 100 * turn + rank;

        DONE(MPI_Win_attach(win, memory, INTS * sizeof(int)));
        there = swap_address(memory);
        DONE(MPI_Put(&value, 1, MPI_INT, to, ints(there, turn), 1, MPI_INT, win));
        DONE(MPI_Win_flush(to, win));
        if (turn > 0 && before != there) { /* it is not attached any more */
            DONE(MPI_Put(&value, 1, MPI_INT, to, before, 1, MPI_INT, win));
            IS_CLASS(MPI_Win_flush(to, win), MPI_ERR_RMA_RANGE);
        }
        DONE(MPI_Barrier(MPI_COMM_WORLD));
        DONE(MPI_Win_sync(win));
        CHECK(memory[turn] == 100 * turn + from);
        DONE(MPI_Win_detach(win, memory));
        if (kept != NULL) {
            munmap(kept, INTS * sizeof(int));
        }
        kept = turn % 2 == 0 ? memory : NULL; /* so that the next is somewhere else */
        if (kept == NULL) {
            munmap(memory, INTS * sizeof(int));
        }
        before = there;
        DONE(MPI_Barrier(MPI_COMM_WORLD));
    }
    DONE(MPI_Win_unlock_all(win));
    DONE(MPI_Win_free(&win));
    if (kept != NULL) {
        munmap(kept, INTS * sizeof(int));
    }
}

/* ---- many regions ---- */

enum { MANY = 1500, EACH = 4 };

/* A permutation of the first MANY numbers. */
static int shuffled(int i)
{
    return (int)((long)i * 1009 % MANY);
}

static void many_regions(void)
{
    static int memory[2 * MANY * EACH]; /* every other block is attached */
    MPI_Win win = make_dynamic();
    MPI_Aint there;
    int found = -1;

    memset(memory, 0, sizeof(memory));
    there = swap_address(memory);
    DONE(MPI_Win_lock_all(0, win));
    for (int i = 0; i < MANY; i++) {
        DONE(MPI_Win_attach(win, &memory[2 * EACH * shuffled(i)], EACH * sizeof(int)));
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < MANY; i += 7) {
        const int value = 10 * i + rank % 10;

        DONE(MPI_Put(&value, 1, MPI_INT, to, ints(there, 2 * EACH * i + 1), 1, MPI_INT,
                     win));
        DONE(MPI_Win_flush(to, win));
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_Win_sync(win));
    for (int i = 0; i < MANY; i++) {
        CHECK(memory[2 * EACH * i + 1] == (i % 7 == 0 ? 10 * i + from % 10 : 0));
    }
    for (int i = 0; i < MANY; i += 3) {
        DONE(MPI_Win_detach(win, &memory[2 * EACH * i]));
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < MANY; i += 50) {
        DONE(MPI_Get(&found, 1, MPI_INT, to, ints(there, 2 * EACH * i), 1, MPI_INT, win));
        IS_CLASS(MPI_Win_flush(to, win), i % 3 == 0 ? MPI_ERR_RMA_RANGE : MPI_SUCCESS);
        DONE(MPI_Get(&found, 1, MPI_INT, to, ints(there, 2 * EACH * i + EACH), 1, MPI_INT,
                     win));
        IS_CLASS(MPI_Win_flush(to, win), MPI_ERR_RMA_RANGE);
    }
    DONE(MPI_Win_unlock_all(win));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_Win_free(&win));
}

/* ---- while others operate ---- */

enum { SPARE = 300, TURNS = 400 };

static unsigned next_number(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

/* Attaches one of many spare regions, or detaches it. */
static void change_one(MPI_Win win, char *spare, bool *is_attached, unsigned *seed)
{
    const unsigned i = next_number(seed) % SPARE;

    if (is_attached[i]) {
        DONE(MPI_Win_detach(win, spare + 16 * i));
    } else {
        DONE(MPI_Win_attach(win, spare + 16 * i, 1 + (MPI_Aint)(next_number(seed) % 16)));
    }
    is_attached[i] = !is_attached[i];
}

/* All operate on one region of their target, whose other regions change meanwhile: sums
 * are whole, and nothing is refused. */
static void others_change(void)
{
    static char spare[16 * SPARE];
    static bool is_attached[SPARE];
    static int memory[INTS];
    static int ours[INTS];
    static int found[INTS];
    unsigned seed = 17u + (unsigned)rank;
    MPI_Win win = make_dynamic();
    MPI_Request all_done;
    MPI_Aint there;
    int is_over = 0;

    memset(is_attached, 0, sizeof(is_attached));
    memset(memory, 0, sizeof(memory));
    DONE(MPI_Win_attach(win, memory, sizeof(memory)));
    there = swap_address(memory);
    DONE(MPI_Win_lock_all(0, win));
    for (int turn = 1; turn <= TURNS; turn++) {
        for (int i = 0; i < INTS; i++) {
            ours[i] = turn * INTS + i;
        }
        change_one(win, spare, is_attached, &seed);
        DONE(
            MPI_Put(ours, INTS - 1, MPI_INT, to, ints(there, 1), INTS - 1, MPI_INT, win));
        DONE(MPI_Win_flush(to, win));
        DONE(MPI_Accumulate(&one, 1, MPI_INT, to, there, 1, MPI_INT, MPI_SUM, win));
        DONE(MPI_Get(found, INTS - 1, MPI_INT, to, ints(there, 1), INTS - 1, MPI_INT,
                     win));
        DONE(MPI_Win_flush(to, win));
        CHECK(memcmp(ours, found, (INTS - 1) * sizeof(int)) == 0);
    }
    DONE(MPI_Ibarrier(MPI_COMM_WORLD, &all_done));
    while (!is_over) {
        change_one(win, spare, is_attached, &seed);
        DONE(MPI_Test(&all_done, &is_over, MPI_STATUS_IGNORE));
    }
    DONE(MPI_Win_sync(win));
    CHECK(memory[0] == TURNS);
    DONE(MPI_Win_unlock_all(win));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_Win_free(&win));
}

/* All add to what the first rank has attached, in two regions that touch. */
static void sums(void)
{
    enum { ADDS = 200 };

    static long long memory[INTS];
    static long long ones[INTS];
    static long long sum;
    MPI_Win win = make_dynamic();
    MPI_Aint there = 0;
    const long long all = (long long)size * ADDS;

    memset(memory, 0, sizeof(memory));
    for (int i = 0; i < INTS; i++) {
        ones[i] = 1;
    }
    if (rank == 0) {
        DONE(MPI_Win_attach(win, memory, INTS / 2 * sizeof(memory[0])));
        DONE(MPI_Win_attach(win, memory + INTS / 2, INTS / 2 * sizeof(memory[0])));
        DONE(MPI_Get_address(memory, &there));
    }
    DONE(MPI_Bcast(&there, 1, MPI_AINT, 0, MPI_COMM_WORLD));
    DONE(MPI_Win_lock_all(0, win));
    for (int i = 0; i < ADDS; i++) {
        DONE(MPI_Accumulate(ones, INTS, MPI_LONG_LONG, 0, there, INTS, MPI_LONG_LONG,
                            MPI_SUM, win));
        DONE(MPI_Fetch_and_op(ones, &sum, MPI_LONG_LONG, 0, there + 8, MPI_SUM, win));
        DONE(MPI_Win_flush(0, win));
        CHECK(sum > 0 && sum < 2 * all);
    }
    DONE(MPI_Win_unlock_all(win));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < INTS && rank == 0; i++) {
        CHECK(memory[i] == (i == 1 ? 2 * all : all));
    }
    DONE(MPI_Win_free(&win));
}

int main(int argc, char **argv)
{
    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    overlaps_are_refused();
    memory_moves();
    others_change();
    sums();
    many_regions();
    if (is_weft()) { /* others may not look, and crash */
        refused_in_every_epoch();
        partly_outside();
    }
    DONE(MPI_Finalize());
    return 0;
}
