/*
 * coll_functions.c - functions of the user in reductions: on which thread they run, with
 * which lengths and handles, while what they belong to is freed, and by two threads at
 * once.
 */
#include "check.h"

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define OK(call) CHECK((call) == MPI_SUCCESS)

enum { LONG = 30000, SEVERAL = 3, ROUNDS = 8 };

static int rank;
static int size;
static _Thread_local bool is_inside; /* an MPI call, as this program knows */
static _Thread_local bool is_ours;   /* a thread of this program */

#define INSIDE(call)                                                                     \
    do {                                                                                 \
        is_inside = true;                                                                \
        OK(call);                                                                        \
        is_inside = false;                                                               \
    } while (0)

/* f and then g, x -> g(f(x)), with f = a x + b: these do not commute. */
static void compose(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const uint32_t *f = in;
    uint32_t *g = inout;

    CHECK(is_ours && is_inside && *length > 0 && *type != MPI_DATATYPE_NULL);
    for (int i = 0; i < *length; i++) {
        g[2 * i + 1] += g[2 * i] * f[2 * i + 1];
        g[2 * i] *= f[2 * i];
    }
}

static void add(void *in, void *inout, int *length, MPI_Datatype *type)
{
    MPI_Aint lb;
    MPI_Aint extent;

    CHECK(is_ours && is_inside && *length > 0);
    OK(MPI_Type_get_extent(*type, &lb, &extent)); /* the handle is valid */
    CHECK(lb == 0 && extent == 2 * (MPI_Aint)sizeof(uint32_t));
    for (int i = 0; i < 2 * *length; i++) {
        ((uint32_t *)inout)[i] += ((const uint32_t *)in)[i];
    }
}

static uint32_t number(int of, int i, int round)
{
    return (uint32_t)(of + 1) * 2654435761u + (uint32_t)i * 40503u + (uint32_t)round;
}

struct data {
    uint32_t *in; /* LONG functions of two numbers */
    uint32_t *out;
};

static struct data make_data(int round)
{
    struct data data = {malloc(2 * LONG * sizeof(uint32_t)),
                        malloc(2 * LONG * sizeof(uint32_t))};

    CHECK(data.in != NULL && data.out != NULL);
    for (int i = 0; i < 2 * LONG; i++) {
        data.in[i] = number(rank, i, round);
    }
    memset(data.out, 0, 2 * LONG * sizeof(uint32_t));
    return data;
}

static void free_data(struct data *data)
{
    free(data->in);
    free(data->out);
}

/* `count` functions from the first on are those of the ranks up to `last`. */
static void check_composed(const struct data *data, int first, int count, int last,
                           int round)
{
    for (int i = 0; i < count; i++) {
        const int at = 2 * (first + i);
        uint32_t a = number(0, at, round);
        uint32_t b = number(0, at + 1, round);

        for (int r = 1; r <= last; r++) {
            b = number(r, at, round) * b + number(r, at + 1, round);
            a *= number(r, at, round);
        }
        CHECK(data->out[2 * i] == a && data->out[2 * i + 1] == b);
    }
}

static void check_added(const struct data *data, int round)
{
    for (int i = 0; i < 2 * LONG; i++) {
        uint32_t sum = 0;

        for (int r = 0; r < size; r++) {
            sum += number(r, i, round);
        }
        CHECK(data->out[i] == sum);
    }
}

static MPI_Datatype make_pair(void)
{
    MPI_Datatype pair;

    OK(MPI_Type_contiguous(2, MPI_UINT32_T, &pair));
    OK(MPI_Type_commit(&pair));
    return pair;
}

/* All messages may arrive while nobody is in MPI; no function is called meanwhile. */
static void called_inside(void)
{
    const struct timespec some = {0, 20 * 1000 * 1000};
    MPI_Request requests[SEVERAL];
    struct data data[SEVERAL];
    MPI_Datatype pair = make_pair();
    MPI_Op op;
    int left = SEVERAL;

    OK(MPI_Op_create(compose, 0, &op));
    for (int i = 0; i < SEVERAL; i++) {
        data[i] = make_data(i);
        INSIDE(MPI_Iallreduce(data[i].in, data[i].out, LONG, pair, op, MPI_COMM_WORLD,
                              &requests[i]));
    }
    while (left > 0) {
        int is_over = 0;

        nanosleep(&some, NULL);
        INSIDE(MPI_Test(&requests[left - 1], &is_over, MPI_STATUS_IGNORE));
        left -= is_over ? 1 : 0;
    }
    for (int i = 0; i < SEVERAL; i++) {
        check_composed(&data[i], 0, LONG, size - 1, i);
        free_data(&data[i]);
    }
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&pair));
}

static int deleted;

static int on_delete(MPI_Datatype type, int keyval, void *value, void *state)
{
    (void)type, (void)keyval, (void)state;
    CHECK(value == &deleted);
    deleted++;
    return MPI_SUCCESS;
}

static void set_attribute(MPI_Datatype type)
{
    int key;

    OK(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, on_delete, &key, NULL));
    OK(MPI_Type_set_attr(type, key, &deleted));
    OK(MPI_Type_free_keyval(&key));
}

/* Operation, type and communicator are freed when the operation has begun. Attributes of
 * the type are deleted by MPI_Type_free, whoever still uses it. */
static void freed(void)
{
    MPI_Datatype stale;
    MPI_Request request;
    struct data data = make_data(0);
    MPI_Datatype pair = make_pair();
    MPI_Comm comm;
    MPI_Op op;

    set_attribute(pair);
    stale = pair;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    OK(MPI_Op_create(add, 1, &op));
    INSIDE(MPI_Iallreduce(data.in, data.out, LONG, pair, op, comm, &request));
    INSIDE(MPI_Op_free(&op));
    INSIDE(MPI_Type_free(&pair));
    CHECK(deleted == 1);
    IS_ERROR(MPI_Type_free(&stale), MPI_ERR_TYPE);
    INSIDE(MPI_Comm_free(&comm));
    INSIDE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(deleted == 1);
    check_added(&data, 0);
    free_data(&data);
}

static int64_t elements;
static int calls;

static void count(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)type;
    CHECK(*length > 0);
    elements += *length;
    calls++;
}

static void count_large(void *in, void *inout, MPI_Count *length, MPI_Datatype *type)
{
    (void)in, (void)inout, (void)type;
    elements += *length;
    calls++;
}

/* A function without a large count is called as often as it takes. All elements of the
 * type lie in one place, so that they need no memory. */
static void many_elements(void)
{
    const MPI_Count most = 2 * (MPI_Count)INT_MAX + 5;
    uint32_t in = 1;
    uint32_t inout = 2;
    MPI_Datatype thin;
    MPI_Op op;

    OK(MPI_Type_create_resized(MPI_UINT32_T, 0, 0, &thin));
    OK(MPI_Type_commit(&thin));
    OK(MPI_Op_create(count, 1, &op));
    OK(MPI_Reduce_local_c(&in, &inout, most, thin, op));
    CHECK(elements == most && calls == 3);
    OK(MPI_Op_free(&op));
    elements = 0;
    calls = 0;
    OK(MPI_Op_create_c(count_large, 1, &op));
    OK(MPI_Reduce_local_c(&in, &inout, most, thin, op));
    CHECK(elements == most && calls == 1);
    OK(MPI_Op_free(&op));
    OK(MPI_Type_free(&thin));
}

/* ---- two threads ---- */

struct task {
    MPI_Comm comm;
    MPI_Datatype pair;
    MPI_Op composed;
    MPI_Op added;
};

static void reduce_once(const struct task *task, int round)
{
    const int part = LONG / size;
    MPI_Request request;
    struct data sum = make_data(round);
    struct data data = make_data(round);

    INSIDE(MPI_Iallreduce(sum.in, sum.out, LONG, task->pair, task->added, task->comm,
                          &request));
    INSIDE(
        MPI_Allreduce(data.in, data.out, LONG, task->pair, task->composed, task->comm));
    check_composed(&data, 0, LONG, size - 1, round);
    INSIDE(MPI_Scan(data.in, data.out, LONG, task->pair, task->composed, task->comm));
    check_composed(&data, 0, LONG, rank, round);
    INSIDE(MPI_Reduce_scatter_block(data.in, data.out, part, task->pair, task->composed,
                                    task->comm));
    check_composed(&data, rank * part, part, size - 1, round);
    INSIDE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    check_added(&sum, round);
    free_data(&sum);
    free_data(&data);
}

static void *reduce_often(void *arg)
{
    is_ours = true;
    for (int round = 0; round < ROUNDS; round++) {
        reduce_once(arg, round);
    }
    return NULL;
}

static void two_threads(void)
{
    MPI_Datatype pair = make_pair();
    struct task tasks[2];
    pthread_t thread;

    for (int i = 0; i < 2; i++) {
        tasks[i].pair = pair;
        OK(MPI_Comm_dup(MPI_COMM_WORLD, &tasks[i].comm));
        OK(MPI_Op_create(compose, 0, &tasks[i].composed));
        OK(MPI_Op_create(add, 1, &tasks[i].added));
    }
    CHECK(pthread_create(&thread, NULL, reduce_often, &tasks[0]) == 0);
    reduce_often(&tasks[1]);
    CHECK(pthread_join(thread, NULL) == 0);
    for (int i = 0; i < 2; i++) {
        OK(MPI_Comm_free(&tasks[i].comm));
        OK(MPI_Op_free(&tasks[i].composed));
        OK(MPI_Op_free(&tasks[i].added));
    }
    OK(MPI_Type_free(&pair));
}

int main(int argc, char **argv)
{
    int level;

    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(level == MPI_THREAD_MULTIPLE);
    is_ours = true;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    called_inside();
    freed();
    many_elements();
    two_threads();
    OK(MPI_Finalize());
    return 0;
}
