/*
 * threads_small.c - threads of the program whose stacks are the smallest that the system
 * allows.
 *
 * Each subject runs in a thread of every rank. Its stack is larger, and painted: so the
 * program can tell how much the library has used, instead of crashing. With an argument
 * it prints the figures.
 */
#include "check.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

#define DONE(call) CHECK((call) == MPI_SUCCESS)

enum {
    STACK = 512 * 1024,
    PAINT = 0x5a,
    TAG = 5,
    LONG = 1024 * 1024,
    ROWS = 1000, /* of two doubles, in a matrix of six columns */
    COLUMNS = 6,
    DOUBLES = 4096,
};

static int rank;
static int size;
static int to;
static int from;
static char *out;
static char *in;
static MPI_Datatype rows;

/* ---- subjects ---- */

static void exchange(int bytes)
{
    MPI_Request request;

    DONE(MPI_Irecv(in, bytes, MPI_BYTE, from, TAG, MPI_COMM_WORLD, &request));
    DONE(MPI_Send(out, bytes, MPI_BYTE, to, TAG, MPI_COMM_WORLD));
    DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void short_messages(void)
{
    for (int bytes = 0; bytes <= 16384; bytes = 2 * bytes + 1) {
        exchange(bytes);
    }
}

static void long_messages(void)
{
    exchange(LONG);
    DONE(MPI_Sendrecv(out, LONG, MPI_BYTE, to, TAG, in, LONG, MPI_BYTE, from, TAG,
                      MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* The receiver is likely to sleep when the message comes. Which objects are mapped has
 * changed, which the library records before it sleeps. */
static void late_messages(void)
{
    const struct timespec some = {0, 20000000};
    void *object = dlopen("libresolv.so.2", RTLD_NOW);

    if (rank % 2 == 0) {
        nanosleep(&some, NULL);
        DONE(MPI_Send(out, 8, MPI_BYTE, to, TAG, MPI_COMM_WORLD));
        DONE(MPI_Recv(in, 8, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    } else {
        DONE(MPI_Recv(in, 8, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        nanosleep(&some, NULL);
        DONE(MPI_Send(out, 8, MPI_BYTE, to, TAG, MPI_COMM_WORLD));
    }
    if (object != NULL) {
        dlclose(object);
    }
}

static void types(void)
{
    for (int count = 1; count <= 8; count++) {
        DONE(MPI_Sendrecv(out, 1, rows, to, TAG, in, 1, rows, from, TAG, MPI_COMM_WORLD,
                          MPI_STATUS_IGNORE));
        DONE(MPI_Sendrecv(out, ROWS * 2 * (int)sizeof(double), MPI_BYTE, to, TAG, in,
                          count, rows, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        DONE(MPI_Sendrecv(out, count * 10, MPI_DOUBLE_INT, to, TAG, in, count * 10,
                          MPI_DOUBLE_INT, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    }
}

static void probes(void)
{
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;

    DONE(MPI_Issend(out, 100, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request));
    DONE(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
    DONE(MPI_Mrecv(in, 100, MPI_BYTE, &message, &status));
    DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void buffered(void)
{
    const int room = 3 * LONG;
    void *buffer = malloc((size_t)room);

    CHECK(buffer != NULL);
    DONE(MPI_Buffer_attach(buffer, room));
    DONE(MPI_Bsend(out, 1, rows, to, TAG, MPI_COMM_WORLD));
    DONE(MPI_Bsend(out, LONG, MPI_BYTE, to, TAG, MPI_COMM_WORLD));
    DONE(MPI_Recv(in, 1, rows, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    DONE(MPI_Recv(in, LONG, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    DONE(MPI_Buffer_detach(&buffer, &(int){0}));
    free(buffer);
}

static void add(void *left, void *right, int *length, MPI_Datatype *type)
{
    double *sums = right;
    const double *terms = left;

    (void)type;
    for (int i = 0; i < *length; i++) {
        sums[i] += terms[i];
    }
}

static void collectives(void)
{
    MPI_Comm world = MPI_COMM_WORLD;
    MPI_Request request;
    MPI_Op op;

    memset(out, 0, LONG);
    DONE(MPI_Op_create(add, 0, &op));
    for (int count = 1; count <= DOUBLES * 4; count *= 128) {
        DONE(MPI_Barrier(world));
        DONE(MPI_Bcast(in, count, MPI_DOUBLE, 0, world));
        DONE(MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, world));
        DONE(MPI_Reduce(out, in, count, MPI_DOUBLE, op, 0, world));
        DONE(MPI_Scan(out, in, count, MPI_DOUBLE, MPI_MAX, world));
        DONE(MPI_Iallreduce(out, in, count, MPI_DOUBLE, op, world, &request));
        DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    DONE(MPI_Op_free(&op));
    for (int count = 1; count <= 1024; count *= 32) {
        DONE(MPI_Gather(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, 0, world));
        DONE(MPI_Alltoall(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, world));
        DONE(MPI_Allgather(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, world));
    }
    DONE(MPI_Bcast(in, 1, rows, 0, world));
    for (int count = 1; count <= 64; count *= 8) {
        DONE(MPI_Gather(out, count, MPI_DOUBLE_INT, in, count, MPI_DOUBLE_INT, 0, world));
        DONE(MPI_Allgather(out, count, MPI_DOUBLE_INT, in, count, MPI_DOUBLE_INT, world));
    }
}

static void communicators(void)
{
    MPI_Comm copy;
    MPI_Comm half;

    DONE(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    DONE(MPI_Comm_split(copy, rank % 2, rank, &half));
    DONE(MPI_Barrier(half));
    DONE(MPI_Comm_free(&half));
    DONE(MPI_Comm_free(&copy));
}

static void dimensions(void)
{
    int dims[] = {0, 0, 0, 0};

    DONE(MPI_Dims_create(735134400, 4, dims)); /* a number with many divisors */
    CHECK(dims[0] * dims[1] * dims[2] * dims[3] == 735134400);
}

static void touch(MPI_Win win)
{
    DONE(MPI_Put(out, 100, MPI_DOUBLE, to, 0, 100, MPI_DOUBLE, win));
    DONE(MPI_Put(out, 1, rows, to, 0, 1, rows, win));
    DONE(MPI_Win_flush(to, win));
    DONE(MPI_Get(in, 1, rows, to, 0, 1, rows, win));
    DONE(MPI_Win_flush(to, win));
    DONE(MPI_Accumulate(out, 1, rows, to, 0, 1, rows, MPI_SUM, win));
    DONE(MPI_Win_flush(to, win));
    DONE(MPI_Accumulate(out, DOUBLES, MPI_DOUBLE, to, 0, DOUBLES, MPI_DOUBLE, MPI_SUM,
                        win));
    DONE(MPI_Win_flush(to, win));
    DONE(MPI_Get_accumulate(out, DOUBLES, MPI_DOUBLE, in, DOUBLES, MPI_DOUBLE, to, 0,
                            DOUBLES, MPI_DOUBLE, MPI_SUM, win));
    DONE(MPI_Fetch_and_op(out, in, MPI_DOUBLE, to, 0, MPI_SUM, win));
    DONE(MPI_Win_flush(to, win));
}

static void windows(void)
{
    const MPI_Aint bytes = DOUBLES * 4 * (MPI_Aint)sizeof(double);
    double *memory = calloc(DOUBLES * 4, sizeof(double));
    double *ours;
    MPI_Win made;
    MPI_Win win;

    CHECK(memory != NULL);
    DONE(MPI_Win_create(memory, bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD,
                        &made));
    DONE(MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &ours,
                          &win));
    memset(ours, 0, (size_t)bytes);
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_Win_lock_all(0, made));
    DONE(MPI_Win_lock_all(0, win));
    touch(made);
    touch(win);
    DONE(MPI_Win_unlock_all(win));
    DONE(MPI_Win_unlock_all(made));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_Win_free(&win));
    DONE(MPI_Win_free(&made));
    free(memory);
}

static void nothing(void)
{
}

static void errors(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    const int err = MPI_Send(out, -1, MPI_BYTE, to, TAG, MPI_COMM_SELF);

    CHECK(err != MPI_SUCCESS);
    DONE(MPI_Error_string(err, text, &length));
}

/* ---- stacks ---- */

static void (*subject)(void);

static void *run(void *unused)
{
    subject();
    return unused;
}

static ptrdiff_t used_of(const char *stack)
{
    ptrdiff_t at = 0;

    while (at < STACK && stack[at] == PAINT) {
        at++;
    }
    return STACK - at;
}

static void try(const char *name, void (*what)(void), bool says)
{
    char *stack =
        mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const ptrdiff_t room = PTHREAD_STACK_MIN;
    pthread_attr_t attributes;
    pthread_t thread;
    ptrdiff_t used;

    CHECK(stack != MAP_FAILED);
    memset(stack, PAINT, STACK);
    subject = what;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstack(&attributes, stack, STACK) == 0);
    CHECK(pthread_create(&thread, &attributes, run, NULL) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_attr_destroy(&attributes) == 0);
    used = used_of(stack);
    if (says || used > room) {
        fprintf(stderr, "rank %d, %s: %td bytes of a stack, of %td\n", rank, name, used,
                room);
    }
    CHECK(says || used <= room);
    CHECK(munmap(stack, STACK) == 0);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } subjects[] = {
        {"nothing", nothing},
        {"short messages", short_messages},
        {"long messages", long_messages},
        {"late messages", late_messages},
        {"types", types},
        {"probes", probes},
        {"buffered", buffered},
        {"collectives", collectives},
        {"communicators", communicators},
        {"dimensions", dimensions},
        {"windows", windows},
        {"errors", errors},
    };
    int provided;

    DONE(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    DONE(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    to = (rank + 1) % size;
    from = (rank + size - 1) % size;
    out = calloc(1, LONG);
    in = calloc(1, LONG);
    CHECK(out != NULL && in != NULL);
    DONE(MPI_Type_vector(ROWS, 2, COLUMNS, MPI_DOUBLE, &rows));
    DONE(MPI_Type_commit(&rows));
    for (size_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++) {
        try(subjects[i].name, subjects[i].run, argc > 1);
        DONE(MPI_Barrier(MPI_COMM_WORLD));
    }
    DONE(MPI_Type_free(&rows));
    free(out);
    free(in);
    DONE(MPI_Finalize());
    return 0;
}
