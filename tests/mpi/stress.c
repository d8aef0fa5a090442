/*
 * stress.c - chapter 3: random traffic, all of which is checked: contents, sources, tags,
 * lengths, the order of messages, and memory around them that must stay as it was.
 *
 *   stress SEED SECONDS [THREADS [soak [MIB]]]
 *
 * Each thread has a communicator of its own, a lane. A lane goes through rounds until the
 * time is over, which rank 0 says at the beginning of each. What is sent in a round, from
 * whom to whom and in which order, follows from the seed, so that everyone knows what is
 * to come; how it is sent and received is everyone's own choice, from the tables in
 * stress_kinds.h. Beside it go the messages of stress_aside.h.
 *
 * A round has a shape that no correct library can hang in:
 *
 *   receives first   all receives are posted, a barrier, then sends of every kind
 *   sends first      sends that do not wait for their receiver, then receives
 *   halves           even ranks send to odd ones, of which each receives whatever comes;
 *                    then the other way round
 *
 * What a receive may get: see `enum pattern`. The k-th receive, in the order of posting,
 * that gets a message of one source and tag gets the k-th that was sent; and no receive
 * gets a message while one that fits it as well and was sent earlier by the same rank
 * went to a receive posted later.
 *
 * With `soak` it also fails if the memory of a rank grew by more than MIB (0: any growth
 * will do) after the first tenth of the time, or if anything leaked: see stress_soak.h.
 */
#include "bytes.h"
#include "check.h"
#include "stress_aside.h"
#include "stress_common.h"
#include "stress_kinds.h"
#include "stress_soak.h"
#include "stress_types.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

enum {
    TAGS = 4,
    TAG_NEVER = 77,
    THREADS_MAX = 4,
    LARGEST = 8 << 20,
    GAPS_UP_TO = 64 * 1024, /* bytes between a message's bytes are looked at up to here */
    UNTOUCHED = 0x5a,
    GRACE_SECONDS = 100,
    SOAK_MIB = 4,
};

static double deadline;

/* ---- a round ---- */

enum shape { RECEIVES_FIRST, SENDS_FIRST, HALVES, SHAPES };

/* By tag: from any source or a named one. By source: with any tag or a named one. */
enum pattern { BY_TAG, BY_SOURCE, ANYTHING, PATTERNS };

struct lane {
    int number;
    MPI_Comm comm;
    uint64_t own; /* state of the choices that are not common */
    uint64_t round;
    enum shape shape;
    enum pattern pattern;
    int partners; /* out of so many ranks, about so many get messages of each */
    int most;     /* messages for one of them */
    size_t largest;
    struct message *outgoing;
    int outgoing_count;
    struct message *incoming;
    int incoming_count;
    struct transfer *transfers; /* receives, in the order of posting, and then sends */
    int total;                  /* of both */
    int received;
    int sent;
    char *buffer; /* attached to the communicator, or MPI_BUFFER_AUTOMATIC */
    uint64_t messages;
    uint64_t bytes;
    struct aside aside;
};

static uint64_t choose(struct lane *lane, uint64_t n)
{
    return choose_from(&lane->own, n);
}

#define LENGTH(table) (sizeof(table) / sizeof((table)[0]))

static const struct kind *choose_kind(struct lane *lane, const struct kind *table,
                                      size_t n, unsigned unwanted)
{
    const struct kind *kind;

    do {
        kind = &table[choose(lane, n)];
    } while ((kind->is & unwanted) != 0);
    return kind;
}

/* ---- what is sent in a round ---- */

static void plan_round(struct lane *lane)
{
    const uint64_t x = common((uint64_t)lane->number, lane->round, 1, 2, 3);
    const unsigned volume = (unsigned)(x % 100);

    lane->shape = (enum shape)((x >> 8) % SHAPES);
    lane->pattern = (enum pattern)((x >> 16) % PATTERNS);
    lane->partners = 1 + (int)((x >> 24) % 5);
    if (volume < 60) {
        lane->most = 30;
        lane->largest = 300;
    } else if (volume < 88) {
        lane->most = 8;
        lane->largest = 12000;
    } else if (volume < 98) {
        lane->most = 2;
        lane->largest = 600000;
    } else {
        lane->most = 1;
        lane->largest = LARGEST;
        lane->partners = 0; /* one */
    }
}

static bool is_partner(const struct lane *lane, int source, int dest)
{
    const uint64_t x = common((uint64_t)lane->number, lane->round, 4, 5, 6);

    if (lane->shape == HALVES && (source + dest) % 2 == 0) {
        return false;
    }
    if (lane->partners == 0) {
        return (source + 1 + (int)(x % (uint64_t)size)) % size == dest;
    }
    return common((uint64_t)lane->number, lane->round, (uint64_t)source, (uint64_t)dest,
                  7) %
               (uint64_t)size <
           (uint64_t)lane->partners;
}

/* Appends what goes from one rank to another; returns how many. `list` may be NULL. */
static int plan_pair(const struct lane *lane, int source, int dest, struct message *list)
{
    const uint64_t first =
        common((uint64_t)lane->number, lane->round, (uint64_t)source, (uint64_t)dest, 8);
    const int count =
        is_partner(lane, source, dest) ? 1 + (int)(first % (uint64_t)lane->most) : 0;

    for (int i = 0; i < count && list != NULL; i++) {
        const uint64_t x = mix(first + (uint64_t)i);

        list[i] = (struct message){
            .peer = source == rank ? dest : source,
            .tag = (int)(x % TAGS),
            .bytes = x >> 60 == 0 ? 0 : (size_t)((x >> 8) % (lane->largest + 1)),
            .content = (uint32_t)(x >> 16),
            .number = i,
        };
    }
    return count;
}

static void plan_mine(struct lane *lane)
{
    int out = 0;
    int in = 0;

    for (int i = 0; i < size; i++) {
        out += plan_pair(lane, rank, i, NULL);
        in += plan_pair(lane, i, rank, NULL);
    }
    lane->outgoing = memory_for((size_t)out * sizeof(*lane->outgoing));
    lane->incoming = memory_for((size_t)in * sizeof(*lane->incoming));
    lane->transfers = memory_for((size_t)(in + out) * sizeof(*lane->transfers));
    lane->outgoing_count = 0;
    lane->incoming_count = 0;
    lane->received = 0;
    lane->sent = 0;
    lane->total = in + out;
    for (int i = 0; i < in + out; i++) {
        lane->transfers[i] = (struct transfer){.request = MPI_REQUEST_NULL};
    }
    for (int i = 0; i < size; i++) {
        lane->outgoing_count +=
            plan_pair(lane, rank, i, lane->outgoing + lane->outgoing_count);
        lane->incoming_count +=
            plan_pair(lane, i, rank, lane->incoming + lane->incoming_count);
    }
    for (int k = 0; k < lane->incoming_count; k++) {
        lane->bytes += lane->incoming[k].bytes;
    }
    lane->messages += (uint64_t)lane->incoming_count;
}

/* ---- sending ---- */

static void start_send(struct lane *lane, const struct message *m, unsigned unwanted)
{
    struct transfer *t = &lane->transfers[lane->incoming_count + lane->sent++];
    const struct stress_type *layout = &stress_types[choose(lane, STRESS_TYPES)];

    if (m->bytes % (size_t)layout->bytes != 0) {
        layout = &stress_types[0];
    }
    *t = (struct transfer){
        .kind = choose_kind(lane, sends, LENGTH(sends), unwanted),
        .comm = lane->comm,
        .peer = m->peer,
        .tag = m->tag,
        .count = stress_type_count(layout, m->bytes),
        .type = layout->type,
        .request = MPI_REQUEST_NULL,
        .layout = layout,
        .memory = stress_type_memory(layout, m->bytes),
    };
    t->buffer = memory_for(t->memory);
    for (size_t i = 0; i < m->bytes; i++) {
        t->buffer[stress_type_place(layout, i)] = (char)byte_at(m->content, i);
    }
    WORKS(t->kind->start(t));
    if (t->request == MPI_REQUEST_NULL) {
        memset(t->buffer, 0, t->memory); /* it is ours again */
    }
}

static void start_sends(struct lane *lane, unsigned unwanted)
{
    int left = lane->outgoing_count;
    int *next = memory_for((size_t)size * sizeof(*next));

    for (int d = 0, k = 0; d < size; d++) {
        next[d] = k;
        while (k < lane->outgoing_count && lane->outgoing[k].peer == d) {
            k++;
        }
    }
    while (left > 0) { /* to everyone in order, but mixed */
        const int d = (int)choose(lane, (uint64_t)size);

        if (next[d] < lane->outgoing_count && lane->outgoing[next[d]].peer == d) {
            start_send(lane, &lane->outgoing[next[d]++], unwanted);
            left--;
        }
    }
    free(next);
}

/* Room for all that may be sent in buffered mode, or whatever it takes. */
static void attach(struct lane *lane)
{
    size_t bytes = 0;

    for (int i = 0; i < lane->outgoing_count; i++) {
        bytes += lane->outgoing[i].bytes + MPI_BSEND_OVERHEAD;
    }
    lane->buffer = choose(lane, 2) == 0 ? MPI_BUFFER_AUTOMATIC : memory_for(bytes);
    WORKS(MPI_Comm_attach_buffer_c(lane->comm, lane->buffer, (MPI_Count)bytes));
}

/* Everyone receives all, so waiting for that ends. */
static void detach(struct lane *lane)
{
    MPI_Request request;
    void *address;
    int bytes;

    if (choose(lane, 2) == 0) {
        WORKS(MPI_Comm_iflush_buffer(lane->comm, &request));
        WORKS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    WORKS(MPI_Comm_detach_buffer(lane->comm, &address, &bytes));
    HOLDS(address == lane->buffer);
    if (lane->buffer != MPI_BUFFER_AUTOMATIC) {
        free(lane->buffer);
    }
}

/* ---- receiving ---- */

static bool fits(const struct transfer *t, int source, int tag)
{
    return (t->peer == MPI_ANY_SOURCE || t->peer == source) &&
           (t->tag == MPI_ANY_TAG || t->tag == tag);
}

static size_t longest_that_fits(const struct lane *lane, const struct transfer *t)
{
    size_t longest = 0;

    for (int i = 0; i < lane->incoming_count; i++) {
        const struct message *m = &lane->incoming[i];

        if (fits(t, m->peer, m->tag) && m->bytes > longest) {
            longest = m->bytes;
        }
    }
    return longest;
}

/* The same for all receives of this round that could get the message. */
static bool is_wild(const struct lane *lane, int peer_or_tag)
{
    return common((uint64_t)lane->number, lane->round, 9, (uint64_t)rank,
                  (uint64_t)peer_or_tag) %
               2 ==
           0;
}

static void start_recv(struct lane *lane, const struct message *m, unsigned unwanted)
{
    struct transfer *t = &lane->transfers[lane->received++];
    const struct stress_type *layout = &stress_types[choose(lane, STRESS_TYPES)];
    size_t capacity;

    *t = (struct transfer){
        .kind = choose_kind(lane, receives, LENGTH(receives), unwanted),
        .comm = lane->comm,
        .peer = m->peer,
        .tag = m->tag,
        .type = layout->type,
        .request = MPI_REQUEST_NULL,
        .layout = layout,
    };
    if (lane->pattern == ANYTHING || (lane->pattern == BY_TAG && is_wild(lane, m->tag))) {
        t->peer = MPI_ANY_SOURCE;
    }
    if (lane->pattern == ANYTHING ||
        (lane->pattern == BY_SOURCE && is_wild(lane, m->peer))) {
        t->tag = MPI_ANY_TAG;
    }
    capacity = longest_that_fits(lane, t) + choose(lane, 40);
    t->count = stress_type_count(layout, capacity);
    t->memory = stress_type_memory(layout, capacity);
    t->buffer = memory_for(t->memory);
    memset(t->buffer, UNTOUCHED, t->memory);
    WORKS(t->kind->start(t));
}

/* Each message gives one receive, in any order; what they get is another matter. */
static void start_receives(struct lane *lane, unsigned unwanted)
{
    const int n = lane->incoming_count;
    int *order = memory_for((size_t)n * sizeof(*order));

    for (int i = 0; i < n; i++) {
        const int k = (int)choose(lane, (uint64_t)i + 1);

        order[i] = order[k];
        order[k] = i;
    }
    for (int i = 0; i < n; i++) {
        start_recv(lane, &lane->incoming[order[i]], unwanted);
    }
    free(order);
}

/* What nobody sends can always be cancelled. */
static void cancel_one(struct lane *lane)
{
    MPI_Request request;
    MPI_Status status;
    int is_cancelled = 0;
    char byte;

    WORKS(MPI_Irecv(&byte, 1, MPI_BYTE, MPI_ANY_SOURCE, TAG_NEVER, lane->comm, &request));
    WORKS(MPI_Cancel(&request));
    WORKS(MPI_Wait(&request, &status));
    WORKS(MPI_Test_cancelled(&status, &is_cancelled));
    HOLDS(is_cancelled);
}

/* ---- checking ---- */

static void check_content(const struct transfer *t, const struct message *m)
{
    size_t inside = 0;

    for (size_t i = 0; i < m->bytes; i++) {
        HOLDS((uint8_t)t->buffer[stress_type_place(t->layout, i)] ==
              byte_at(m->content, i));
    }
    if (t->memory > GAPS_UP_TO) {
        return;
    }
    for (size_t i = 0; i < t->memory; i++) {
        inside += t->buffer[i] != UNTOUCHED;
    }
    for (size_t i = 0; i < m->bytes; i++) {
        inside -= t->buffer[stress_type_place(t->layout, i)] != UNTOUCHED;
    }
    HOLDS(inside == 0);
}

/* In the order of posting: the oldest of its source and tag is the one that it got. */
static void check_one(struct lane *lane, struct transfer *t)
{
    MPI_Count bytes = -1;

    for (int i = 0; i < lane->incoming_count && t->got == NULL; i++) {
        struct message *m = &lane->incoming[i];

        if (!m->is_received && m->peer == t->status.MPI_SOURCE &&
            m->tag == t->status.MPI_TAG) {
            m->is_received = true;
            t->got = m;
        }
    }
    HOLDS(t->got != NULL);
    HOLDS(fits(t, t->got->peer, t->got->tag));
    WORKS(MPI_Get_count_c(&t->status, MPI_BYTE, &bytes));
    HOLDS(bytes == (MPI_Count)t->got->bytes);
    check_content(t, t->got);
}

/* Of two messages of one source the earlier one goes to the earlier receive it fits. */
static void check_order(const struct lane *lane)
{
    for (int a = 0; a < lane->received; a++) {
        const struct transfer *early = &lane->transfers[a];

        for (int b = a + 1; b < lane->received; b++) {
            const struct message *m = lane->transfers[b].got;

            HOLDS(m->peer != early->got->peer || m->number > early->got->number ||
                  !fits(early, m->peer, m->tag));
        }
    }
}

/* ---- waiting, in the ways that there are ---- */

/* All requests of a round in one array, as these functions want them. */
struct waiting {
    MPI_Request *requests;
    MPI_Status *statuses;
    int *indices;
    int count;
};

static void keep_status(struct lane *lane, int index, const MPI_Status *status)
{
    if (index < lane->incoming_count) {
        lane->transfers[index].status = *status;
    }
}

/* One or some at a time, by waiting or by testing. */
static void wait_some(struct lane *lane, struct waiting *w)
{
    const uint64_t how = choose(lane, 4);
    MPI_Status status;
    int flag = 1;
    int n = 0;

    while (n != MPI_UNDEFINED) {
        switch (how) {
        case 0:
            WORKS(MPI_Waitany(w->count, w->requests, &w->indices[0], &status));
            w->statuses[0] = status;
            n = w->indices[0] == MPI_UNDEFINED ? MPI_UNDEFINED : 1;
            break;
        case 1:
            WORKS(MPI_Testany(w->count, w->requests, &w->indices[0], &flag, &status));
            w->statuses[0] = status;
            n = flag && w->indices[0] == MPI_UNDEFINED ? MPI_UNDEFINED : flag;
            break;
        case 2:
            WORKS(MPI_Waitsome(w->count, w->requests, &n, w->indices, w->statuses));
            break;
        default:
            WORKS(MPI_Testsome(w->count, w->requests, &n, w->indices, w->statuses));
            break;
        }
        for (int i = 0; i < n; i++) {
            keep_status(lane, w->indices[i], &w->statuses[i]);
        }
        if (n == 0) {
            sched_yield();
        }
    }
}

static void wait_all(struct lane *lane, struct waiting *w)
{
    int flag = 0;

    if (choose(lane, 2) == 0) {
        WORKS(MPI_Waitall(w->count, w->requests, w->statuses));
    } else {
        while (!flag) {
            WORKS(MPI_Testall(w->count, w->requests, &flag, w->statuses));
            sched_yield();
        }
    }
    for (int i = 0; i < w->count; i++) {
        if (lane->transfers[i].request != MPI_REQUEST_NULL) {
            keep_status(lane, i, &w->statuses[i]);
        }
    }
}

static void complete(struct lane *lane)
{
    const size_t n = (size_t)lane->total;
    struct waiting w = {
        .requests = memory_for(n * sizeof(MPI_Request)),
        .statuses = memory_for((n + 1) * sizeof(MPI_Status)),
        .indices = memory_for((n + 1) * sizeof(int)),
        .count = lane->total,
    };

    for (int i = 0; i < w.count; i++) {
        w.requests[i] = lane->transfers[i].request;
    }
    if (choose(lane, 2) == 0) {
        wait_some(lane, &w);
    } else {
        wait_all(lane, &w);
    }
    for (int i = 0; i < w.count; i++) {
        struct transfer *t = &lane->transfers[i];

        if (t->request != MPI_REQUEST_NULL && t->kind->end != NULL) {
            WORKS(t->kind->end(t));
        }
        t->request = MPI_REQUEST_NULL;
    }
    free(w.requests);
    free(w.statuses);
    free(w.indices);
}

/* ---- rounds ---- */

static void run_halves(struct lane *lane)
{
    lane->pattern = ANYTHING;
    if (rank % 2 == 0) {
        start_sends(lane, NEEDS);
        complete(lane);
    }
    start_receives(lane, 0);
    complete(lane);
    if (rank % 2 != 0) {
        start_sends(lane, NEEDS);
        complete(lane);
    }
}

static void run_round(struct lane *lane)
{
    plan_round(lane);
    plan_mine(lane);
    attach(lane);
    aside_begin(&lane->aside);
    if (choose(lane, 8) == 0) {
        cancel_one(lane);
    }
    switch (lane->shape) {
    case RECEIVES_FIRST:
        start_receives(lane, WAITS);
        WORKS(MPI_Barrier(lane->comm));
        start_sends(lane, 0);
        complete(lane);
        break;
    case HALVES:
        run_halves(lane);
        break;
    default:
        start_sends(lane, WAITS | NEEDS);
        start_receives(lane, 0);
        complete(lane);
        break;
    }
    for (int i = 0; i < lane->received; i++) {
        check_one(lane, &lane->transfers[i]);
    }
    check_order(lane);
    aside_end(&lane->aside);
    detach(lane);
    for (int i = 0; i < lane->total; i++) {
        free(lane->transfers[i].buffer);
    }
    free(lane->transfers);
    free(lane->incoming);
    free(lane->outgoing);
}

/* No message of a round may come while a receive of the last one takes anything. */
static bool goes_on(const struct lane *lane)
{
    int is_time = rank == 0 && MPI_Wtime() < deadline;

    WORKS(MPI_Barrier(lane->comm));
    WORKS(MPI_Bcast(&is_time, 1, MPI_INT, 0, lane->comm));
    return is_time;
}

static void *run_lane(void *argument)
{
    struct lane *lane = argument;

    current_lane = lane->number;
    while (goes_on(lane)) {
        current_round = ++lane->round;
        run_round(lane);
    }
    return NULL;
}

/* All lanes, until the time is over; then nothing is under way. */
static void run_lanes(struct lane *lanes, int count, double duration)
{
    pthread_t threads[THREADS_MAX];

    deadline = MPI_Wtime() + duration;
    for (int i = 1; i < count; i++) {
        CHECK(pthread_create(&threads[i], NULL, run_lane, &lanes[i]) == 0);
    }
    run_lane(&lanes[0]);
    for (int i = 1; i < count; i++) {
        CHECK(pthread_join(threads[i], NULL) == 0);
    }
    for (int i = 0; i < count; i++) {
        aside_unmake(&lanes[i].aside);
    }
}

static void soak(struct lane *lanes, int count, int most)
{
    struct soak early;
    struct soak late;

    run_lanes(lanes, count, seconds * 0.1);
    early = soak_take();
    run_lanes(lanes, count, seconds * 0.9);
    late = soak_take();
    soak_check(&early, &late, most);
}

/* Nothing goes on any more: a bug that would hang says where to look. */
static void give_up(int signal)
{
    char text[128];
    const int n = snprintf(text, sizeof(text), "stress %llu %d: rank %d of %d hangs\n",
                           (unsigned long long)seed, seconds, rank, size);

    (void)signal;
    if (write(STDERR_FILENO, text, (size_t)n) != n) {
        _exit(98);
    }
    abort();
}

int main(int argc, char **argv)
{
    struct lane lanes[THREADS_MAX];
    uint64_t sums[3] = {0, 0, 0};
    bool is_soak;
    int provided;
    int count;

    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    seconds = argc > 2 ? atoi(argv[2]) : 1;
    count = argc > 3 ? atoi(argv[3]) : 1 + (int)(mix(seed) % THREADS_MAX);
    is_soak = argc > 4 && strcmp(argv[4], "soak") == 0;
    CHECK(seconds > 0 && count >= 1 && count <= THREADS_MAX && (argc <= 4 || is_soak));
    if (is_soak) {
        soak_open();
    }
    CHECK(MPI_Init_thread(NULL, NULL, count > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                          &provided) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    signal(SIGALRM, give_up);
    alarm((unsigned)(seconds + GRACE_SECONDS));
    stress_types_make();
    memset(lanes, 0, sizeof(lanes));
    for (int i = 0; i < count; i++) {
        lanes[i].number = i;
        lanes[i].own = mix(seed + (uint64_t)(rank * THREADS_MAX + i));
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &lanes[i].comm) == MPI_SUCCESS);
        aside_open(&lanes[i].aside, i, mix(lanes[i].own + 1));
    }
    if (is_soak) {
        soak(lanes, count, argc > 5 ? atoi(argv[5]) : SOAK_MIB);
    } else {
        run_lanes(lanes, count, seconds);
    }
    for (int i = 0; i < count; i++) {
        sums[0] += lanes[i].round;
        sums[1] += lanes[i].messages;
        sums[2] += lanes[i].bytes;
        CHECK(MPI_Comm_free(&lanes[i].comm) == MPI_SUCCESS);
        aside_close(&lanes[i].aside);
    }
    stress_types_free();
    if (rank == 0) {
        printf(
            "stress %llu %d: %d ranks, %d threads; rank 0: %llu rounds, %llu messages, "
            "%llu MiB received; no errors\n",
            (unsigned long long)seed, seconds, size, count, (unsigned long long)sums[0],
            (unsigned long long)sums[1], (unsigned long long)(sums[2] >> 20));
    }
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    if (is_soak) {
        CHECK(MPI_T_finalize() == MPI_SUCCESS);
    }
    return 0;
}
