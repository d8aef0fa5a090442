/*
 * remote.c - cases about peers' registered memory: when a put is there, and atomic
 * operations. WEFT_TEST_ATOMICS says which there must be: none, two or all.
 * WEFT_TEST_TELLS says whether puts tell the peer something: yes or no.
 */
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 70 * 1000,
    ADDS = 200, /* of each rank */
};

void *suite_exchange_keys(void *memory, size_t bytes, struct weft_key *key)
{
    const uint32_t to = suite_next();
    const uint32_t from = suite_previous();
    const struct weft_memory_ops *ops = suite.path[from]->memory;
    void *region;

    while (ops->mr_register(suite.tp, memory, bytes, WEFT_MR_PUT | WEFT_MR_GET, key,
                            &region) != WEFT_OK) {
        suite_progress();
    }
    suite_send_word(from, key->address);
    suite_send_word(from, key->key);
    key->address = suite_await_word(to);
    key->key = suite_await_word(to);
    return region;
}

static void await(enum weft_rc rc, uint32_t before)
{
    check(rc == WEFT_OK || rc == WEFT_PENDING);
    while (rc == WEFT_PENDING && suite.done_count == before) {
        suite_progress();
    }
}

/* ---- flush ---- */

static void put(struct weft_path *path, const struct weft_key *key, const void *from,
                size_t bytes)
{
    struct weft_op op = {.done = suite_on_done};
    const uint32_t before = suite.done_count;
    enum weft_rc rc;

    while ((rc = weft_path_put(path, key, 0, from, bytes, &op)) == WEFT_AGAIN) {
        suite_progress();
    }
    await(rc, before);
}

static void get(struct weft_path *path, const struct weft_key *key, void *to,
                size_t bytes)
{
    struct weft_op op = {.done = suite_on_done};
    const uint32_t before = suite.done_count;
    enum weft_rc rc;

    while ((rc = weft_path_get(path, key, 0, to, bytes, &op)) == WEFT_AGAIN) {
        suite_progress();
    }
    await(rc, before);
}

static void flush(struct weft_path *path, const struct weft_key *key)
{
    struct weft_op op = {.done = suite_on_done};
    const uint32_t before = suite.done_count;
    enum weft_rc rc;

    while ((rc = path->memory->flush(path, key, &op)) == WEFT_AGAIN) {
        suite_progress();
    }
    await(rc, before);
    check(path->memory->flush(path, key, &op) == WEFT_OK); /* nothing is left */
}

/* What was flushed is there, although no packet says so. */
void case_flush(void)
{
    const struct weft_memory_ops *ops = suite.path[suite_next()]->memory;
    uint8_t *memory = calloc(1, BLOCK);
    uint8_t *block = calloc(1, BLOCK);
    struct weft_key key;
    void *region;

    if (ops != NULL && ops->flush != NULL) {
        region = suite_exchange_keys(memory, BLOCK, &key);
        suite_meet();
        memset(block, (int)(1 + suite.me), BLOCK);
        put(suite.path[suite_next()], &key, block, BLOCK);
        flush(suite.path[suite_next()], &key);
        suite_meet();
        check(memory[0] == 1 + suite_previous());
        check(memcmp(memory, memory + 1, BLOCK - 1) == 0);
        suite_meet();
        ops->mr_deregister(suite.tp, region);
    }
    free(memory);
    free(block);
}

/* ---- a word with a put ---- */

static void put_tell(struct weft_path *path, const struct weft_key *key, const void *from,
                     size_t bytes, uint64_t word)
{
    struct weft_op op = {.done = suite_on_done};
    const uint32_t before = suite.done_count;
    enum weft_rc rc;

    while ((rc = weft_path_put_tell(path, key, 0, from, bytes, word, &op)) ==
           WEFT_AGAIN) {
        suite_progress();
    }
    await(rc, before);
}

/* When the word is there, the bytes are, with those of puts that told nothing: one word
 * arrives, not two. */
static void tell_all(struct weft_key *key, uint8_t *memory)
{
    const uint64_t sign = 0xf123456789abcd00;
    struct weft_path *path = suite.path[suite_next()];
    const struct weft_key second = {key->address + BLOCK, key->key};
    uint8_t *block = calloc(1, BLOCK);

    memset(block, (int)(1 + suite.me), BLOCK);
    put(path, key, block, BLOCK);
    suite_meet(); /* a neighbour that is past it can have told already */
    put_tell(path, &second, block, BLOCK, sign + suite.me);
    while (suite.told_count == 0) {
        suite_progress();
    }
    check(suite.told == sign + suite_previous());
    check(memory[0] == 1 + suite_previous());
    check(memcmp(memory, memory + 1, 2 * BLOCK - 1) == 0);
    suite_meet();
    check(suite.told_count == 1);
    suite.told_count = 0;
    free(block);
}

void case_told(void)
{
    const struct weft_memory_ops *ops = suite.path[suite_next()]->memory;
    const bool can = ops != NULL && ops->put_tell != NULL;
    const char *expected = getenv("WEFT_TEST_TELLS");
    uint8_t *memory = calloc(2, BLOCK);
    struct weft_key key;
    void *region;

    check(expected == NULL || can == (strcmp(expected, "yes") == 0));
    if (can) {
        region = suite_exchange_keys(memory, 2 * (size_t)BLOCK, &key);
        suite_meet();
        tell_all(&key, memory);
        ops->mr_deregister(suite.tp, region);
    }
    free(memory);
}

/* ---- atomics ---- */

/* An element of any type. */
union element {
    int32_t i32;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    float f;
    double d;
};

static union element element_of(enum weft_atomic_type type, int value)
{
    union element e = {.u64 = 0};

    switch (type) {
    case WEFT_ATOMIC_INT32:
        e.i32 = value;
        break;
    case WEFT_ATOMIC_UINT32:
        e.u32 = (uint32_t)value;
        break;
    case WEFT_ATOMIC_INT64:
        e.i64 = value;
        break;
    case WEFT_ATOMIC_UINT64:
        e.u64 = (uint64_t)value;
        break;
    case WEFT_ATOMIC_FLOAT:
        e.f = (float)value;
        break;
    default:
        e.d = value;
        break;
    }
    return e;
}

/* What 12 becomes by an operation with 10, for a CSWAP that finds what it expects. */
static int outcome(enum weft_atomic_op op)
{
    static const int outcomes[WEFT_ATOMIC_OPS] = {
        [WEFT_ATOMIC_SUM] = 22,  [WEFT_ATOMIC_MIN] = 10,     [WEFT_ATOMIC_MAX] = 12,
        [WEFT_ATOMIC_BAND] = 8,  [WEFT_ATOMIC_BOR] = 14,     [WEFT_ATOMIC_BXOR] = 6,
        [WEFT_ATOMIC_READ] = 12, [WEFT_ATOMIC_REPLACE] = 10, [WEFT_ATOMIC_CSWAP] = 10,
    };

    return outcomes[op];
}

static bool is_expected(enum weft_atomic_op op, enum weft_atomic_type type)
{
    const char *which = getenv("WEFT_TEST_ATOMICS");
    const bool is_bitwise = op >= WEFT_ATOMIC_BAND && op <= WEFT_ATOMIC_BXOR;
    const bool is_real = type >= WEFT_ATOMIC_FLOAT;
    const bool is_wide = type == WEFT_ATOMIC_INT64 || type == WEFT_ATOMIC_UINT64;

    return strcmp(which, "all") == 0 ? !is_bitwise || !is_real
           : strcmp(which, "two") == 0
               ? is_wide && (op == WEFT_ATOMIC_SUM || op == WEFT_ATOMIC_CSWAP)
               : false;
}

static enum weft_rc apply(struct weft_path *path, const struct weft_atomic *atomic)
{
    struct weft_op op = {.done = suite_on_done};
    const uint32_t before = suite.done_count;
    enum weft_rc rc;

    while ((rc = path->memory->atomic(path, atomic, &op)) == WEFT_AGAIN) {
        suite_progress();
    }
    if (rc != WEFT_ERR_UNSUPPORTED) {
        check(rc == WEFT_PENDING);
        await(rc, before);
    }
    return rc;
}

/* The element there is 12 before; compares it with `compare`. */
static void try_one(const struct weft_key *key, enum weft_atomic_op op,
                    enum weft_atomic_type type, int compare, int after)
{
    struct weft_path *path = suite.path[suite_next()];
    const union element operand = element_of(type, 10);
    const union element expected = element_of(type, compare);
    const union element start = element_of(type, 12);
    const union element end = element_of(type, after);
    union element result = {.u64 = 0};
    union element now = {.u64 = 0};
    const struct weft_atomic atomic = {
        op, type, key->key, key->address, &operand, &expected, &result,
    };

    put(path, key, &start, sizeof(start));
    flush(path, key);
    check(apply(path, &atomic) == WEFT_PENDING);
    check(memcmp(&result, &start, sizeof(result)) == 0);
    get(path, key, &now, sizeof(now));
    check(memcmp(&now, &end, sizeof(now)) == 0);
}

static void try_all(const struct weft_key *key)
{
    struct weft_path *path = suite.path[suite_next()];

    for (int op = 0; op < WEFT_ATOMIC_OPS; op++) {
        for (int type = 0; type < WEFT_ATOMIC_TYPES; type++) {
            const struct weft_atomic atomic = {.op = (enum weft_atomic_op)op,
                                               .type = (enum weft_atomic_type)type};
            const bool can = path->memory->can_atomic(path, atomic.op, atomic.type);

            check(getenv("WEFT_TEST_ATOMICS") == NULL ||
                  can == is_expected(atomic.op, atomic.type));
            if (!can) {
                check(apply(path, &atomic) == WEFT_ERR_UNSUPPORTED);
                continue;
            }
            try_one(key, atomic.op, atomic.type, 12, outcome(atomic.op));
            if (op == WEFT_ATOMIC_CSWAP) {
                try_one(key, atomic.op, atomic.type, 11, 12); /* it finds another */
            }
        }
    }
}

/* Each adds to the same counter; it never sees the same value twice. */
static void add_together(uint64_t *counter, const struct weft_key *key)
{
    const uint64_t one = 1;
    uint64_t last = 0;

    for (int i = 0; suite.me != 0 && i < ADDS; i++) {
        uint64_t result = 0;
        const struct weft_atomic add = {
            .op = WEFT_ATOMIC_SUM,
            .type = WEFT_ATOMIC_UINT64,
            .key = key->key,
            .theirs = key->address,
            .operand = &one,
            .result = &result,
        };

        check(apply(suite.path[0], &add) == WEFT_PENDING);
        check(i == 0 || result > last);
        last = result;
    }
    suite_meet();
    check(suite.me != 0 || *counter == (uint64_t)ADDS * (suite.size - 1));
}

/* Rank 0 lends its counter to all. */
static void share_counter(struct weft_key *key)
{
    for (uint32_t rank = 1; suite.me == 0 && rank < suite.size; rank++) {
        suite_send_word(rank, key->address);
        suite_send_word(rank, key->key);
    }
    if (suite.me != 0) {
        key->address = suite_await_word(0);
        key->key = suite_await_word(0);
    }
}

void case_atomics(void)
{
    struct weft_path *path = suite.path[suite_next()];
    const struct weft_memory_ops *ops = path->memory;
    static uint64_t element[2]; /* and the counter */
    struct weft_key key;
    struct weft_key counter;
    void *region;
    void *counted;

    if (ops == NULL || ops->can_atomic == NULL) {
        return;
    }
    region = suite_exchange_keys(&element[0], sizeof(element[0]), &key);
    suite_meet();
    try_all(&key);
    suite_meet();
    if (ops->can_atomic(path, WEFT_ATOMIC_SUM, WEFT_ATOMIC_UINT64)) {
        element[1] = 0;
        while (ops->mr_register(suite.tp, &element[1], sizeof(element[1]),
                                WEFT_MR_PUT | WEFT_MR_GET, &counter,
                                &counted) != WEFT_OK) {
            suite_progress();
        }
        share_counter(&counter);
        add_together(&element[1], &counter);
        ops->mr_deregister(suite.tp, counted);
    }
    suite_meet();
    ops->mr_deregister(suite.tp, region);
}
