/*
 * rma_windows.c - chapter 12.2: windows of all flavors, what they say of themselves,
 * their names, attributes, error handlers, hints and groups, and their end.
 */
#include "rma.h"

static int rank;
static int size;

/* ---- what a window says of itself ---- */

static void *attribute(MPI_Win win, int key)
{
    void *value = NULL;
    int flag = 0;

    DONE(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(flag == 1);
    return value;
}

static void is_window(MPI_Win win, void *base, MPI_Aint bytes, int unit, int flavor)
{
    CHECK(win != MPI_WIN_NULL);
    CHECK(attribute(win, MPI_WIN_BASE) == base);
    CHECK(*(MPI_Aint *)attribute(win, MPI_WIN_SIZE) == bytes);
    CHECK(*(int *)attribute(win, MPI_WIN_DISP_UNIT) == unit);
    CHECK(*(int *)attribute(win, MPI_WIN_CREATE_FLAVOR) == flavor);
    CHECK(*(int *)attribute(win, MPI_WIN_MODEL) == MPI_WIN_UNIFIED);
}

static void fill(void *base, int value, MPI_Aint bytes)
{
    if (bytes > 0) { /* the base of nothing may be NULL */
        memset(base, value, (size_t)bytes);
    }
}

static void flavors(void)
{
    /* One has nothing to offer. MPICH 4.0 loses the place of what is no multiple of 16.
     */
    const MPI_Aint bytes = (is_weft() ? 100 : 128) * rank;
    const int unit = 1 << rank % 4;
    char memory[1000];
    char *base = NULL;
    MPI_Comm node = node_comm();
    MPI_Win win = MPI_WIN_NULL;

    DONE(MPI_Win_create(memory, 1000, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    is_window(win, memory, 1000, unit, MPI_WIN_FLAVOR_CREATE);
    DONE(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    DONE(MPI_Win_create(bytes == 0 ? NULL : memory, bytes, unit, MPI_INFO_NULL,
                        MPI_COMM_WORLD, &win));
    is_window(win, bytes == 0 ? NULL : memory, bytes, unit, MPI_WIN_FLAVOR_CREATE);
    DONE(MPI_Win_free(&win));
    DONE(MPI_Win_allocate(bytes, unit, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    is_window(win, base, bytes, unit, MPI_WIN_FLAVOR_ALLOCATE);
    fill(base, 1, bytes);
    DONE(MPI_Win_free(&win));
    DONE(MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, node, &base, &win));
    is_window(win, base, bytes, unit, MPI_WIN_FLAVOR_SHARED);
    fill(base, 1, bytes);
    DONE(MPI_Win_free(&win));
    DONE(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    is_window(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    DONE(MPI_Win_free(&win));
    CHECK(win == MPI_WIN_NULL);
    DONE(MPI_Comm_free(&node));
}

/* Nobody has a byte, in windows of every flavor. */
static void nothing(void)
{
    MPI_Comm node = node_comm();
    char *base = NULL;
    MPI_Win wins[3];

    DONE(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &wins[0]));
    DONE(MPI_Win_allocate(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &wins[1]));
    DONE(MPI_Win_allocate_shared(0, 1, MPI_INFO_NULL, node, &base, &wins[2]));
    for (int i = 0; i < 3; i++) {
        DONE(MPI_Win_fence(0, wins[i]));
        DONE(MPI_Put(NULL, 0, MPI_INT, 0, 0, 0, MPI_INT, wins[i]));
        DONE(MPI_Win_fence(0, wins[i]));
        DONE(MPI_Win_lock_all(0, wins[i]));
        DONE(MPI_Win_flush_all(wins[i]));
        DONE(MPI_Win_unlock_all(wins[i]));
    }
    for (int i = 2; i >= 0; i--) {
        DONE(MPI_Win_free(&wins[i]));
    }
    DONE(MPI_Comm_free(&node));
}

static void large_versions(void)
{
#if HAS_MPI(4, 0)
    MPI_Comm node = node_comm();
    char memory[64];
    char *base = NULL;
    MPI_Win win;
    MPI_Aint bytes = -1;
    MPI_Aint unit = -1;
    char *found = NULL;

    DONE(MPI_Win_create_c(memory, 64, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    is_window(win, memory, 64, 8, MPI_WIN_FLAVOR_CREATE);
    DONE(MPI_Win_free(&win));
    DONE(MPI_Win_allocate_c(48, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    is_window(win, base, 48, 4, MPI_WIN_FLAVOR_ALLOCATE);
    DONE(MPI_Win_free(&win));
    DONE(MPI_Win_allocate_shared_c(40, 2, MPI_INFO_NULL, node, &base, &win));
    is_window(win, base, 40, 2, MPI_WIN_FLAVOR_SHARED);
    DONE(MPI_Win_shared_query_c(win, 0, &bytes, &unit, &found));
    CHECK(bytes == 40 && unit == 2 && found != NULL);
    DONE(MPI_Win_free(&win));
    DONE(MPI_Comm_free(&node));
#endif
}

/* The group is the communicator's; the communicator may go before the window. */
static void groups(void)
{
    MPI_Comm half;
    MPI_Group of_comm;
    MPI_Group of_win;
    MPI_Win win;
    int *base = NULL;
    int result = -1;
    int mine;
    int all;

    DONE(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
    DONE(MPI_Comm_group(half, &of_comm));
    DONE(MPI_Comm_rank(half, &mine));
    DONE(MPI_Comm_size(half, &all));
    DONE(MPI_Win_allocate(16, sizeof(int), MPI_INFO_NULL, half, &base, &win));
    DONE(MPI_Comm_free(&half));
    DONE(MPI_Win_get_group(win, &of_win));
    DONE(MPI_Group_compare(of_comm, of_win, &result));
    CHECK(result == MPI_IDENT);
    *base = -1;
    DONE(MPI_Win_fence(0, win));
    DONE(MPI_Put(&rank, 1, MPI_INT, (mine + 1) % all, 0, 1, MPI_INT, win));
    DONE(MPI_Win_fence(0, win));
    CHECK(all == 1 ? *base == rank : *base % 2 == rank % 2);
    CHECK(mine == 0 || *base == rank + 2);
    DONE(MPI_Group_free(&of_comm));
    DONE(MPI_Group_free(&of_win));
    DONE(MPI_Win_free(&win));
}

static void names(MPI_Win win)
{
    char name[MPI_MAX_OBJECT_NAME] = "?";
    int length = -1;

    DONE(MPI_Win_get_name(win, name, &length));
    CHECK(length == (int)strlen(name));
    CHECK(length == 0 || !is_weft());
    DONE(MPI_Win_set_name(win, "ghost cells"));
    DONE(MPI_Win_get_name(win, name, &length));
    CHECK(strcmp(name, "ghost cells") == 0 && length == 11);
    DONE(MPI_Win_set_name(win, ""));
    DONE(MPI_Win_get_name(win, name, &length));
    CHECK(name[0] == '\0' && length == 0);
}

/* ---- attributes ---- */

static struct {
    int copies;
    int deletes;
    MPI_Win win;
    void *value;
    void *extra;
    int keyval;
    int answer;
} seen;

static int extra;
static int one;
static int two;

static int note_copy(MPI_Win win, int keyval, void *state, void *in, void *out, int *flag)
{
    (void)win;
    (void)keyval;
    (void)state;
    (void)in;
    (void)out;
    *flag = 0;
    seen.copies++;
    return MPI_SUCCESS;
}

static int note_delete(MPI_Win win, int keyval, void *value, void *state)
{
    seen.deletes++;
    seen.win = win;
    seen.keyval = keyval;
    seen.value = value;
    seen.extra = state;
    return seen.answer;
}

static void attributes(void)
{
    MPI_Win win;
    MPI_Win kept;
    int key = MPI_KEYVAL_INVALID;
    int old;
    void *value = NULL;
    int flag = -1;

    memset(&seen, 0, sizeof(seen));
    DONE(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    DONE(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    DONE(MPI_Win_create_keyval(note_copy, note_delete, &key, &extra));
    CHECK(key != MPI_KEYVAL_INVALID);
    DONE(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(flag == 0);
    DONE(MPI_Win_set_attr(win, key, &one));
    DONE(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(flag == 1 && value == &one);
    DONE(MPI_Win_set_attr(win, key, &two)); /* deletes the old value */
    CHECK(seen.deletes == 1 && seen.win == win && seen.value == &one);
    CHECK(seen.keyval == key && seen.extra == &extra);
    DONE(MPI_Win_delete_attr(win, key));
    CHECK(seen.deletes == 2 && seen.value == &two);
    DONE(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(flag == 0);
    seen.answer = MPI_ERR_TRUNCATE; /* refused: the value stays */
    DONE(MPI_Win_set_attr(win, key, &one));
    CHECK(MPI_Win_delete_attr(win, key) != MPI_SUCCESS && seen.deletes == 3);
    DONE(MPI_Win_get_attr(win, key, &value, &flag));
    CHECK(flag == 1 && value == &one);
    seen.answer = MPI_SUCCESS;
    old = key;
    DONE(MPI_Win_free_keyval(&key)); /* lives until the window's end */
    CHECK(key == MPI_KEYVAL_INVALID);
    DONE(MPI_Win_get_attr(win, old, &value, &flag));
    CHECK(flag == 1 && value == &one);
    kept = win;
    DONE(MPI_Win_free(&win));
    CHECK(seen.deletes == 4 && seen.win == kept && seen.value == &one);
    CHECK(seen.copies == 0);
}

/* ---- error handlers ---- */

static int handled;
static int handled_code;
static MPI_Win handled_win;

static void note_error(MPI_Win *win, int *code, ...)
{
    handled++;
    handled_code = *code;
    handled_win = *win;
}

static void error_handlers(void)
{
    MPI_Errhandler own = MPI_ERRHANDLER_NULL;
    MPI_Errhandler found = MPI_ERRHANDLER_NULL;
    MPI_Win win;

    DONE(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    DONE(MPI_Win_get_errhandler(win, &found));
    CHECK(found == MPI_ERRORS_ARE_FATAL);
    DONE(MPI_Errhandler_free(&found));
    DONE(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    DONE(MPI_Win_get_errhandler(win, &found));
    CHECK(found == MPI_ERRORS_RETURN);
    DONE(MPI_Errhandler_free(&found));
    DONE(MPI_Win_call_errhandler(win, MPI_ERR_OTHER)); /* returns */
    DONE(MPI_Win_create_errhandler(note_error, &own));
    DONE(MPI_Win_set_errhandler(win, own));
    DONE(MPI_Win_get_errhandler(win, &found));
    CHECK(found == own);
    DONE(MPI_Errhandler_free(&found));
    DONE(MPI_Errhandler_free(&own)); /* lives as long as the window uses it */
    CHECK(own == MPI_ERRHANDLER_NULL);
    DONE(MPI_Win_call_errhandler(win, MPI_ERR_RMA_RANGE));
    CHECK(handled == 1 && handled_code == MPI_ERR_RMA_RANGE && handled_win == win);
    CHECK(MPI_Win_unlock(0, win) != MPI_SUCCESS); /* was never locked */
    CHECK(handled == 2 && class_of(handled_code) == MPI_ERR_RMA_SYNC);
    CHECK(handled_win == win);
    DONE(MPI_Win_free(&win));
}

/* ---- hints ---- */

/* A hint that the library returns has the value that it was given. */
static void has_hint(MPI_Win win, const char *key, const char *expected)
{
    char value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info = MPI_INFO_NULL;
    int flag = 0;

    DONE(MPI_Win_get_info(win, &info));
    CHECK(info != MPI_INFO_NULL);
    DONE(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag));
    CHECK(!flag || strcmp(value, expected) == 0);
    CHECK(flag || !is_weft());
    DONE(MPI_Info_free(&info));
}

static void default_hints(void)
{
    static const char *const pairs[][2] = {
        {"no_locks", "false"},
        {"accumulate_ops", "same_op_no_op"},
        {"same_size", "false"},
        {"same_disp_unit", "false"},
        {"mpi_accumulate_granularity", "0"},
        {"alloc_shared_noncontig", "false"},
    };
    char memory[8];
    MPI_Win win;

    DONE(MPI_Win_create(memory, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        has_hint(win, pairs[i][0], pairs[i][1]);
    }
    DONE(MPI_Win_free(&win));
}

static void hints(void)
{
    static const char *const pairs[][2] = {
        {"no_locks", "true"},
        {"accumulate_ops", "same_op"},
        {"accumulate_ordering", "none"},
        {"same_size", "true"},
        {"same_disp_unit", "true"},
    };
    MPI_Info info;
    MPI_Win win;
    int *base = NULL;

    DONE(MPI_Info_create(&info));
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        DONE(MPI_Info_set(info, pairs[i][0], pairs[i][1]));
    }
    DONE(MPI_Info_set(info, "of_no_library", "whatever"));
    DONE(MPI_Win_allocate(4 * sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &base,
                          &win));
    for (size_t i = 0; i < LENGTH(pairs); i++) {
        has_hint(win, pairs[i][0], pairs[i][1]);
    }
    memset(base, 0, 4 * sizeof(int));
    DONE(MPI_Win_fence(0, win)); /* what is allowed still works */
    for (int target = 0; target < size; target++) {
        DONE(MPI_Accumulate(&(int){rank + 1}, 1, MPI_INT, target, 1, 1, MPI_INT, MPI_SUM,
                            win));
    }
    DONE(MPI_Win_fence(0, win));
    CHECK(base[1] == size * (size + 1) / 2 && base[0] == 0 && base[2] == 0);
    DONE(MPI_Win_set_info(win, info));
    DONE(MPI_Info_free(&info));
    DONE(MPI_Win_free(&win));
}

/* Hints that ask for little, and which the window need not use. */
static void odd_hints(void)
{
    static const char *const pairs[][2] = {
        {"accumulate_ordering", "raw,war"},
        {"mpi_accumulate_granularity", "64"},
        {"accumulate_ops", "same_op_no_op"},
    };
    MPI_Info info;

    for (size_t i = 0; i < LENGTH(pairs); i++) {
        struct window w;

        DONE(MPI_Info_create(&info));
        DONE(MPI_Info_set(info, pairs[i][0], pairs[i][1]));
        w = make_window_info(ALLOCATED, 1024, 1, info);
        DONE(MPI_Info_free(&info));
        has_hint(w.win, pairs[i][0], pairs[i][1]);
        open_all(&w, LOCK_ALL);
        DONE(MPI_Accumulate(&(int){1}, 1, MPI_INT, 0, at(&w, 0, 8), 1, MPI_INT, MPI_SUM,
                            w.win));
        close_all(&w, LOCK_ALL);
        CHECK(*(int *)(w.base + 8) == (w.rank == 0 ? w.size : 0));
        free_window(&w);
    }
}

/* ---- shared windows ---- */

static void query(MPI_Win win, int target, MPI_Aint bytes, int unit, char **base)
{
    MPI_Aint found = -1;
    int found_unit = -1;

    *base = NULL;
    DONE(MPI_Win_shared_query(win, target, &found, &found_unit, base));
    CHECK(found == bytes && found_unit == unit);
    CHECK(bytes == 0 || *base != NULL);
}

/* Sizes differ from rank to rank; `empty` has none. */
static MPI_Aint share_of(int who, int empty)
{
    return who == empty ? 0 : 4096 + 8 * who;
}

/* All see the same memory: each writes into its neighbour's part. */
static void shared(int empty, bool is_contiguous)
{
    MPI_Comm node = node_comm();
    MPI_Info info = MPI_INFO_NULL;
    MPI_Win win;
    char *base = NULL;
    char *part = NULL;
    char *before = NULL;
    int mine;
    int all;

    DONE(MPI_Comm_rank(node, &mine));
    DONE(MPI_Comm_size(node, &all));
    if (!is_contiguous) {
        DONE(MPI_Info_create(&info));
        DONE(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    }
    DONE(MPI_Win_allocate_shared(share_of(mine, empty), 1 + mine, info, node, &base,
                                 &win));
    if (!is_contiguous) {
        DONE(MPI_Info_free(&info));
    }
    for (int r = 0; r < all; r++) {
        query(win, r, share_of(r, empty), 1 + r, &part);
        CHECK(r != mine || part == base || share_of(r, empty) == 0);
        CHECK(!is_contiguous || before == NULL || share_of(r, empty) == 0 ||
              part == before);
        before = share_of(r, empty) == 0 ? before : part + share_of(r, empty);
    }
    if (empty != 0 || all > 1) { /* the first rank that has something */
        const int first = empty == 0 ? 1 : 0;

        query(win, first, share_of(first, empty), 1 + first, &part);
        query(win, MPI_PROC_NULL, share_of(first, empty), 1 + first, &before);
        CHECK(part == before);
    }
    DONE(MPI_Win_lock_all(0, win));
    query(win, (mine + 1) % all, share_of((mine + 1) % all, empty), 1 + (mine + 1) % all,
          &part);
    fill(part, 'a' + mine, share_of((mine + 1) % all, empty));
    DONE(MPI_Win_sync(win));
    DONE(MPI_Barrier(node));
    DONE(MPI_Win_sync(win));
    for (MPI_Aint i = 0; i < share_of(mine, empty); i++) {
        CHECK(base[i] == 'a' + (mine + all - 1) % all);
    }
    DONE(MPI_Win_unlock_all(win));
    DONE(MPI_Win_free(&win));
    DONE(MPI_Comm_free(&node));
}

/* More bytes than a number of 64 bits can say, all parts together: no window. */
static void shared_too_large(void)
{
    MPI_Comm node = node_comm();
    MPI_Info info;
    MPI_Win win = MPI_WIN_NULL;
    void *base = NULL;
    int count;

    DONE(MPI_Comm_size(node, &count));
    DONE(MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN));
    DONE(MPI_Info_create(&info));
    DONE(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    if (count > 1) {
        IS_CLASS(MPI_Win_allocate_shared(INT64_MAX, 1, info, node, &base, &win),
                 MPI_ERR_NO_MEM);
        IS_CLASS(MPI_Win_allocate_shared(INT64_MAX, 1, MPI_INFO_NULL, node, &base, &win),
                 MPI_ERR_NO_MEM);
        CHECK(win == MPI_WIN_NULL);
    }
    DONE(MPI_Info_free(&info));
    DONE(MPI_Comm_free(&node));
}

/* Memory that the library allocates has the alignment that the program asks for: as much
 * as no page has, and another one on each rank. */
static void aligned(void)
{
    const uintptr_t alignment = (uintptr_t)1 << (21 + rank % 3);
    MPI_Comm node = node_comm();
    MPI_Info info;
    MPI_Win wins[3];
    char value[32];
    char *base[3];

    CHECK(snprintf(value, sizeof(value), "%ju", (uintmax_t)alignment) > 0);
    DONE(MPI_Info_create(&info));
    DONE(MPI_Info_set(info, "mpi_minimum_memory_alignment", value));
    DONE(MPI_Info_set(info, "alloc_shared_noncontig", "true"));
    DONE(MPI_Win_allocate(5000, 1, info, MPI_COMM_WORLD, &base[0], &wins[0]));
    DONE(MPI_Win_allocate(5000, 1, info, MPI_COMM_SELF, &base[1], &wins[1]));
    DONE(MPI_Win_allocate_shared(5000, 1, info, node, &base[2], &wins[2]));
    for (int i = 0; i < 3; i++) {
        CHECK((uintptr_t)base[i] % alignment == 0);
        memset(base[i], 1, 5000);
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 3; i++) {
        DONE(MPI_Win_free(&wins[i]));
    }
    DONE(MPI_Info_free(&info));
    DONE(MPI_Comm_free(&node));
}

/* One has all of it, the others none: the usual way to share a table. */
static void shared_by_one(void)
{
    MPI_Comm node = node_comm();
    MPI_Win win;
    int *base = NULL;
    char *part = NULL;
    int mine;

    DONE(MPI_Comm_rank(node, &mine));
    DONE(MPI_Win_allocate_shared(mine == 0 ? 100 * sizeof(int) : 0, sizeof(int),
                                 MPI_INFO_NULL, node, &base, &win));
    query(win, MPI_PROC_NULL, 100 * sizeof(int), sizeof(int), &part);
    DONE(MPI_Win_fence(0, win));
    if (mine == 0) {
        for (int i = 0; i < 100; i++) {
            base[i] = i * i;
        }
    }
    DONE(MPI_Win_fence(0, win));
    for (int i = 0; i < 100; i++) {
        CHECK(((int *)part)[i] == i * i);
    }
    DONE(MPI_Win_fence(0, win));
    DONE(MPI_Win_free(&win));
    DONE(MPI_Comm_free(&node));
}

#if HAS_MPI(4, 1)
/* MPI_PROC_NULL: the first rank whose memory can be reached, or nothing. */
static void query_any(MPI_Win win)
{
    MPI_Aint bytes = -1;
    int unit = -1;
    char *part = NULL;

    DONE(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &part));
    CHECK((bytes == 0 && part == NULL) || (bytes == 256 && unit == 1));
    CHECK(bytes == 0 || *(int *)part >= 1000);
}
#endif

/* Since MPI 4.1 other windows may be asked, too: none of it, or the very memory. */
static void query_others(void)
{
#if HAS_MPI(4, 1)
    for (enum kind kind = CREATED; kind <= ALLOCATED; kind++) {
        struct window w = make_window(kind, 256, 1);

        *(int *)w.base = 1000 + w.rank;
        DONE(MPI_Win_fence(0, w.win));
        for (int target = 0; target < w.size; target++) {
            MPI_Aint bytes = -1;
            int unit = -1;
            char *part = NULL;

            DONE(MPI_Win_shared_query(w.win, target, &bytes, &unit, &part));
            CHECK((bytes == 0 && part == NULL) || (bytes == 256 && unit == 1));
            CHECK(bytes == 0 || *(int *)part == 1000 + target);
        }
        query_any(w.win);
        DONE(MPI_Win_fence(0, w.win));
        free_window(&w);
    }
#endif
}

/* ---- dynamic windows ---- */

/* Regions come and go; each of them is reached by its address. */
static void regions(void)
{
    enum { REGIONS = 6, INTS = 50 };

    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    int *memory[REGIONS];
    MPI_Aint mine[REGIONS];
    MPI_Aint theirs[REGIONS];
    MPI_Win win;

    DONE(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    for (int i = 0; i < REGIONS; i++) {
        memory[i] = malloc(INTS * sizeof(int));
        CHECK(memory[i] != NULL);
        DONE(MPI_Get_address(memory[i], &mine[i]));
    }
    for (int turn = 0; turn < 4; turn++) { /* of each turn other regions */
        for (int i = turn % 2; i < REGIONS; i += 1 + turn % 2) {
            memset(memory[i], 0, INTS * sizeof(int));
            DONE(MPI_Win_attach(win, memory[i], INTS * sizeof(int)));
        }
        DONE(MPI_Sendrecv(mine, REGIONS, MPI_AINT, from, 0, theirs, REGIONS, MPI_AINT, to,
                          0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        DONE(MPI_Win_fence(0, win));
        for (int i = turn % 2; i < REGIONS; i += 1 + turn % 2) {
            const int value = 1000 * turn + 10 * i + rank % 10;

            DONE(MPI_Put(&value, 1, MPI_INT, to,
                         MPI_Aint_add(theirs[i], (INTS - 1) * (MPI_Aint)sizeof(int)), 1,
                         MPI_INT, win));
            DONE(MPI_Win_fence(0, win)); /* the value is this turn's alone */
        }
        for (int i = turn % 2; i < REGIONS; i += 1 + turn % 2) {
            CHECK(memory[i][INTS - 1] == 1000 * turn + 10 * i + from % 10);
            CHECK(memory[i][INTS - 2] == 0);
            DONE(MPI_Win_detach(win, memory[i]));
        }
        DONE(MPI_Barrier(MPI_COMM_WORLD));
    }
    DONE(MPI_Win_free(&win));
    for (int i = 0; i < REGIONS; i++) {
        free(memory[i]);
    }
}

/* Neighbours in memory, attached while others hold locks. */
static void attached_late(void)
{
    static int memory[64];
    MPI_Aint address = 0;
    MPI_Win win;
    int value = -1;

    DONE(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    DONE(MPI_Win_lock_all(0, win));
    for (int half = 0; half < 2; half++) {
        if (rank == 0) {
            memory[32 * half + 5] = 77 + half;
            DONE(MPI_Win_attach(win, memory + 32 * half, 32 * sizeof(int)));
            DONE(MPI_Get_address(&memory[32 * half + 5], &address));
        }
        DONE(MPI_Win_sync(win));
        DONE(MPI_Bcast(&address, 1, MPI_AINT, 0, MPI_COMM_WORLD));
        DONE(MPI_Get(&value, 1, MPI_INT, 0, address, 1, MPI_INT, win));
        DONE(MPI_Win_flush(0, win));
        CHECK(value == 77 + half);
    }
    DONE(MPI_Win_unlock_all(win));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        DONE(MPI_Win_detach(win, memory + 32));
        DONE(MPI_Win_detach(win, memory));
    }
    DONE(MPI_Win_free(&win));
}

/* One access reaches over two regions that touch; another has blocks in regions that do
 * not, and leaves out what lies between them. */
static void several_regions(void)
{
    enum { INTS = 3000, FEW = 10 };

    static int memory[4 * INTS];
    static int values[INTS];
    const int to = (rank + 1) % size;
    const int from = (rank + size - 1) % size;
    const MPI_Aint places[] = {0, 2 * INTS * (MPI_Aint)sizeof(int)};
    MPI_Datatype type;
    MPI_Aint mine;
    MPI_Aint theirs;
    MPI_Win win;

    memset(memory, 0, sizeof(memory));
    for (int i = 0; i < INTS; i++) {
        values[i] = 100000 * (rank % 100) + i;
    }
    DONE(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    DONE(MPI_Win_attach(win, memory + INTS, INTS * sizeof(int)));
    DONE(MPI_Win_attach(win, memory, INTS * sizeof(int)));
    DONE(MPI_Win_attach(win, memory + 3 * INTS, INTS * sizeof(int)));
    DONE(MPI_Get_address(memory, &mine));
    DONE(MPI_Sendrecv(&mine, 1, MPI_AINT, from, 0, &theirs, 1, MPI_AINT, to, 0,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    DONE(MPI_Type_create_hindexed_block(2, FEW, places, MPI_INT, &type));
    DONE(MPI_Type_commit(&type));
    DONE(MPI_Win_fence(0, win));
    DONE(MPI_Put(values, INTS, MPI_INT, to, theirs + INTS / 2 * (MPI_Aint)sizeof(int),
                 INTS, MPI_INT, win));
    DONE(MPI_Win_fence(0, win));
    for (int i = 0; i < INTS; i++) {
        CHECK(memory[INTS / 2 + i] == 100000 * (from % 100) + i);
    }
    DONE(MPI_Win_fence(MPI_MODE_NOPRECEDE, win));
    DONE(MPI_Accumulate(values, 2 * FEW, MPI_INT, to,
                        theirs + INTS * (MPI_Aint)sizeof(int), 1, type, MPI_REPLACE,
                        win));
    DONE(MPI_Win_fence(0, win));
    for (int i = 0; i < FEW; i++) {
        CHECK(memory[INTS + i] == 100000 * (from % 100) + i);
        CHECK(memory[2 * INTS + i] == 0);
        CHECK(memory[3 * INTS + i] == 100000 * (from % 100) + FEW + i);
    }
    DONE(MPI_Type_free(&type));
    DONE(MPI_Win_free(&win));
}

/* ---- the end ---- */

/* MPI_Win_free waits until all that others did to this rank's memory is there. */
static void free_completes(void)
{
    int memory = -1;
    MPI_Win win;

    for (int turn = 0; turn < 20; turn++) {
        DONE(
            MPI_Win_create(&memory, sizeof(int), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
        DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % size, 0, win));
        DONE(MPI_Put(&(int){turn * size + rank}, 1, MPI_INT, (rank + 1) % size, 0, 1,
                     MPI_INT, win));
        DONE(MPI_Win_unlock((rank + 1) % size, win));
        DONE(MPI_Win_free(&win));
        CHECK(memory == turn * size + (rank + size - 1) % size);
    }
}

/* Many at once, freed in another order; they do not touch each other. */
static void many(void)
{
    enum { MANY = 60 };

    MPI_Win wins[MANY];
    int *bases[MANY];

    for (int i = 0; i < MANY; i++) {
        DONE(MPI_Win_allocate(16, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &bases[i],
                              &wins[i]));
        *bases[i] = -1;
    }
    for (int i = 0; i < MANY; i++) {
        DONE(MPI_Win_fence(0, wins[i]));
    }
    for (int i = 0; i < MANY; i++) {
        DONE(MPI_Put(&(int){100 * i + rank}, 1, MPI_INT, (rank + i) % size, 0, 1, MPI_INT,
                     wins[i]));
        DONE(MPI_Win_fence(0, wins[i]));
    }
    for (int k = 0; k < MANY; k++) {
        const int i = (k * 7) % MANY;

        CHECK(*bases[i] == 100 * i + (rank + MANY * size - i) % size);
        DONE(MPI_Win_free(&wins[i]));
    }
}

int main(int argc, char **argv)
{
    MPI_Win win;

    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    flavors();
    nothing();
    large_versions();
    groups();
    DONE(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    names(win);
    DONE(MPI_Win_free(&win));
    attributes();
    error_handlers();
    default_hints();
    hints();
    odd_hints();
    for (int empty = -1; empty < 2; empty++) {
        shared(empty, true);
        shared(empty, false);
    }
    shared_by_one();
    if (is_weft()) {
        shared_too_large();
        aligned();
    }
    query_others();
    regions();
    attached_late();
    several_regions();
    free_completes();
    many();
    DONE(MPI_Finalize());
    return 0;
}
