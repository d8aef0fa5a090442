/*
 * rma_far.c - puts and gets to members that a network leads to: that they go straight to
 * memory is counted, so that they do not fall back to messages unseen; and so are the
 * packets of many small puts and gets. Memory that a target uses is bounded.
 *
 * The argument says what is expected: `direct`, or `messages` (WEFT_RMA, WEFT_CHECKSUM);
 * a second one, `short`, that only short operations are tried.
 * Members of this node count as near if memory is shared with them (WEFT_TRANSPORT).
 */
#include "bytes.h"
#include "rma.h"

#include <sys/resource.h>

enum { LARGE = 3 * 1000 * 1000, MANY = 2000, EACH = 1024 }; /* too large to be combined */

static bool is_direct;
static int rank;
static int size;
static bool *is_far; /* by rank */

/* ---- who is far ---- */

static void find_far(void)
{
    const char *transport = getenv("WEFT_TRANSPORT");
    const bool is_all = transport != NULL && strstr(transport, "shm") == NULL;
    MPI_Comm node = node_comm();
    MPI_Group here;
    MPI_Group world;

    is_far = calloc((size_t)size, sizeof(*is_far));
    CHECK(is_far != NULL);
    DONE(MPI_Comm_group(node, &here));
    DONE(MPI_Comm_group(MPI_COMM_WORLD, &world));
    for (int r = 0; r < size; r++) {
        int place = 0;

        DONE(MPI_Group_translate_ranks(world, 1, &r, here, &place));
        is_far[r] = r != rank && (is_all || place == MPI_UNDEFINED);
    }
    DONE(MPI_Group_free(&here));
    DONE(MPI_Group_free(&world));
    DONE(MPI_Comm_free(&node));
}

/* ---- counting ---- */

static MPI_T_pvar_session session;
static MPI_T_pvar_handle stored;
static MPI_T_pvar_handle fetched;
static MPI_T_pvar_handle packets;

static MPI_T_pvar_handle watch(const char *name, int class)
{
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    int index = -1;
    int count = 0;

    DONE(MPI_T_pvar_get_index(name, class, &index));
    DONE(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    DONE(MPI_T_pvar_start(session, handle));
    return handle;
}

static void start_counting(void)
{
    int provided;

    DONE(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    DONE(MPI_T_pvar_session_create(&session));
    stored = watch("msg_bytes_stored", MPI_T_PVAR_CLASS_AGGREGATE);
    fetched = watch("msg_bytes_fetched", MPI_T_PVAR_CLASS_AGGREGATE);
    packets = watch("msg_packets_sent", MPI_T_PVAR_CLASS_COUNTER);
}

static void stop_counting(void)
{
    DONE(MPI_T_pvar_handle_free(session, &stored));
    DONE(MPI_T_pvar_handle_free(session, &fetched));
    DONE(MPI_T_pvar_handle_free(session, &packets));
    DONE(MPI_T_pvar_session_free(&session));
    DONE(MPI_T_finalize());
}

static unsigned long long value(MPI_T_pvar_handle handle)
{
    unsigned long long now = 0;

    DONE(MPI_T_pvar_read(session, handle, &now));
    return now;
}

/* Since `before` all bytes of an operation have gone straight to or from the target's
 * memory, if that is far. */
static void has_moved(MPI_T_pvar_handle handle, unsigned long long before, int target,
                      size_t bytes)
{
    CHECK(value(handle) - before == (is_direct && is_far[target] ? bytes : 0));
}

/* The same of a put. A small one may go in a packet, which a step of the epoch shares
 * with it. */
static void has_put(unsigned long long before, int target, size_t bytes)
{
    enum { SMALL = 512 };

    if (bytes > SMALL || value(stored) != before) {
        has_moved(stored, before, target, bytes);
    }
}

/* ---- every size, in every epoch ---- */

static const size_t sizes[] = {1, 8, 200, 4096, 70001, LARGE};

static uint32_t seed_of(int from, int to, size_t bytes)
{
    return (uint32_t)(from * 1000 + to * 7) + (uint32_t)bytes;
}

/* Every rank puts to the next, and reads what the one before it has got. */
static void put_and_get(struct window *w, enum how how, size_t bytes)
{
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;
    char *buffer = malloc(bytes);
    unsigned long long count;

    CHECK(buffer != NULL);
    fill_bytes(buffer, bytes, seed_of(rank, next, bytes));
    open_all(w, how);
    open_one(w, how, next);
    count = value(stored);
    DONE(MPI_Put(buffer, (int)bytes, MPI_BYTE, next, at(w, next, 8), (int)bytes, MPI_BYTE,
                 w->win));
    close_one(w, how, next);
    close_all(w, how);
    has_put(count, next, bytes);
    CHECK(are_bytes(w->base + 8, bytes, seed_of(before, rank, bytes)));
    memset(buffer, 0, bytes);
    open_all(w, how);
    open_one(w, how, next);
    count = value(fetched);
    DONE(MPI_Get(buffer, (int)bytes, MPI_BYTE, next, at(w, next, 8), (int)bytes, MPI_BYTE,
                 w->win));
    close_one(w, how, next);
    close_all(w, how);
    CHECK(value(fetched) - count >= (is_direct && is_far[next] ? bytes : 0));
    CHECK(are_bytes(buffer, bytes, seed_of(rank, next, bytes)));
    free(buffer);
}

static void every_size_in_every_epoch(void)
{
    for (enum kind kind = CREATED; kind <= ALLOCATED; kind++) {
        struct window w = make_window(kind, LARGE + 64, 8);

        for (enum how how = FENCE; how < WAYS; how++) {
            for (size_t i = 0; i < LENGTH(sizes); i++) {
                put_and_get(&w, how, sizes[i]);
            }
        }
        free_window(&w);
    }
}

/* ---- more than there is room for ---- */

static void many_at_once(void)
{
    struct window w = make_window(ALLOCATED, (MPI_Aint)MANY * EACH * size, 1);
    char *buffer = malloc((size_t)MANY * EACH);
    char *back = malloc((size_t)MANY * EACH);

    CHECK(buffer != NULL && back != NULL);
    DONE(MPI_Win_lock_all(0, w.win));
    for (int r = 0; r < size; r++) {
        const MPI_Aint mine = (MPI_Aint)rank * MANY * EACH;
        unsigned long long count = value(stored);

        fill_bytes(buffer, (size_t)MANY * EACH, seed_of(rank, r, 1));
        for (int i = 0; i < MANY; i++) {
            DONE(MPI_Put(buffer + i * EACH, EACH, MPI_BYTE, r, mine + i * EACH, EACH,
                         MPI_BYTE, w.win));
        }
        DONE(MPI_Win_flush(r, w.win));
        has_moved(stored, count, r, (size_t)MANY * EACH);
        count = value(fetched);
        memset(back, 0, (size_t)MANY * EACH);
        for (int i = 0; i < MANY; i++) {
            DONE(MPI_Get(back + i * EACH, EACH, MPI_BYTE, r, mine + i * EACH, EACH,
                         MPI_BYTE, w.win));
        }
        DONE(MPI_Win_flush_local(r, w.win));
        CHECK(memcmp(buffer, back, (size_t)MANY * EACH) == 0);
        has_moved(fetched, count, r, (size_t)MANY * EACH);
    }
    DONE(MPI_Win_unlock_all(w.win));
    DONE(MPI_Barrier(w.comm));
    for (int r = 0; r < size; r++) {
        CHECK(are_bytes(w.base + (size_t)r * MANY * EACH, (size_t)MANY * EACH,
                        seed_of(r, rank, 1)));
    }
    free_window(&w);
    free(buffer);
    free(back);
}

/* ---- small puts share packets ---- */

enum { PUTS = 1000, PLACES = 4 * PUTS, PACKETS = 30 };

/* Where the puts of an epoch go: neighbours, every third place downwards, anywhere, and
 * one place again and again, with one value, because their order is not defined. */
enum where { NEIGHBOURS, DOWNWARDS, ANYWHERE, ONE, WHERES };

static int place_of(enum where where, int i)
{
    switch (where) {
    case NEIGHBOURS:
        return i;
    case DOWNWARDS:
        return PLACES - 1 - 3 * i;
    case ANYWHERE:
        return i * 1237 % PLACES;
    default:
        return 7;
    }
}

static int64_t value_of(int from, enum where where, enum how how, int i)
{
    const int number = where == ONE ? 0 : i;

    return (int64_t)from << 40 | (int64_t)where << 32 | (int64_t)how << 24 | (number + 1);
}

/* Places without a put have nothing. */
static void are_there(const struct window *w, int from, enum where where, enum how how)
{
    int64_t *expected = calloc(PLACES, sizeof(*expected));

    CHECK(expected != NULL);
    for (int i = 0; i < PUTS; i++) {
        expected[place_of(where, i)] = value_of(from, where, how, i);
    }
    CHECK(memcmp(w->base, expected, PLACES * sizeof(*expected)) == 0);
    free(expected);
}

/* The buffer is the operation's until a flush, so each value has its own place there;
 * every tenth has a request, and its place is used again. */
static void put_many(const struct window *w, enum where where, enum how how, int target)
{
    static int64_t values[PUTS];
    const bool may_request = how != FENCE && how != PSCW;

    for (int i = 0; i < PUTS; i++) {
        const MPI_Aint there = at(w, target, 8 * (MPI_Aint)place_of(where, i));
        MPI_Request request;

        values[i] = value_of(rank, where, how, i);
        if (i % 10 != 0 || !may_request) {
            DONE(MPI_Put(&values[i], 1, MPI_INT64_T, target, there, 1, MPI_INT64_T,
                         w->win));
            continue;
        }
        DONE(MPI_Rput(&values[i], 1, MPI_INT64_T, target, there, 1, MPI_INT64_T, w->win,
                      &request));
        DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
        values[i] = -1;
    }
}

static void many_in_an_epoch(const struct window *w, enum where where, enum how how)
{
    const int next = (rank + 1) % size;
    unsigned long long before;

    memset(w->base, 0, PLACES * sizeof(int64_t));
    open_all(w, how);
    open_one(w, how, next);
    before = value(packets);
    put_many(w, where, how, next);
    close_one(w, how, next);
    if (is_far[next]) { /* some are of the epoch, and answers to others */
        CHECK(value(packets) - before <= PACKETS);
    }
    close_all(w, how);
    are_there(w, (rank + size - 1) % size, where, how);
    DONE(MPI_Barrier(w->comm));
}

static void small_puts_share_packets(void)
{
    for (enum kind kind = CREATED; kind <= ALLOCATED; kind++) {
        struct window w = make_window(kind, PLACES * sizeof(int64_t), 8);

        for (enum how how = FENCE; how < WAYS; how++) {
            for (enum where where = NEIGHBOURS; where < WHERES; where++) {
                many_in_an_epoch(&w, where, how);
            }
        }
        free_window(&w);
    }
}

/* ---- and so do small gets ---- */

static int64_t got[PUTS];

/* Some have requests, which are complete by themselves. */
static void get_many(const struct window *w, enum where where, enum how how, int target)
{
    const bool may_request = how != FENCE && how != PSCW;
    MPI_Request requests[PUTS / 10];
    int n = 0;

    for (int i = 0; i < PUTS; i++) {
        const MPI_Aint there = at(w, target, 8 * (MPI_Aint)place_of(where, i));

        if (i % 10 == 3 && may_request) {
            DONE(MPI_Rget(&got[i], 1, MPI_INT64_T, target, there, 1, MPI_INT64_T, w->win,
                          &requests[n++]));
        } else {
            DONE(MPI_Get(&got[i], 1, MPI_INT64_T, target, there, 1, MPI_INT64_T, w->win));
        }
    }
    DONE(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
    for (int i = 3; i < PUTS && may_request; i += 10) {
        CHECK(got[i] == 5 * (int64_t)target + place_of(where, i));
    }
}

static void many_from_a_target(const struct window *w, enum where where, enum how how)
{
    const int next = (rank + 1) % size;
    int64_t *mine = (int64_t *)(void *)w->base;
    unsigned long long before;

    for (int i = 0; i < PLACES; i++) {
        mine[i] = 5 * (int64_t)rank + i;
    }
    memset(got, 0, sizeof(got));
    DONE(MPI_Barrier(w->comm));
    open_all(w, how);
    open_one(w, how, next);
    before = value(packets);
    get_many(w, where, how, next);
    close_one(w, how, next);
    if (is_far[next]) { /* some are answers to others */
        CHECK(value(packets) - before <= 2 * PACKETS);
    }
    close_all(w, how);
    for (int i = 0; i < PUTS; i++) {
        CHECK(got[i] == 5 * (int64_t)next + place_of(where, i));
    }
    DONE(MPI_Barrier(w->comm));
}

static void small_gets_share_packets(void)
{
    for (enum kind kind = CREATED; kind <= ALLOCATED; kind++) {
        struct window w = make_window(kind, PLACES * sizeof(int64_t), 8);

        for (enum how how = FENCE; how < WAYS; how++) {
            for (enum where where = NEIGHBOURS; where < WHERES; where++) {
                many_from_a_target(&w, where, how);
            }
        }
        free_window(&w);
    }
}

/* One rank accumulates, so all packets that it sends are counted. */
static void an_accumulate_and_its_flush_are_one_packet(void)
{
    enum { TIMES = 20 };
    struct window w = make_window(ALLOCATED, sizeof(int64_t), 8);
    const int64_t one = 1;
    unsigned long long before = 0;

    memset(w.base, 0, sizeof(int64_t));
    DONE(MPI_Barrier(w.comm));
    DONE(MPI_Win_lock_all(0, w.win));
    for (int i = 0; rank == 0 && i <= TIMES; i++) {
        before = i == 1 ? value(packets) : before; /* the first takes the lock, too */
        DONE(MPI_Accumulate(&one, 1, MPI_INT64_T, 1, 0, 1, MPI_INT64_T, MPI_SUM, w.win));
        DONE(MPI_Win_flush(1, w.win));
    }
    if (rank == 0 && is_far[1]) {
        CHECK(value(packets) - before == TIMES);
    }
    DONE(MPI_Win_unlock_all(w.win));
    DONE(MPI_Barrier(w.comm));
    CHECK(rank != 1 || *(int64_t *)(void *)w.base == TIMES + 1);
    free_window(&w);
}

/* More gets than a target answers at once, of every length. */
static void gets_of_mixed_lengths(void)
{
    enum { LONGEST = 600, ROUNDS = 3, BYTES = LONGEST * (LONGEST + 1) / 2 };
    struct window w = make_window(CREATED, BYTES, 1);
    const int next = (rank + 1) % size;
    char *buffer = malloc(BYTES);

    CHECK(buffer != NULL);
    fill_bytes(w.base, BYTES, seed_of(rank, rank, 4));
    DONE(MPI_Barrier(w.comm));
    DONE(MPI_Win_lock_all(0, w.win));
    for (int round = 0; round < ROUNDS; round++) {
        int offset = 0;

        memset(buffer, 0, BYTES);
        for (int bytes = 1; bytes <= LONGEST; bytes++) {
            DONE(MPI_Get(buffer + offset, bytes, MPI_BYTE, next, offset, bytes, MPI_BYTE,
                         w.win));
            offset += bytes;
        }
        DONE(round == 0 ? MPI_Win_flush_local(next, w.win) : MPI_Win_flush_all(w.win));
        CHECK(are_bytes(buffer, BYTES, seed_of(next, next, 4)));
    }
    DONE(MPI_Win_unlock_all(w.win));
    DONE(MPI_Barrier(w.comm));
    free_window(&w);
    free(buffer);
}

/* Puts of every length from 1 byte on, to places that are not aligned. */
static void lengths_are_mixed(void)
{
    enum { LONGEST = 600, BYTES = LONGEST * (LONGEST + 1) / 2 };
    struct window w = make_window(ALLOCATED, BYTES, 1);
    const int next = (rank + 1) % size;
    char *buffer = malloc(BYTES);
    int offset = 0;

    CHECK(buffer != NULL);
    fill_bytes(buffer, BYTES, seed_of(rank, next, 3));
    DONE(MPI_Win_fence(0, w.win));
    for (int bytes = 1; bytes <= LONGEST; bytes++) {
        DONE(MPI_Put(buffer + offset, bytes, MPI_BYTE, next, offset, bytes, MPI_BYTE,
                     w.win));
        offset += bytes;
    }
    DONE(MPI_Win_fence(0, w.win));
    CHECK(are_bytes(w.base, BYTES, seed_of((rank + size - 1) % size, rank, 3)));
    DONE(MPI_Barrier(w.comm));
    free_window(&w);
    free(buffer);
}

/* Small puts between puts of several blocks, which go by themselves. */
static void others_in_between(void)
{
    enum { ROUNDS = 50, WORDS = 64 };
    struct window w = make_window(CREATED, WORDS * (MPI_Aint)sizeof(int64_t), 8);
    const int next = (rank + 1) % size;
    int64_t numbers[WORDS];
    int64_t back[WORDS];
    MPI_Datatype two;

    DONE(MPI_Type_vector(2, 1, 2, MPI_INT64_T, &two));
    DONE(MPI_Type_commit(&two));
    DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, w.win));
    for (int64_t r = 0; r < ROUNDS; r++) {
        for (int i = 0; i < WORDS; i++) {
            numbers[i] = 1000 * r + i;
            DONE(MPI_Put(&numbers[i], 1, MPI_INT64_T, next, i, 1, MPI_INT64_T, w.win));
            if (i % 16 == 15) {
                DONE(MPI_Put(&numbers[i - 2], 1, two, next, i - 2, 1, two, w.win));
            }
        }
        DONE(MPI_Win_flush(next, w.win));
        DONE(MPI_Get(back, WORDS, MPI_INT64_T, next, 0, WORDS, MPI_INT64_T, w.win));
        DONE(MPI_Win_flush(next, w.win));
        CHECK(memcmp(numbers, back, sizeof(back)) == 0);
    }
    DONE(MPI_Win_unlock(next, w.win));
    DONE(MPI_Type_free(&two));
    DONE(MPI_Barrier(w.comm));
    free_window(&w);
}

/* ---- several blocks ---- */

enum { ROWS = 40, ROW = 20000 }; /* of long blocks, which go straight to memory */

static MPI_Datatype rows_of(int stride)
{
    MPI_Datatype type;

    DONE(MPI_Type_vector(ROWS, ROW, stride * ROW, MPI_BYTE, &type));
    DONE(MPI_Type_commit(&type));
    return type;
}

static bool are_rows(const char *base, int stride, uint32_t seed)
{
    char *packed = malloc((size_t)ROWS * ROW);
    bool is_so;

    CHECK(packed != NULL);
    for (int i = 0; i < ROWS; i++) {
        memcpy(packed + (size_t)i * ROW, base + (size_t)i * (size_t)stride * ROW, ROW);
    }
    is_so = are_bytes(packed, (size_t)ROWS * ROW, seed);
    free(packed);
    return is_so;
}

/* Puts rows to the next rank and fetches them again, in an epoch of any kind. */
static void move_rows(const struct window *w, enum how how, int here, int there)
{
    const int next = (rank + 1) % size;
    const size_t all = (size_t)ROWS * ROW;
    MPI_Datatype ours = rows_of(here);
    MPI_Datatype theirs = rows_of(there);
    char *packed = malloc(all);
    char *rows = calloc(2, all);
    unsigned long long count;

    CHECK(packed != NULL && rows != NULL);
    fill_bytes(packed, all, seed_of(rank, next, 5));
    for (int i = 0; i < ROWS; i++) {
        memcpy(rows + (size_t)i * (size_t)here * ROW, packed + (size_t)i * ROW, ROW);
    }
    memset(w->base, 0, 2 * all);
    open_all(w, how);
    open_one(w, how, next);
    count = value(stored);
    DONE(MPI_Put(rows, 1, ours, next, 0, 1, theirs, w->win));
    close_one(w, how, next);
    close_all(w, how);
    has_moved(stored, count, next, all);
    CHECK(are_rows(w->base, there, seed_of((rank + size - 1) % size, rank, 5)));
    memset(rows, 0, 2 * all);
    open_all(w, how);
    open_one(w, how, next);
    DONE(MPI_Get(rows, 1, ours, next, 0, 1, theirs, w->win));
    close_one(w, how, next);
    close_all(w, how);
    CHECK(are_rows(rows, here, seed_of(rank, next, 5)));
    DONE(MPI_Barrier(w->comm));
    DONE(MPI_Type_free(&ours));
    DONE(MPI_Type_free(&theirs));
    free(packed);
    free(rows);
}

/* One row after the other, or with a gap behind each. */
static void several_blocks(void)
{
    struct window w = make_window(CREATED, 2 * (MPI_Aint)ROWS * ROW, 1);

    for (enum how how = FENCE; how < WAYS; how++) {
        for (int shape = 0; shape < 4; shape++) {
            move_rows(&w, how, 1 + shape % 2, 1 + shape / 2);
        }
    }
    free_window(&w);
}

/* ---- one flush for both ways ---- */

/* Rank 0 counts at every rank, by accumulates of all, beside puts: a flush covers both.
 */
static void puts_and_accumulates(void)
{
    enum { ROUNDS = 200 };
    struct window w = make_window(CREATED, (MPI_Aint)sizeof(int64_t) * (size + 1), 8);
    const int64_t one = 1;
    int64_t last = 0;

    DONE(MPI_Win_lock_all(0, w.win));
    for (int64_t i = 1; i <= ROUNDS; i++) {
        for (int r = 0; r < size; r++) {
            DONE(MPI_Put(&i, 1, MPI_INT64_T, r, rank + 1, 1, MPI_INT64_T, w.win));
            DONE(MPI_Accumulate(&one, 1, MPI_INT64_T, r, 0, 1, MPI_INT64_T, MPI_SUM,
                                w.win));
        }
        if (i % 2 == 0) {
            DONE(MPI_Win_flush_all(w.win));
        }
        for (int r = 0; r < size; r++) {
            if (i % 2 != 0) {
                DONE(MPI_Win_flush(r, w.win));
            }
            DONE(MPI_Get(&last, 1, MPI_INT64_T, r, rank + 1, 1, MPI_INT64_T, w.win));
            DONE(MPI_Win_flush(r, w.win));
            CHECK(last == i);
        }
    }
    DONE(MPI_Win_unlock_all(w.win));
    DONE(MPI_Barrier(w.comm));
    CHECK(((int64_t *)(void *)w.base)[0] == (int64_t)ROUNDS * size);
    free_window(&w);
}

/* ---- requests ---- */

static void with_requests(void)
{
    struct window w = make_window(ALLOCATED, LARGE, 1);
    const int next = (rank + 1) % size;
    char *buffer = malloc(LARGE);
    unsigned long long count = value(stored);
    MPI_Request request;

    CHECK(buffer != NULL);
    fill_bytes(buffer, LARGE, seed_of(rank, next, 2));
    DONE(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, w.win));
    DONE(MPI_Rput(buffer, LARGE, MPI_BYTE, next, 0, LARGE, MPI_BYTE, w.win, &request));
    DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    has_moved(stored, count, next, LARGE);
    memset(buffer, 0, LARGE); /* it is ours again */
    DONE(MPI_Win_flush(next, w.win));
    count = value(fetched);
    DONE(MPI_Rget(buffer, LARGE, MPI_BYTE, next, 0, LARGE, MPI_BYTE, w.win, &request));
    DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    has_moved(fetched, count, next, LARGE);
    CHECK(are_bytes(buffer, LARGE, seed_of(rank, next, 2)));
    DONE(MPI_Win_unlock(next, w.win));
    free_window(&w);
    free(buffer);
}

/* ---- members without memory, and memory outside ---- */

static void some_have_no_memory(void)
{
    const int next = (rank + 1) % size;
    const bool has_memory = next % 2 == 0;
    const int64_t number = 100 + rank;
    int64_t memory = 0;
    MPI_Win win;

    DONE(MPI_Win_create(&memory, rank % 2 == 0 ? sizeof(memory) : 0, 8, MPI_INFO_NULL,
                        MPI_COMM_WORLD, &win));
    DONE(MPI_Win_fence(0, win));
    if (has_memory) {
        DONE(MPI_Put(&number, 1, MPI_INT64_T, next, 0, 1, MPI_INT64_T, win));
    }
    DONE(MPI_Win_fence(0, win));
    CHECK(memory == (rank % 2 == 0 ? 100 + (rank + size - 1) % size : 0));
    DONE(MPI_Win_free(&win));
}

/* ---- memory that nobody can register ---- */

/* What is short needs no registration of its own. */
static void short_ones(void)
{
    static const size_t lengths[] = {1, 8, 512, 513, 4000, 4096};
    struct window w = make_window(CREATED, 8192, 1);
    const int next = (rank + 1) % size;
    char buffer[4096];
    char back[4096];

    DONE(MPI_Win_lock_all(0, w.win));
    for (size_t i = 0; i < LENGTH(lengths); i++) {
        const int bytes = (int)lengths[i];
        unsigned long long count = value(stored);

        fill_bytes(buffer, lengths[i], seed_of(rank, next, lengths[i]));
        DONE(MPI_Put(buffer, bytes, MPI_BYTE, next, 3, bytes, MPI_BYTE, w.win));
        DONE(MPI_Win_flush(next, w.win));
        has_put(count, next, lengths[i]);
        count = value(fetched);
        memset(back, 0, sizeof(back));
        DONE(MPI_Get(back, bytes, MPI_BYTE, next, 3, bytes, MPI_BYTE, w.win));
        DONE(MPI_Win_flush(next, w.win));
        has_moved(fetched, count, next, lengths[i]);
        CHECK(memcmp(buffer, back, lengths[i]) == 0);
    }
    DONE(MPI_Win_unlock_all(w.win));
    DONE(MPI_Barrier(w.comm));
    free_window(&w);
}

/* ---- memory ---- */

static long most_memory(void)
{
    struct rusage usage;

    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_maxrss; /* KiB */
}

/* A target does not keep what the network cannot take yet of many long gets. */
static void long_gets_fill_no_memory(void)
{
    enum { BYTES = 128 * 1024, GETS = 1000 };
    char *memory = calloc(1, BYTES);
    MPI_Win win;
    long before;

    CHECK(memory != NULL);
    DONE(MPI_Win_create(memory, rank == 0 ? BYTES : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                        &win));
    before = most_memory();
    DONE(MPI_Win_fence(0, win));
    if (rank == 1) {
        for (int i = 0; i < GETS; i++) {
            DONE(MPI_Get(memory, BYTES, MPI_BYTE, 0, 0, BYTES, MPI_BYTE, win));
        }
    }
    DONE(MPI_Win_fence(0, win));
    CHECK(most_memory() - before < 32 * 1024);
    DONE(MPI_Win_free(&win));
    free(memory);
}

static void all_cases(void)
{
    every_size_in_every_epoch();
    many_at_once();
    small_puts_share_packets();
    small_gets_share_packets();
    an_accumulate_and_its_flush_are_one_packet();
    gets_of_mixed_lengths();
    lengths_are_mixed();
    others_in_between();
    several_blocks();
    puts_and_accumulates();
    with_requests();
    some_have_no_memory();
    long_gets_fill_no_memory();
}

int main(int argc, char **argv)
{
    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    DONE(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(argc == 2 || strcmp(argv[2], "short") == 0);
    is_direct = strcmp(argv[1], "direct") == 0;
    find_far();
    start_counting();
    short_ones();
    if (argc == 2) {
        all_cases();
    }
    stop_counting();
    free(is_far);
    DONE(MPI_Finalize());
    return 0;
}
