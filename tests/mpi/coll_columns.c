/*
 * coll_columns.c - reductions of elements that are longer than the distance from one to
 * the next, by a function of the user.
 *
 * The columns of a matrix are such elements: a vector of one number of each row, resized
 * to one number, so that column i + 1 begins one number behind column i. The elements of
 * one buffer do not overlap, but they interleave: two buffers cannot follow each other
 * where a further column would begin. All kinds of reductions are called, in every way.
 */
#include "coll.h"

enum { ROWS = 4, SPARE = 3, UNTOUCHED = -7 };

enum kind { REDUCE, ALLREDUCE, PARTS, BLOCKS, SCAN, EXSCAN, BETWEEN, KINDS };
enum face { BLOCKING, NONBLOCKING, PERSISTENT, FACES };

/* Places are counted in numbers. */
static struct layout {
    const char *name;
    int numbers; /* of an element */
    int place;   /* of the second number, from the first */
    int extent;
    int elements;
} layouts[] = {
    {"columns", ROWS, 0, 1, 0},
    {"columns from their ends", ROWS, 0, 1, 0},
    {"columns backwards", ROWS, 0, -1, 0},
    {"pairs of every third", 2, 3, 2, 0},
    {"one of four numbers", 4, 1, 1, 1},
    {"one without extent", 1, 0, 0, 1},
};

static struct layout *layout;
static enum kind kind;
static MPI_Comm between = MPI_COMM_NULL; /* ranks of odd and of even number */
static int *given;
static int *gotten;
static int room; /* numbers of a buffer */

static int place_of(int element, int i)
{
    return element * layout->extent + i * layout->place;
}

static void sum(void *in, void *inout, int *length, MPI_Datatype *type)
{
    const int *left = in;
    int *right = inout;

    (void)type;
    for (int e = 0; e < *length; e++) {
        for (int i = 0; i < layout->numbers; i++) {
            right[place_of(e, i)] += left[place_of(e, i)];
        }
    }
}

static MPI_Datatype make_type(void)
{
    MPI_Datatype plain;
    MPI_Datatype type;

    CHECK(MPI_Type_vector(layout->numbers, 1, layout->place, MPI_INT, &plain) ==
          MPI_SUCCESS);
    CHECK(MPI_Type_create_resized(plain, 0, (MPI_Aint)sizeof(int) * layout->extent,
                                  &type) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&plain) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&type) == MPI_SUCCESS);
    return type;
}

/* ---- one call ---- */

static bool has_parts(void)
{
    return kind == PARTS || kind == BLOCKS;
}

/* Elements of the result on this rank; all have the same number of them. */
static int part(void)
{
    return has_parts() ? layout->elements / size : layout->elements;
}

static bool is_summed(int who)
{
    switch (kind) {
    case SCAN:
        return who <= rank;
    case EXSCAN:
        return who < rank;
    case BETWEEN:
        return who % 2 != rank % 2;
    default:
        return true;
    }
}

static bool gets(void)
{
    return (kind != REDUCE || rank == size - 1) && (kind != EXSCAN || rank > 0);
}

static int number_of(int who, int element, int i)
{
    return call + 1000 * who + 10 * element + i;
}

/* The middle of a buffer is where the first element begins. */
static void fill_all(void)
{
    for (int at = -room / 2; at < room / 2; at++) {
        given[at] = UNTOUCHED;
        gotten[at] = UNTOUCHED;
    }
    for (int e = 0; e < layout->elements; e++) {
        for (int i = 0; i < layout->numbers; i++) {
            given[place_of(e, i)] = number_of(rank, e, i);
        }
    }
}

static void check_all(const char *how)
{
    const int first = has_parts() ? rank * part() : 0;

    for (int e = 0; e < part() && gets(); e++) {
        for (int i = 0; i < layout->numbers; i++) {
            int *is = &gotten[place_of(e, i)];
            int expected = 0;

            for (int who = 0; who < size; who++) {
                expected += is_summed(who) ? number_of(who, first + e, i) : 0;
            }
            if (*is != expected) {
                fprintf(stderr, "kind %d, %s, %s, element %d, number %d: %d, not %d\n",
                        (int)kind, layout->name, how, e, i, *is, expected);
            }
            CHECK(*is == expected);
            *is = UNTOUCHED;
        }
    }
    for (int at = -room / 2; at < room / 2; at++) {
        CHECK(gotten[at] == UNTOUCHED);
    }
}

#define IN_FACE(now, later, again, ...)                                                  \
    (face == BLOCKING      ? now(__VA_ARGS__)                                            \
     : face == NONBLOCKING ? later(__VA_ARGS__, &request)                                \
                           : again(__VA_ARGS__, MPI_INFO_NULL, &request))

static MPI_Request start(enum face face, MPI_Datatype type, MPI_Op op)
{
    MPI_Comm comm = kind == BETWEEN ? between : MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;
    int *parts = malloc((size_t)size * sizeof(*parts));
    int rc;

    CHECK(parts != NULL);
    for (int i = 0; i < size; i++) {
        parts[i] = part();
    }
    switch (kind) {
    case REDUCE:
        rc = IN_FACE(MPI_Reduce, MPI_Ireduce, MPI_Reduce_init, given, gotten, part(),
                     type, op, size - 1, comm);
        break;
    case PARTS:
        rc = IN_FACE(MPI_Reduce_scatter, MPI_Ireduce_scatter, MPI_Reduce_scatter_init,
                     given, gotten, parts, type, op, comm);
        break;
    case BLOCKS:
        rc =
            IN_FACE(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block,
                    MPI_Reduce_scatter_block_init, given, gotten, part(), type, op, comm);
        break;
    case SCAN:
        rc = IN_FACE(MPI_Scan, MPI_Iscan, MPI_Scan_init, given, gotten, part(), type, op,
                     comm);
        break;
    case EXSCAN:
        rc = IN_FACE(MPI_Exscan, MPI_Iexscan, MPI_Exscan_init, given, gotten, part(),
                     type, op, comm);
        break;
    default:
        rc = IN_FACE(MPI_Allreduce, MPI_Iallreduce, MPI_Allreduce_init, given, gotten,
                     part(), type, op, comm);
    }
    CHECK(rc == MPI_SUCCESS);
    if (face == PERSISTENT) {
        CHECK(MPI_Start(&request) == MPI_SUCCESS);
    }
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    free(parts);
    return request;
}

static void run(enum face face, MPI_Datatype type, int commutes)
{
    static const char *const names[] = {"blocking", "nonblocking", "persistent"};
    MPI_Request request;
    MPI_Op op;

    CHECK(MPI_Op_create(sum, commutes, &op) == MPI_SUCCESS);
    call++;
    fill_all();
    request = start(face, type, op);
    check_all(names[face]);
    if (face == PERSISTENT) {
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    }
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS);
}

/* ---- all of them ---- */

/* A matrix has two columns for each rank. */
static void set_sizes(void)
{
    for (size_t i = 0; i < LENGTH(layouts); i++) {
        if (layouts[i].elements == 0) {
            layouts[i].elements = 2 * size;
        }
        if (layouts[i].numbers == ROWS && layouts[i].place == 0) {
            layouts[i].place = i == 1 ? -2 * size : 2 * size;
        }
    }
    room = 2 * (ROWS * 2 * size + SPARE);
    given = malloc((size_t)room * sizeof(*given));
    gotten = malloc((size_t)room * sizeof(*gotten));
    CHECK(given != NULL && gotten != NULL);
    given += room / 2;
    gotten += room / 2;
}

static void open_between(void)
{
    MPI_Comm half;

    if (size > 1) {
        CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half) == MPI_SUCCESS);
        CHECK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 1, &between) ==
              MPI_SUCCESS);
        CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
    }
}

static bool is_called(enum face face)
{
    if (kind == BETWEEN) {
        return size > 1 && face != PERSISTENT;
    }
    return !has_parts() || layout->elements > 1;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    set_sizes();
    open_between();
    for (size_t i = 0; i < LENGTH(layouts); i++) {
        MPI_Datatype type;

        layout = &layouts[i];
        type = make_type();
        for (int k = 0; k < KINDS * FACES * 2; k++) {
            const enum face face = (enum face)(k / 2 % FACES);

            kind = (enum kind)(k / 2 / FACES);
            if (is_called(face)) {
                run(face, type, k % 2);
            }
        }
        CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
    }
    if (between != MPI_COMM_NULL) {
        CHECK(MPI_Comm_free(&between) == MPI_SUCCESS);
    }
    free(given - room / 2);
    free(gotten - room / 2);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
