/* attributes.c - chapter 7.7: keys, attributes and their callbacks; chapter 9.1.2. */
#include "check.h"

enum { BAD_DELETE = MPI_ERR_TRUNCATE }; /* a code that no call here gives by itself */

/* What the callbacks saw, in order. */
static struct {
    int deletes;
    void *values[16];
    MPI_Comm comm;
    int keyval;
    void *extra;
    int answer;
} seen;

static int note_delete(MPI_Comm comm, int keyval, void *value, void *extra)
{
    seen.comm = comm;
    seen.keyval = keyval;
    seen.extra = extra;
    seen.values[seen.deletes++ % 16] = value;
    return seen.answer;
}

static int extra;
static int one;
static int two;

static void set_get_delete(void)
{
    int key = MPI_KEYVAL_INVALID;
    int old;
    void *value = NULL;
    int flag = -1;

    CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, note_delete, &key, &extra) ==
          MPI_SUCCESS);
    CHECK(key != MPI_KEYVAL_INVALID && key > MPI_UNIVERSE_SIZE);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag) == MPI_SUCCESS);
    CHECK(flag == 0 && value == NULL);
    CHECK(MPI_Comm_delete_attr(MPI_COMM_WORLD, key) == MPI_SUCCESS && seen.deletes == 0);

    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &one) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag) == MPI_SUCCESS);
    CHECK(flag == 1 && value == &one);
    CHECK(MPI_Comm_get_attr(MPI_COMM_SELF, key, &value, &flag) == MPI_SUCCESS);
    CHECK(flag == 0);

    /* Overwriting deletes the old value; a failing callback keeps it. */
    seen.answer = BAD_DELETE;
    IS_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &two), BAD_DELETE);
    IS_ERROR(MPI_Comm_delete_attr(MPI_COMM_WORLD, key), BAD_DELETE);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, key, &value, &flag) == MPI_SUCCESS);
    CHECK(flag == 1 && value == &one && seen.deletes == 2);
    seen.answer = MPI_SUCCESS;
    CHECK(MPI_Comm_set_attr(MPI_COMM_WORLD, key, &two) == MPI_SUCCESS);
    CHECK(seen.deletes == 3 && seen.values[2] == &one && seen.comm == MPI_COMM_WORLD &&
          seen.keyval == key && seen.extra == &extra);

    /* A key that is freed while in use lives until its last attribute is deleted. */
    old = key;
    CHECK(MPI_Comm_free_keyval(&key) == MPI_SUCCESS && key == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, old, &value, &flag) == MPI_SUCCESS);
    CHECK(flag == 1 && value == &two);
    IS_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, old, &one), MPI_ERR_KEYVAL);
    key = old;
    CHECK(MPI_Comm_free_keyval(&key) == MPI_SUCCESS && seen.deletes == 3);
    CHECK(MPI_Comm_delete_attr(MPI_COMM_WORLD, old) == MPI_SUCCESS && seen.deletes == 4);
    IS_ERROR(MPI_Comm_delete_attr(MPI_COMM_WORLD, old), MPI_ERR_KEYVAL);
    key = old;
    IS_ERROR(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
    CHECK(key == old && seen.deletes == 4);
}

static void wrong_keys(void)
{
    int type_key;
    int win_key;
    int key = MPI_KEYVAL_INVALID;
    int flag;
    void *value;

    CHECK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &type_key,
                                 NULL) == MPI_SUCCESS);
    CHECK(MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL) ==
          MPI_SUCCESS);
    IS_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, type_key, &one), MPI_ERR_KEYVAL);
    IS_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, win_key, &one), MPI_ERR_KEYVAL);
    IS_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &one), MPI_ERR_KEYVAL);
    IS_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, -1, &one), MPI_ERR_KEYVAL);
    IS_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, 0x7fffffff, &one), MPI_ERR_KEYVAL);
    IS_ERROR(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &one), MPI_ERR_KEYVAL);
    IS_ERROR(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB), MPI_ERR_KEYVAL);
    IS_ERROR(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
    IS_ERROR(MPI_Comm_free_keyval(&type_key), MPI_ERR_KEYVAL);
    IS_ERROR(MPI_Comm_free_keyval(NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Comm_set_attr(MPI_COMM_NULL, MPI_TAG_UB, &one), MPI_ERR_COMM);
    IS_ERROR(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, NULL, &flag), MPI_ERR_ARG);
    IS_ERROR(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Type_get_attr(MPI_INT, win_key, &value, &flag), MPI_ERR_KEYVAL);
    IS_ERROR(MPI_Type_set_attr(MPI_DATATYPE_NULL, type_key, &one), MPI_ERR_TYPE);
    CHECK(MPI_Type_free_keyval(&type_key) == MPI_SUCCESS);
    CHECK(MPI_Win_free_keyval(&win_key) == MPI_SUCCESS && win_key == MPI_KEYVAL_INVALID);
}

static MPI_Datatype deleted_from;

static int note_type_delete(MPI_Datatype type, int keyval, void *value, void *state)
{
    (void)keyval;
    CHECK(value == &two && state == NULL);
    deleted_from = type;
    return MPI_SUCCESS;
}

static void on_predefined_datatypes(void)
{
    int key;
    void *value = NULL;
    int flag = -1;

    CHECK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, note_type_delete, &key, NULL) ==
          MPI_SUCCESS);
    CHECK(MPI_Type_set_attr(MPI_DOUBLE, key, &two) == MPI_SUCCESS);
    CHECK(MPI_Type_get_attr(MPI_DOUBLE, key, &value, &flag) == MPI_SUCCESS);
    CHECK(flag == 1 && value == &two);
    CHECK(MPI_Type_get_attr(MPI_FLOAT, key, &value, &flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Type_delete_attr(MPI_DOUBLE, key) == MPI_SUCCESS);
    CHECK(deleted_from == MPI_DOUBLE);
    CHECK(MPI_Type_get_attr(MPI_DOUBLE, key, &value, &flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Type_set_attr(MPI_CHAR, key, &two) == MPI_SUCCESS); /* left there */
    CHECK(MPI_Type_free_keyval(&key) == MPI_SUCCESS);
}

static int copies;

static int copy_type(MPI_Datatype type, int keyval, void *state, void *from, void *to,
                     int *flag)
{
    CHECK(type != MPI_DATATYPE_NULL && keyval != MPI_KEYVAL_INVALID && from == &two);
    copies++;
    *(void **)to = from;
    *flag = state == NULL;
    return state == NULL ? MPI_SUCCESS : *(int *)state;
}

static int fail_type_delete(MPI_Datatype type, int keyval, void *value, void *state)
{
    (void)type;
    (void)keyval;
    (void)value;
    return *(int *)state;
}

static void on_derived_datatypes(void)
{
    int answer = BAD_DELETE;
    int key;
    int bad_copy;
    int bad_delete;
    MPI_Datatype type;
    MPI_Datatype freed;
    MPI_Datatype copy = MPI_DATATYPE_NULL;
    void *value = NULL;
    int flag = -1;

    CHECK(MPI_Type_create_keyval(copy_type, note_type_delete, &key, NULL) == MPI_SUCCESS);
    CHECK(MPI_Type_create_keyval(copy_type, MPI_TYPE_NULL_DELETE_FN, &bad_copy,
                                 &answer) == MPI_SUCCESS);
    CHECK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, fail_type_delete, &bad_delete,
                                 &answer) == MPI_SUCCESS);
    CHECK(MPI_Type_contiguous(3, MPI_INT, &type) == MPI_SUCCESS);
    CHECK(MPI_Type_get_attr(type, key, &value, &flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Type_set_attr(type, key, &two) == MPI_SUCCESS);
    CHECK(MPI_Type_dup(type, &copy) == MPI_SUCCESS && copies == 1);
    CHECK(MPI_Type_get_attr(copy, key, &value, &flag) == MPI_SUCCESS);
    CHECK(flag == 1 && value == &two);
    freed = type;
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS && deleted_from == freed);

    /* A callback that fails: no duplicate; nothing is freed. */
    CHECK(MPI_Type_set_attr(copy, bad_copy, &two) == MPI_SUCCESS);
    deleted_from = MPI_DATATYPE_NULL;
    IS_ERROR(MPI_Type_dup(copy, &type), BAD_DELETE);
    CHECK(copies == 3 && deleted_from != copy && deleted_from != MPI_DATATYPE_NULL);
    CHECK(MPI_Type_set_attr(copy, bad_delete, &two) == MPI_SUCCESS);
    IS_ERROR(MPI_Type_free(&copy), BAD_DELETE);
    CHECK(MPI_Type_get_attr(copy, key, &value, &flag) == MPI_SUCCESS && flag == 1);
    answer = MPI_SUCCESS;
    freed = copy;
    CHECK(MPI_Type_free(&copy) == MPI_SUCCESS && deleted_from == freed);
    CHECK(MPI_Type_free_keyval(&key) == MPI_SUCCESS);
    CHECK(MPI_Type_free_keyval(&bad_copy) == MPI_SUCCESS);
    CHECK(MPI_Type_free_keyval(&bad_delete) == MPI_SUCCESS);
}

static int predefined_value(MPI_Comm comm, int key, int *flag)
{
    int *value = NULL;

    CHECK(MPI_Comm_get_attr(comm, key, &value, flag) == MPI_SUCCESS);
    return *flag ? *value : -12345;
}

static void predefined(void)
{
    int size;
    int flag = -1;
    int tag_ub;
    int all;
    int appnum;

    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    tag_ub = predefined_value(MPI_COMM_WORLD, MPI_TAG_UB, &flag);
    CHECK(flag == 1 && tag_ub >= (1 << 23) - 1);
    CHECK(MPI_Allreduce(&tag_ub, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(all == tag_ub);
    CHECK(MPI_Sendrecv(&size, 1, MPI_INT, 0, tag_ub, &all, 1, MPI_INT, 0, tag_ub,
                       MPI_COMM_SELF, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    predefined_value(MPI_COMM_WORLD, MPI_HOST, &flag);
    CHECK(flag == 1);
    CHECK(predefined_value(MPI_COMM_WORLD, MPI_IO, &flag) == MPI_ANY_SOURCE && flag == 1);
    CHECK(predefined_value(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, &flag) >= size);
    all = predefined_value(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &flag);
    CHECK(flag == 1 && (all == 0 || all == 1));
    CHECK(predefined_value(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &flag) >= MPI_ERR_LASTCODE);
    appnum = predefined_value(MPI_COMM_WORLD, MPI_APPNUM, &flag);
    CHECK(flag == 0 || appnum >= 0);
    if (getenv("EXPECTED_APPNUM") != NULL) {
        CHECK(flag == 1 && appnum == atoi(getenv("EXPECTED_APPNUM")));
    }
}

/* ---- MPI_COMM_SELF's attributes go first of all in MPI_Finalize ---- */

static int order[4];
static int order_count;

static int at_finalize(MPI_Comm comm, int keyval, void *value, void *state)
{
    int rank = -1;
    int size = -1;
    int sum = -1;
    int flag = -1;

    (void)keyval;
    (void)state;
    CHECK(comm == MPI_COMM_SELF);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
    CHECK(order_count < 4);
    order[order_count++] = *(int *)value;
    return MPI_SUCCESS;
}

static int numbers[] = {0, 1, 2, 3};

/* The value 1 is set last, because it is set again. */
static void leave_on_self(void)
{
    int keys[3];

    for (int i = 0; i < 3; i++) {
        CHECK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, at_finalize, &keys[i], NULL) ==
              MPI_SUCCESS);
        CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, keys[i], &numbers[i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, keys[1], &numbers[3]) == MPI_SUCCESS);
    CHECK(order_count == 1 && order[0] == 1);
    order_count = 0;
    CHECK(MPI_Comm_free_keyval(&keys[0]) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    set_get_delete();
    wrong_keys();
    on_predefined_datatypes();
    on_derived_datatypes();
    predefined();
    leave_on_self();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    CHECK(order_count == 3 && order[0] == 3 && order[1] == 2 && order[2] == 0);
    CHECK(seen.deletes == 4 && seen.values[3] == &two); /* the one on MPI_COMM_WORLD */
    return 0;
}
