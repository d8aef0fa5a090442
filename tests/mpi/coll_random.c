/*
 * coll_random.c - collectives drawn at random, against what each process computes by
 * itself.
 *
 *     coll_random [SEED [CASES [FIRST]]]
 *
 * All processes draw the same cases, each from the seed and its own number: a failure
 * prints both, and FIRST begins with that case. A case is a batch of up to five
 * operations, among them messages from one to another. They are begun in the same order
 * everywhere: blocking, nonblocking or persistent, on communicators of one group and of
 * two (coll_random_place.h), with other datatypes on each side (coll_random_layout.h),
 * with counts of both widths. Persistent ones are started, and the outstanding ones
 * completed, in an order and a way that each process draws for itself. Lengths lie on
 * both sides of those at which the library changes its algorithm. Types, operations and
 * communicators may be freed when an operation has begun.
 */
#include "coll_random_model.h"
#include "draw.h"

#include <signal.h>
#include <stdarg.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 5, CASE_SECONDS = 100, WIDE_NUMBERS = 300000 };

static uint32_t seed;
static volatile int current; /* case */
static int world_size;

/* ---- reports ---- */

static void say_case(void)
{
    char text[120];
    const int length = snprintf(text, sizeof(text),
                                "coll_random: seed %u, case %d; again: coll_random %u 1 "
                                "%d, with %d ranks\n",
                                seed, current, seed, current, world_size);

    if (write(STDERR_FILENO, text, (size_t)length) < 0) {
        return;
    }
}

static void tell(const struct operation *o, const char *what, long at, uint32_t is,
                 uint32_t expected)
{
    say_case();
    fprintf(stderr,
            "kind %d, face %d on %s, root %d of side %d, %d numbers in units of %d, in "
            "place %d, large %d, arithmetic %d, rank %d, round %u: %s, %ld, is %x, not "
            "%x\n",
            o->kind, o->face, o->place.name, o->root, o->root_side, o->count, o->unit,
            o->is_in_place, o->is_large, o->arithmetic, o->place.rank, o->round, what, at,
            is, expected);
    fail(__FILE__, __LINE__, "the outcome is that of the model");
}

/* Nothing happens any more, or the program crashes. */
static void on_signal(int number)
{
    say_case();
    signal(number, SIG_DFL);
    raise(number);
}

static void on_error(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;

    (void)comm;
    say_case();
    MPI_Error_string(*code, text, &length);
    fprintf(stderr, "%s\n", text);
    fail(__FILE__, __LINE__, "no call fails");
}

static void watch(void)
{
    static const int signals[] = {SIGALRM, SIGSEGV, SIGBUS, SIGABRT, SIGTERM};
    MPI_Errhandler handler;

    for (int i = 0; i < LENGTH(signals); i++) {
        signal(signals[i], on_signal);
    }
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < place_count; i++) {
        MPI_Comm_set_errhandler(places[i].comm, handler);
    }
    MPI_Errhandler_free(&handler);
}

/* ---- calls ---- */

#define SUFFIX
#define COUNT_TYPE int
#define COUNTS     counts
#define DISPLS     displs
#include "coll_random_start.h"

#define SUFFIX     _c
#define COUNT_TYPE MPI_Count
#define COUNTS     large_counts
#define DISPLS     large_displs
#include "coll_random_start.h"

static void start_barrier(struct operation *o)
{
    switch (o->face) {
    case BLOCKING:
        MPI_Barrier(o->place.comm);
        break;
    case NONBLOCKING:
        MPI_Ibarrier(o->place.comm, &o->requests[0]);
        break;
    default:
        MPI_Barrier_init(o->place.comm, MPI_INFO_NULL, &o->requests[0]);
    }
}

static int passed_root(const struct operation *o)
{
    if (o->place.is_inter && our_side(o) == o->root_side) {
        return is_root(o) ? MPI_ROOT : MPI_PROC_NULL;
    }
    return o->root;
}

static void call(struct operation *o)
{
    const int root = passed_root(o);

    if (o->kind == BARRIER) {
        start_barrier(o);
    } else if (o->kind == MESSAGE) {
        (o->is_large ? start_message_c : start_message)(o);
    } else if (is_reduction(o)) {
        (o->is_large ? start_reduction_c : start_reduction)(o, root);
    } else {
        (o->is_large ? start_data_c : start_data)(o, root);
    }
}

/* ---- one operation ---- */

static void make(struct operation *o)
{
    if (o->has_own_comm) {
        MPI_Comm_dup(o->place.comm, &o->place.comm);
    }
    open_side(o, &o->send, true);
    open_side(o, &o->recv, false);
    open_parts(o);
    fill(o);
    o->requests[0] = MPI_REQUEST_NULL;
    o->requests[1] = MPI_REQUEST_NULL;
    o->op = is_reduction(o) ? make_op(o->arithmetic) : MPI_OP_NULL;
}

static void free_op(struct operation *o)
{
    if (is_reduction(o) && is_users(o->arithmetic)) {
        MPI_Op_free(&o->op);
    }
}

static void begin(struct operation *o)
{
    call(o);
    free_types(o, &o->send);
    free_types(o, &o->recv);
    if (o->frees_early) {
        free_op(o);
    }
    if (o->has_own_comm) {
        MPI_Comm_free(&o->place.comm);
    }
}

static void unmake(struct operation *o)
{
    for (int i = 0; i < 2 && o->face == PERSISTENT; i++) {
        if (o->requests[i] != MPI_REQUEST_NULL) {
            MPI_Request_free(&o->requests[i]);
        }
    }
    if (!o->frees_early) {
        free_op(o);
    }
    close_side(&o->send);
    close_side(&o->recv);
    free(o->parts.counts);
    free(o->parts.large_counts);
}

static void start_persistent(struct operation *o)
{
    MPI_Startall(o->requests[1] == MPI_REQUEST_NULL ? 1 : 2, o->requests);
}

/* ---- completing ---- */

struct pile {
    MPI_Request *from[2 * BATCH];
    MPI_Request requests[2 * BATCH];
    int count;
};

static void shuffle(struct pile *pile, uint32_t *own)
{
    for (int i = pile->count - 1; i > 0; i--) {
        const int k = draw(own, i + 1);
        MPI_Request *from = pile->from[i];

        pile->from[i] = pile->from[k];
        pile->from[k] = from;
    }
}

static void wait_any(struct pile *pile)
{
    int at = 0;

    while (at != MPI_UNDEFINED) {
        MPI_Waitany(pile->count, pile->requests, &at, MPI_STATUS_IGNORE);
    }
}

static void wait_some(struct pile *pile, bool tests)
{
    int at[2 * BATCH];
    int count = 0;

    while (count != MPI_UNDEFINED) {
        (tests ? MPI_Testsome : MPI_Waitsome)(pile->count, pile->requests, &count, at,
                                              MPI_STATUSES_IGNORE);
    }
}

static void test_all(struct pile *pile)
{
    int is_over = 0;

    while (!is_over) {
        MPI_Testall(pile->count, pile->requests, &is_over, MPI_STATUSES_IGNORE);
    }
}

static void complete(struct pile *pile, uint32_t *own)
{
    shuffle(pile, own);
    for (int i = 0; i < pile->count; i++) {
        pile->requests[i] = *pile->from[i];
    }
    switch (draw(own, 6)) {
    case 0:
        MPI_Waitall(pile->count, pile->requests, MPI_STATUSES_IGNORE);
        break;
    case 1:
        wait_any(pile);
        break;
    case 2:
        wait_some(pile, false);
        break;
    case 3:
        wait_some(pile, true);
        break;
    case 4:
        test_all(pile);
        break;
    default:
        for (int i = 0; i < pile->count; i++) {
            MPI_Wait(&pile->requests[i], MPI_STATUS_IGNORE);
        }
    }
    for (int i = 0; i < pile->count; i++) {
        *pile->from[i] = pile->requests[i];
    }
}

/* ---- a batch ---- */

/* Time without a call: whoever has no thread inside MPI is served by the library's. */
static void compute(uint32_t *own)
{
    const struct timespec some = {0, 1000L * draw(own, 300)};

    if (draw(own, 8) == 0) {
        nanosleep(&some, NULL);
    }
}

/* All of the batch, or in later rounds the persistent ones. */
static void run_round(struct operation *batch, int count, uint32_t *own, bool is_first)
{
    const int turn = draw(own, count);
    struct pile pile = {.count = 0};

    for (int i = 0; i < count; i++) {
        struct operation *o = &batch[(i + turn) % count];

        if (o->face == PERSISTENT && !(is_first && o->starts_early)) {
            start_persistent(o);
        }
        for (int k = 0; k < 2; k++) {
            if (o->requests[k] != MPI_REQUEST_NULL) {
                pile.from[pile.count++] = &o->requests[k];
            }
        }
    }
    compute(own);
    complete(&pile, own);
    for (int i = 0; i < count; i++) {
        if (is_first || batch[i].face == PERSISTENT) {
            check(&batch[i]);
        }
    }
}

static void run_batch(struct operation *batch, int count, int rounds, uint32_t *own)
{
    for (int i = 0; i < count; i++) {
        make(&batch[i]);
        begin(&batch[i]);
        if (batch[i].face == PERSISTENT && batch[i].starts_early) {
            start_persistent(&batch[i]);
        }
    }
    run_round(batch, count, own, true);
    for (uint32_t round = 1; round < (uint32_t)rounds; round++) {
        for (int i = 0; i < count; i++) {
            batch[i].round = round;
            if (batch[i].face == PERSISTENT) {
                fill(&batch[i]);
            }
        }
        run_round(batch, count, own, false);
    }
    for (int i = 0; i < count; i++) {
        unmake(&batch[i]);
    }
}

/* ---- cases ---- */

static bool may_be_in_place(const struct operation *o)
{
    switch (o->kind) {
    case GATHER:
    case GATHERV:
    case SCATTER:
    case SCATTERV:
    case REDUCE:
        return o->place.rank == o->root;
    case ALLGATHER:
    case ALLGATHERV:
    case ALLTOALL:
    case ALLTOALLV:
    case ALLTOALLW:
    case ALLREDUCE:
        return true;
    case REDUCE_SCATTER: /* each rank may choose */
    case REDUCE_SCATTER_BLOCK:
    case SCAN:
    case EXSCAN:
        return mix(o->seed, (uint32_t)o->place.rank, 4, 4) % 4 != 0;
    default:
        return false;
    }
}

/* Around the lengths where the choice of an algorithm changes, in all or of one rank. */
static int draw_threshold(uint32_t *state, int n)
{
    static const int bytes[] = {64, 128, 1024, 4096, 8192, 16384, 65536};
    int numbers = bytes[draw(state, LENGTH(bytes))] / NUMBER;

    switch (draw(state, 3)) {
    case 0:
        numbers /= n;
        break;
    case 1:
        numbers *= numbers <= 4096 / NUMBER ? n : 1;
        break;
    default:
        break;
    }
    numbers += draw(state, 5) - 2;
    return numbers > 0 ? numbers : 0;
}

static int draw_count(uint32_t *state, enum kind kind, int n)
{
    const int class = draw(state, 64);
    const bool is_wide = kind == REDUCE_SCATTER_BLOCK ||
                         (kind >= GATHER && kind <= ALLTOALLW) || kind > EXSCAN;
    int count;

    if (class < 4) {
        return 0;
    }
    if (class < 40) {
        return draw(state, 40);
    }
    if (class < 50) {
        count = draw_threshold(state, n);
    } else if (class < (kind == BCAST || (kind >= REDUCE && kind <= EXSCAN) ? 54 : 60)) {
        count = draw(state, 5000);
    } else if (kind == REDUCE_SCATTER) {
        count = 65536 / NUMBER * n + draw(state, 100) - 50;
    } else {
        count = 16384 - 50 + draw(state, 30000);
    }
    return is_wide && count > WIDE_NUMBERS / n ? WIDE_NUMBERS / n : count;
}

static const struct place *draw_place(const struct operation *o, uint32_t *state)
{
    int i = draw(state, 3) == 0 ? 0 : draw(state, place_count);

    while ((is_around(o) && places[i].around == NO_NEIGHBOURS) ||
           (places[i].is_inter &&
            (o->kind == SCAN || o->kind == EXSCAN || o->kind == MESSAGE))) {
        i = (i + 1) % place_count;
    }
    return &places[i];
}

static void draw_operation(struct operation *o, uint32_t *state, int tag)
{
    static const int units[] = {1, 2, 3, 6};

    memset(o, 0, sizeof(*o));
    o->kind = (enum kind)draw(state, KINDS);
    o->face = (enum face)draw(state, FACES);
    o->seed = (uint32_t)draw(state, 1 << 30);
    o->place = *draw_place(o, state);
    o->root_side = draw(state, 2) * (o->place.is_inter ? 1 : 0);
    o->root = draw(state, 1 << 20) % o->place.ranks[o->root_side];
    o->away = draw(state, world_size);
    o->tag = tag;
    o->arithmetic = (enum arithmetic)draw(state, COMPOSE_LARGE + 1);
    o->unit = units[draw(state, LENGTH(units))];
    if (is_reduction(o)) {
        o->unit = width_of(o->arithmetic);
    }
    o->count = draw_count(state, o->kind, world_size) / o->unit * o->unit;
    o->wants_in_place = draw(state, 3) == 0 && !o->place.is_inter;
    o->is_in_place = o->wants_in_place && may_be_in_place(o);
    o->is_large = draw(state, 2) == 0;
    o->frees_early = draw(state, 4) == 0;
    o->starts_early = draw(state, 2) == 0;
    o->has_own_comm = draw(state, 16) == 0;
}

static void run_case(int number)
{
    uint32_t state = mix(seed, (uint32_t)number, 1, 2) | 1;
    uint32_t own;
    struct operation batch[BATCH];
    int count;
    int rounds;

    current = number;
    alarm(CASE_SECONDS);
    count = 1 + draw(&state, BATCH);
    rounds = 1 + draw(&state, 3);
    for (int i = 0; i < count; i++) {
        /* A receive from any source must not take a message of the next case. */
        draw_operation(&batch[i], &state, BATCH * (number % 1000) + i);
    }
    own = mix(state, (uint32_t)places[0].rank, 5, 7) | 1;
    run_batch(batch, count, rounds, &own);
}

int main(int argc, char **argv)
{
    const int cases = argc > 2 ? atoi(argv[2]) : 700;
    const int first = argc > 3 ? atoi(argv[3]) : 0;

    seed = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1;
    main_thread = pthread_self();
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    open_layouts();
    open_places();
    watch();
    for (int i = first; i < first + cases; i++) {
        run_case(i);
    }
    alarm(0);
    close_places();
    close_layouts();
    MPI_Finalize();
    return 0;
}
