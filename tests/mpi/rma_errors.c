/*
 * rma_errors.c - the error classes of chapter 12: wrong arguments, operations outside of
 * epochs, epochs that do not fit together. After every mistake the window works on.
 *
 * The standard promises few of these; Weft finds all of them. With another library a
 * mistake that is not found, or has another class, is printed and not counted.
 */
#include "rma.h"

static int rank;
static int size;
static bool is_strict;

#define REFUSED(call, class)                                                             \
    do {                                                                                 \
        refused((call), (class), __LINE__, #call);                                       \
    } while (0)

static void refused(int code, int class, int line, const char *call)
{
    if (class_of(code) != class) {
        fprintf(stderr, "%s:%d: rank %d: class %d instead of %d: %s\n", __FILE__, line,
                rank, class_of(code), class, call);
        CHECK(!is_strict);
    }
}

/* The window still does what it is for. */
static void works(MPI_Win win, int *base)
{
    const int next = (rank + 1) % size;
    const int value = 70 + rank;

    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
    DONE(MPI_Put(&value, 1, MPI_INT, next, 2, 1, MPI_INT, win));
    DONE(MPI_Win_unlock(next, win));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win));
    CHECK(base[2] == 70 + (rank + size - 1) % size);
    base[2] = 0;
    DONE(MPI_Win_unlock(rank, win));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

/* ---- arguments of the calls that make windows ---- */

static void creation(void)
{
    int memory[4];
    void *base = NULL;
    MPI_Win win = MPI_WIN_NULL;

    REFUSED(MPI_Win_create(memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
            MPI_ERR_SIZE);
    if (is_strict) {
        REFUSED(MPI_Win_create(memory, 16, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
                MPI_ERR_DISP);
        REFUSED(MPI_Win_create(memory, 16, -4, MPI_INFO_NULL, MPI_COMM_WORLD, &win),
                MPI_ERR_DISP);
        REFUSED(MPI_Win_allocate(16, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
                MPI_ERR_DISP);
    }
    REFUSED(MPI_Win_create(memory, 16, 1, MPI_INFO_NULL, MPI_COMM_NULL, &win),
            MPI_ERR_COMM);
    REFUSED(MPI_Win_allocate(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
            MPI_ERR_SIZE);
    REFUSED(MPI_Win_allocate_shared(-1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
            MPI_ERR_SIZE);
    REFUSED(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_NULL, &win), MPI_ERR_COMM);
    CHECK(win == MPI_WIN_NULL);
    REFUSED(MPI_Win_free(&win), MPI_ERR_WIN);
    REFUSED(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
    REFUSED(MPI_Put(memory, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL), MPI_ERR_WIN);
    REFUSED(MPI_Win_lock_all(0, MPI_WIN_NULL), MPI_ERR_WIN);
    REFUSED(MPI_Win_set_name(MPI_WIN_NULL, "none"), MPI_ERR_WIN);
    if (is_strict && size > 1) {
        MPI_Comm half;
        MPI_Comm inter;

        DONE(MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &half));
        DONE(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, 5, &inter));
        DONE(MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN));
        REFUSED(MPI_Win_create(memory, 16, 1, MPI_INFO_NULL, inter, &win), MPI_ERR_COMM);
        DONE(MPI_Comm_free(&inter));
        DONE(MPI_Comm_free(&half));
    }
}

/* ---- arguments of operations, in an epoch that allows them ---- */

static void user_sum(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)n;
    (void)type;
}

/* Elements of the origin or of the result that are not those of the target. By packets
 * the parts of an element would never be sent. */
static void other_elements(MPI_Win win, MPI_Datatype both)
{
    int v[4] = {0};
    int r[4] = {0};
    const int next = (rank + 1) % size;

    REFUSED(MPI_Accumulate(v, 10, MPI_BYTE, next, 0, 4, MPI_INT, MPI_SUM, win),
            MPI_ERR_TYPE);
    REFUSED(MPI_Accumulate(v, 10, MPI_BYTE, next, 0, 4, MPI_INT, MPI_REPLACE, win),
            MPI_ERR_TYPE);
    REFUSED(MPI_Accumulate(v, 1, MPI_DOUBLE, next, 0, 2, MPI_INT, MPI_SUM, win),
            MPI_ERR_TYPE);
    REFUSED(MPI_Accumulate(v, 1, both, next, 0, 3, MPI_INT, MPI_SUM, win), MPI_ERR_TYPE);
    REFUSED(MPI_Get_accumulate(v, 1, MPI_INT, r, 2, MPI_SHORT, next, 0, 1, MPI_INT,
                               MPI_SUM, win),
            MPI_ERR_TYPE);
    /* Types that differ in their name only. */
    DONE(MPI_Accumulate(v, 2, MPI_INT32_T, next, 3, 2, MPI_INT, MPI_SUM, win));
    DONE(MPI_Get_accumulate(NULL, 0, MPI_BYTE, r, 4, MPI_INT32_T, next, 3, 4, MPI_INT,
                            MPI_NO_OP, win));
    DONE(MPI_Win_flush(next, win));
}

static void types_and_operations(MPI_Win win)
{
    int v[2] = {0};
    double d = 0;
    MPI_Datatype type;
    MPI_Datatype both;
    MPI_Op op;

    DONE(MPI_Type_contiguous(2, MPI_INT, &type));
    REFUSED(MPI_Put(v, 1, type, 0, 0, 1, type, win), MPI_ERR_TYPE); /* not committed */
    REFUSED(MPI_Put(v, 1, MPI_INT, 0, 0, 1, MPI_DATATYPE_NULL, win), MPI_ERR_TYPE);
    REFUSED(MPI_Get(v, 1, MPI_DATATYPE_NULL, 0, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
    DONE(MPI_Type_commit(&type));
    DONE(MPI_Op_create(user_sum, 1, &op));
    REFUSED(MPI_Accumulate(v, 1, MPI_INT, 0, 0, 1, MPI_INT, op, win), MPI_ERR_OP);
    REFUSED(MPI_Accumulate(v, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_OP_NULL, win),
            MPI_ERR_OP);
    if (is_strict) {
        const MPI_Datatype mixed[] = {MPI_INT, MPI_DOUBLE};
        const int ones[] = {1, 1};
        const MPI_Aint places[] = {0, 8};

        DONE(MPI_Type_create_struct(2, ones, places, mixed, &both));
        DONE(MPI_Type_commit(&both));
        REFUSED(MPI_Accumulate(v, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, win),
                MPI_ERR_OP);
        REFUSED(MPI_Accumulate(&d, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, MPI_BAND, win),
                MPI_ERR_OP);
        REFUSED(MPI_Fetch_and_op(&d, &d, MPI_DOUBLE, 0, 0, MPI_LXOR, win), MPI_ERR_OP);
        REFUSED(MPI_Accumulate(v, 1, both, 0, 0, 1, both, MPI_SUM, win), MPI_ERR_TYPE);
        other_elements(win, both);
        DONE(MPI_Type_free(&both));
    }
    REFUSED(MPI_Fetch_and_op(v, v, type, 0, 0, MPI_SUM, win), MPI_ERR_TYPE);
    REFUSED(MPI_Compare_and_swap(&d, &d, &d, MPI_DOUBLE, 0, 0, win), MPI_ERR_TYPE);
    DONE(MPI_Op_free(&op));
    DONE(MPI_Type_free(&type));
}

static void arguments(MPI_Win win, int *base)
{
    int v[8] = {0};

    DONE(MPI_Win_lock_all(0, win));
    REFUSED(MPI_Put(v, -1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
    REFUSED(MPI_Put(v, 1, MPI_INT, 0, 0, -1, MPI_INT, win), MPI_ERR_COUNT);
    REFUSED(MPI_Get(v, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    REFUSED(MPI_Get(v, 1, MPI_INT, -77, 0, 1, MPI_INT, win), MPI_ERR_RANK);
    REFUSED(MPI_Put(v, 1, MPI_INT, 0, -1, 1, MPI_INT, win), MPI_ERR_DISP);
    if (is_strict) { /* 8 ints are there */
        REFUSED(MPI_Put(v, 1, MPI_INT, 0, 8, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
        REFUSED(MPI_Get(v, 4, MPI_INT, 0, 5, 4, MPI_INT, win), MPI_ERR_RMA_RANGE);
        REFUSED(MPI_Accumulate(v, 1, MPI_INT, 0, 1 << 28, 1, MPI_INT, MPI_SUM, win),
                MPI_ERR_RMA_RANGE);
        REFUSED(MPI_Fetch_and_op(v, v, MPI_INT, 0, 8, MPI_SUM, win), MPI_ERR_RMA_RANGE);
        REFUSED(MPI_Compare_and_swap(v, v, v, MPI_INT, 0, 8, win), MPI_ERR_RMA_RANGE);
        REFUSED(MPI_Put(v, 4, MPI_INT, 0, 0, 2, MPI_INT, win), MPI_ERR_TRUNCATE);
        REFUSED(MPI_Get(v, 2, MPI_INT, 0, 0, 4, MPI_INT, win), MPI_ERR_TRUNCATE);
    }
    types_and_operations(win);
    REFUSED(MPI_Win_flush(size, win), MPI_ERR_RANK);
    DONE(MPI_Win_unlock_all(win));
    works(win, base);
}

/* ---- operations outside of epochs ---- */

static void outside(MPI_Win win, int *base)
{
    int v = 0;
    MPI_Request request = MPI_REQUEST_NULL;

    REFUSED(MPI_Put(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Get(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Accumulate(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win),
            MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Fetch_and_op(&v, &v, MPI_INT, 0, 0, MPI_SUM, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Compare_and_swap(&v, &v, &v, MPI_INT, 0, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Rput(&v, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush(0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush_local(0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_flush_local_all(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
    if (is_strict) {
        int flag;

        REFUSED(MPI_Put(&v, 0, MPI_INT, 0, 0, 0, MPI_INT, win), MPI_ERR_RMA_SYNC);
        REFUSED(MPI_Get(&v, 0, MPI_INT, 0, 0, 0, MPI_INT, win), MPI_ERR_RMA_SYNC);
        REFUSED(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
        REFUSED(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);
    }
    works(win, base);
}

/* ---- locks ---- */

static void locks(MPI_Win win, int *base)
{
    int v = 0;
    const int other = (rank + 1) % size;

    REFUSED(MPI_Win_lock(4711, 0, 0, win), MPI_ERR_LOCKTYPE);
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, 0, 1 << 30, win), MPI_ERR_ASSERT);
    REFUSED(MPI_Win_lock_all(1 << 30, win), MPI_ERR_ASSERT);
    DONE(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC); /* again */
    REFUSED(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
    if (size > 1) {      /* another target than the locked one */
        if (is_strict) { /* MPICH 4.0 ends the job */
            REFUSED(MPI_Win_unlock(other, win), MPI_ERR_RMA_SYNC);
        }
        REFUSED(MPI_Put(&v, 1, MPI_INT, other, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
        REFUSED(MPI_Win_flush(other, win), MPI_ERR_RMA_SYNC);
    }
    if (is_strict) {
        REFUSED(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
        REFUSED(MPI_Win_start(MPI_GROUP_EMPTY, 0, win), MPI_ERR_RMA_SYNC);
        REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
        CHECK(win != MPI_WIN_NULL);
    }
    DONE(MPI_Win_unlock(rank, win));
    DONE(MPI_Win_lock_all(0, win));
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_unlock(rank, win), MPI_ERR_RMA_SYNC);
    DONE(MPI_Win_unlock_all(win));
    works(win, base);
}

/* ---- fences and post-start-complete-wait ---- */

static void active(MPI_Win win, int *base)
{
    int v = 0;
    MPI_Request request = MPI_REQUEST_NULL;

    if (!is_strict) {
        return; /* others hang in some of these */
    }
    REFUSED(MPI_Win_fence(1 << 30, win), MPI_ERR_ASSERT);
    REFUSED(MPI_Win_post(MPI_GROUP_EMPTY, 1 << 30, win), MPI_ERR_ASSERT);
    REFUSED(MPI_Win_start(MPI_GROUP_EMPTY, 1 << 30, win), MPI_ERR_ASSERT);
    REFUSED(MPI_Win_post(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
    REFUSED(MPI_Win_start(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
    DONE(MPI_Win_fence(0, win));
    REFUSED(MPI_Rput(&v, 1, MPI_INT, rank, 0, 1, MPI_INT, win, &request),
            MPI_ERR_RMA_SYNC);
    DONE(MPI_Put(&v, 1, MPI_INT, rank, 0, 1, MPI_INT, win)); /* the epoch is open now */
    REFUSED(MPI_Win_flush(rank, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_start(MPI_GROUP_EMPTY, 0, win), MPI_ERR_RMA_SYNC);
    DONE(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    DONE(MPI_Win_start(MPI_GROUP_EMPTY, 0, win));
    REFUSED(MPI_Put(&v, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_start(MPI_GROUP_EMPTY, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
    DONE(MPI_Win_complete(win));
    DONE(MPI_Win_post(MPI_GROUP_EMPTY, 0, win));
    REFUSED(MPI_Win_post(MPI_GROUP_EMPTY, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
    DONE(MPI_Win_wait(win));
    REFUSED(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
    works(win, base);
}

/* A group with members that the window does not have. */
static void groups(void)
{
    int word = 0;
    MPI_Group world;
    MPI_Win win;

    if (!is_strict || size == 1) {
        return;
    }
    DONE(MPI_Comm_group(MPI_COMM_WORLD, &world));
    DONE(MPI_Win_create(&word, sizeof(word), 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
    DONE(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    REFUSED(MPI_Win_post(world, 0, win), MPI_ERR_GROUP);
    REFUSED(MPI_Win_start(world, 0, win), MPI_ERR_GROUP);
    DONE(MPI_Win_free(&win));
    DONE(MPI_Group_free(&world));
}

/* Who says that there are no locks gets none; fences are as ever. */
static void no_locks(void)
{
    MPI_Info info;
    MPI_Win win;
    int *base;

    if (!is_strict) {
        return;
    }
    DONE(MPI_Info_create(&info));
    DONE(MPI_Info_set(info, "no_locks", "true"));
    DONE(MPI_Win_allocate(sizeof(int), sizeof(int), info, MPI_COMM_WORLD, &base, &win));
    DONE(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    REFUSED(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC);
    REFUSED(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
    *base = 0;
    DONE(MPI_Win_fence(0, win));
    DONE(MPI_Accumulate(&(int){1}, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    DONE(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
    CHECK(*base == (rank == 0 ? size : 0));
    DONE(MPI_Info_free(&info));
    DONE(MPI_Win_free(&win));
}

/* ---- flavors, attachments, attributes ---- */

static void flavors(MPI_Win win)
{
    static int memory[16];
    MPI_Win dynamic;
    MPI_Aint bytes;
    MPI_Aint address;
    int unit;
    void *base;
    int v = 0;
    int code;

    DONE(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic));
    DONE(MPI_Win_set_errhandler(dynamic, MPI_ERRORS_RETURN));
    REFUSED(MPI_Win_shared_query(dynamic, 0, &bytes, &unit, &base), MPI_ERR_RMA_FLAVOR);
    REFUSED(MPI_Win_attach(win, memory, 4), MPI_ERR_RMA_FLAVOR);
    REFUSED(MPI_Win_detach(win, memory), MPI_ERR_RMA_FLAVOR);
    REFUSED(MPI_Win_attach(dynamic, memory, -1), MPI_ERR_SIZE);
    if (is_strict) {
        REFUSED(MPI_Win_detach(dynamic, memory), MPI_ERR_RMA_ATTACH);
        DONE(MPI_Win_attach(dynamic, memory, sizeof(memory)));
        REFUSED(MPI_Win_attach(dynamic, memory + 3, 4), MPI_ERR_RMA_ATTACH);
        DONE(MPI_Get_address(memory, &address));
        DONE(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, dynamic));
        DONE(MPI_Put(&v, 1, MPI_INT, rank, address, 1, MPI_INT, dynamic));
        /* What is attached may be known to the target alone, until the epoch ends. */
        code = MPI_Put(&v, 1, MPI_INT, rank, MPI_Aint_add(address, sizeof(memory)), 1,
                       MPI_INT, dynamic);
        if (code == MPI_SUCCESS) {
            REFUSED(MPI_Win_unlock(rank, dynamic), MPI_ERR_RMA_RANGE);
        } else {
            REFUSED(code, MPI_ERR_RMA_RANGE);
            DONE(MPI_Win_unlock(rank, dynamic));
        }
        DONE(MPI_Win_detach(dynamic, memory));
        REFUSED(MPI_Win_detach(dynamic, memory), MPI_ERR_RMA_ATTACH);
    }
    DONE(MPI_Win_free(&dynamic));
}

/* The handler of the window is called, whatever MPI_COMM_SELF has. */
static void info_that_was_freed(MPI_Win win)
{
    MPI_Info info;
    MPI_Info freed;

    DONE(MPI_Info_create(&info));
    freed = info;
    DONE(MPI_Info_free(&info));
    DONE(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL));
    IS_CLASS(MPI_Win_set_info(win, freed), MPI_ERR_INFO);
    DONE(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
}

static void attributes(MPI_Win win)
{
    int flag;
    void *value;
    int key = MPI_KEYVAL_INVALID;
    char name[MPI_MAX_OBJECT_NAME];

    REFUSED(MPI_Win_set_attr(win, MPI_WIN_BASE, NULL), MPI_ERR_KEYVAL);
    REFUSED(MPI_Win_delete_attr(win, MPI_WIN_SIZE), MPI_ERR_KEYVAL);
    REFUSED(MPI_Win_get_attr(win, MPI_KEYVAL_INVALID, &value, &flag), MPI_ERR_KEYVAL);
    REFUSED(MPI_Win_free_keyval(&key), MPI_ERR_KEYVAL);
    REFUSED(MPI_Win_get_name(win, name, NULL), MPI_ERR_ARG);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int *base = NULL;

    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    is_strict = is_weft();
    DONE(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    DONE(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    creation();
    DONE(MPI_Win_allocate(8 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                          &base, &win));
    DONE(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    memset(base, 0, 8 * sizeof(int));
    works(win, base);
    arguments(win, base);
    outside(win, base);
    locks(win, base);
    active(win, base);
    groups();
    no_locks();
    flavors(win);
    attributes(win);
    if (is_strict) {
        info_that_was_freed(win);
    }
    works(win, base);
    DONE(MPI_Win_free(&win));
    DONE(MPI_Finalize());
    return 0;
}
