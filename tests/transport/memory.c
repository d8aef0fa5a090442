/* memory.c - cases about peers' memory: put and get, wrong addresses, shares. */
#include "suite.h"

#include "copy_share.h"
#include "node/stage.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    BYTES = 1 << 20,
    RANGES = 300,
    SHARES_MAX = 1024,
    SHARE_ROUNDS = 300,
    PAGE = 4096,
    SHARE_UNIT = 4096, /* lengths of chunks are multiples of it */
};

static bool has_memory(uint32_t rank)
{
    return weft_path_memory(suite.path[rank]) != NULL;
}

static enum weft_rc finish(enum weft_rc rc, const struct weft_op *op)
{
    if (rc == WEFT_PENDING) {
        while (suite.done != op) {
            suite_progress();
        }
        suite.done = NULL;
        rc = WEFT_OK;
    }
    return rc;
}

static enum weft_rc get(uint32_t rank, uint64_t address, uint64_t offset, void *to,
                        size_t len)
{
    const struct weft_key key = {.address = address};
    struct weft_op op = {.done = suite_on_done};

    return finish(weft_path_get(suite.path[rank], &key, offset, to, len, &op), &op);
}

static enum weft_rc put(uint32_t rank, uint64_t address, uint64_t offset,
                        const void *from, size_t len)
{
    const struct weft_key key = {.address = address};
    struct weft_op op = {.done = suite_on_done};

    return finish(weft_path_put(suite.path[rank], &key, offset, from, len, &op), &op);
}

static uint8_t byte_of(uint32_t rank, size_t i)
{
    return (uint8_t)((i * 131 + (i >> 8) * 17 + rank * 29) % 250 + 1); /* never 0 */
}

static bool is_of(const uint8_t *bytes, uint32_t rank, size_t offset, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != byte_of(rank, offset + i)) {
            return false;
        }
    }
    return true;
}

static uint8_t *make(size_t len)
{
    uint8_t *memory = calloc(1, len);

    check(memory != NULL);
    return memory;
}

static void choose_range(uint64_t *random, uint64_t *offset, uint64_t *len)
{
    const uint64_t r = suite_random(random) >> 8;

    *offset = r % BYTES;
    *len = (suite_random(random) >> 8) % (r % 3 == 0 ? BYTES : 300);
    *len = *len < BYTES - *offset ? *len : BYTES - *offset;
}

/* `there` holds the next rank's bytes, `to` takes ours. */
static void move_ranges(uint32_t rank, uint64_t there, uint64_t to)
{
    uint8_t *got = make(BYTES);
    uint8_t *mine = make(BYTES);
    uint8_t *mirror = make(BYTES);
    uint64_t random = 99 + suite.me;

    for (size_t i = 0; i < BYTES; i++) {
        mine[i] = byte_of(suite.me, i);
    }
    for (int i = 0; i < RANGES; i++) {
        uint64_t offset;
        uint64_t len;

        choose_range(&random, &offset, &len);
        memset(got, 0, BYTES);
        check(get(rank, there, offset, got + offset, len) == WEFT_OK);
        check(is_of(got + offset, rank, offset, len));
        check(offset == 0 || got[offset - 1] == 0); /* and nothing beside it */
        check(offset + len == BYTES || got[offset + len] == 0);

        choose_range(&random, &offset, &len);
        check(put(rank, to, offset, mine + offset, len) == WEFT_OK);
        memcpy(mirror + offset, mine + offset, len);
    }
    check(get(rank, to, 0, got, BYTES) == WEFT_OK);
    check(memcmp(got, mirror, BYTES) == 0);
    free(got);
    free(mine);
    free(mirror);
}

void case_memory(void)
{
    uint8_t *source = make(BYTES);
    uint8_t *target = make(BYTES);
    uint64_t there;
    uint64_t to;

    for (size_t i = 0; i < BYTES; i++) {
        source[i] = byte_of(suite.me, i);
    }
    suite_send_word(suite_previous(), (uint64_t)(uintptr_t)source);
    suite_send_word(suite_previous(), (uint64_t)(uintptr_t)target);
    there = suite_await_word(suite_next());
    to = suite_await_word(suite_next());
    check(has_memory(suite_next()) == suite.is_reachable);
    check(has_memory(suite_next()) == suite.is_reachable);
    if (suite.is_reachable) {
        move_ranges(suite_next(), there, to);
    }
    suite_meet();
    check(is_of(source, suite.me, 0, BYTES));
    for (size_t i = 0; i < BYTES; i++) {
        check(target[i] == 0 || target[i] == byte_of(suite_previous(), i));
        check(target[i] == 0 || suite.is_reachable);
    }
    suite_meet();
    free(source);
    free(target);
}

/* An error, and nothing else. */
static void move_wrongly(uint32_t rank, uint64_t theirs)
{
    const uint64_t wrong[] = {0, 1, 8, UINT64_MAX / 2, UINT64_MAX - PAGE};
    uint8_t bytes[2 * PAGE] = {0};

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        check(get(rank, wrong[i], 0, bytes, 64) > WEFT_PENDING);
        check(put(rank, wrong[i], 0, bytes, 64) > WEFT_PENDING);
    }
    check(get(rank, theirs, PAGE, bytes, 1) > WEFT_PENDING);
    check(get(rank, theirs, PAGE - 8, bytes, 16) > WEFT_PENDING); /* half */
    check(put(rank, theirs, PAGE - 8, bytes, 16) > WEFT_PENDING);
    check(put(rank, theirs, 2 * PAGE, bytes, 8) > WEFT_PENDING); /* read only */
    check(get(rank, theirs, 0, bytes, PAGE - 8) == WEFT_OK);     /* what is right works */
    check(bytes[0] == 7 && bytes[PAGE - 9] == 7);
}

void case_wrong_addresses(void)
{
    uint8_t *pages =
        mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    uint64_t theirs;

    check(pages != MAP_FAILED);
    check(munmap(pages + PAGE, PAGE) == 0);
    check(mprotect(pages + 2 * PAGE, PAGE, PROT_READ) == 0);
    memset(pages, 7, PAGE);
    suite_send_word(suite_previous(), (uint64_t)(uintptr_t)pages);
    theirs = suite_await_word(suite_next());
    if (suite.is_reachable) {
        move_wrongly(suite_next(), theirs);
    }
    suite_meet();
    munmap(pages, PAGE);
    munmap(pages + 2 * PAGE, PAGE);
}

void case_shares(void)
{
    uint32_t numbers[SHARES_MAX];
    uint32_t count;
    uint32_t first = 0;

    for (int round = 0; round < 3; round++) {
        for (count = 0; count < SHARES_MAX; count++) {
            struct weft_copy_share *share = weft_share_take(&suite.node, &numbers[count]);

            if (share == NULL) {
                break;
            }
            check(((uintptr_t)share & 63) == 0);
            for (uint32_t i = 0; i < count; i++) {
                check(numbers[i] != numbers[count]);
            }
        }
        check(count < SHARES_MAX);
        check(count > 0);
        check(round == 0 || count == first);
        first = count;
        for (uint32_t i = 0; i < count; i++) { /* in another order than taken */
            weft_share_give(&suite.node, numbers[(i * 7 + (uint32_t)round) % count]);
        }
    }
    suite_meet();
}

/* Claims what it can get and returns it as bits of a word; at most 64 chunks. */
static uint64_t claim_all(struct weft_copy_share *share, uint32_t generation,
                          enum weft_share_side side)
{
    uint64_t chunks = 0;
    uint64_t offset;
    uint64_t length;

    while (weft_share_claim_chunk(share, generation, side, &offset, &length)) {
        chunks |= UINT64_C(1) << (offset / share_chunk(share));
        weft_share_count(share, length);
        if (offset % 3 == 0) {
            sched_yield();
        }
    }
    return chunks;
}

static void receive_together(uint32_t helper)
{
    struct weft_copy_share *share;
    uint64_t random = 3;
    uint32_t number;

    for (int i = 0; i < SHARE_ROUNDS; i++) {
        const uint64_t chunks = suite_random(&random) % 64 + 1;
        const uint64_t chunk = SHARE_UNIT * (1 + (suite_random(&random) >> 52));
        const uint64_t length = chunks * chunk - suite_random(&random) % SHARE_UNIT;
        const struct weft_share_terms terms = {.length = length, .chunk = chunk};
        uint64_t mine;
        uint64_t theirs;
        uint32_t generation;

        share = weft_share_take(&suite.node, &number);
        check(share != NULL);
        generation = share_fill(share, &terms);
        suite_send_word(helper, (uint64_t)generation << 32 | number);
        mine = claim_all(share, generation, WEFT_SHARE_RECEIVER);
        while (!weft_share_is_over(share, generation)) {
            suite_progress();
        }
        weft_share_give(&suite.node, number);
        theirs = suite_await_word(helper);
        check((mine & theirs) == 0);
        check((mine | theirs) == UINT64_MAX >> (64 - chunks));
        check(share_generation(share) == generation);

        /* The next generation: who comes with the old one gets nothing. */
        generation = share_fill(share, &terms);
        suite_send_word(helper, 1);
        check(suite_await_word(helper) == 0);
        check(share_copied(share) == 0);
    }
}

static void help_together(uint32_t receiver)
{
    for (int i = 0; i < SHARE_ROUNDS; i++) {
        const uint64_t word = suite_await_word(receiver);
        struct weft_copy_share *share =
            weft_share_of(suite_area(receiver), (uint32_t)word);

        check(share != NULL);
        suite_send_word(receiver,
                        claim_all(share, (uint32_t)(word >> 32), WEFT_SHARE_SENDER));
        suite_await_word(receiver);
        suite_send_word(receiver,
                        claim_all(share, (uint32_t)(word >> 32), WEFT_SHARE_SENDER));
    }
}

void case_share_claims(void)
{
    if ((suite.me | 1) < suite.size) {
        if (suite.me % 2 == 0) {
            receive_together(suite.me + 1);
        } else {
            help_together(suite.me - 1);
        }
    }
    suite_meet();
}

/* Fills all its stages; its neighbour sees in each what was written. */
static void show_stages(uint32_t reader)
{
    uint32_t numbers[SHARES_MAX];
    uint32_t count = 0;
    void *stage;

    while ((stage = weft_stage_take(&suite.node, &numbers[count])) != NULL) {
        memset(stage, (int)(100 + suite.me + numbers[count]), WEFT_STAGE_BYTES);
        suite_send_word(reader, numbers[count]);
        count++;
        check(count < SHARES_MAX);
    }
    suite_send_word(reader, SHARES_MAX);
    check(suite_await_word(reader) == count);
    for (uint32_t i = 0; i < count; i++) {
        weft_stage_give(&suite.node, numbers[i]);
    }
    stage = weft_stage_take(&suite.node, &numbers[0]); /* they can be taken again */
    check((stage != NULL) == (count > 0));
    if (stage != NULL) {
        weft_stage_give(&suite.node, numbers[0]);
    }
}

static void see_stages(uint32_t writer)
{
    uint64_t seen = 0;
    uint64_t number;

    while ((number = suite_await_word(writer)) != SHARES_MAX) {
        const uint8_t *stage = weft_stage_of(suite_area(writer), (uint32_t)number);

        for (size_t i = 0; i < WEFT_STAGE_BYTES; i++) {
            check(stage[i] == (uint8_t)(100 + writer + number));
        }
        seen++;
    }
    suite_send_word(writer, seen);
}

void case_stages(void)
{
    if ((suite.me | 1) < suite.size) {
        if (suite.me % 2 == 0) {
            show_stages(suite.me + 1);
        } else {
            see_stages(suite.me - 1);
        }
    }
    suite_meet();
}

enum { STRETCH = 96, GAP = 32, STRETCHES = WEFT_IOV_MAX, VECTOR_BYTES = 96 * 128 };

/* Stretches of theirs, and half as many of twice the length of ours, last ones first. */
static void make_vectors(struct iovec *theirs, struct iovec *ours, uint64_t there,
                         uint8_t *here)
{
    for (size_t i = 0; i < STRETCHES / 2; i++) {
        theirs[i] = (struct iovec){
            .iov_base = (void *)(uintptr_t)(there + i * (STRETCH + GAP)),
            .iov_len = STRETCH,
        };
    }
    for (size_t i = 0; i < STRETCHES / 4; i++) {
        ours[i] = (struct iovec){
            .iov_base = here + (STRETCHES / 4 - 1 - i) * 2 * STRETCH,
            .iov_len = 2 * (size_t)STRETCH,
        };
    }
}

/* Fetches what the neighbour has, changes it, and stores it back. */
static void move_by_vectors(uint32_t owner)
{
    static uint8_t mine[VECTOR_BYTES];
    struct weft_path *path = suite.path[owner];
    const struct weft_memory_ops *memory = weft_path_memory(path);
    struct iovec theirs[STRETCHES / 2];
    struct iovec ours[STRETCHES / 4];
    const struct weft_move move = {
        .theirs = theirs,
        .their_count = STRETCHES / 2,
        .ours = ours,
        .our_count = STRETCHES / 4,
    };

    make_vectors(theirs, ours, suite_await_word(owner), mine);
    if (memory != NULL) {
        check(memory->get(path, &move, NULL) == WEFT_OK);
        for (size_t i = 0; i < VECTOR_BYTES; i++) {
            const size_t at = VECTOR_BYTES - (i / (2 * STRETCH) + 1) * 2 * STRETCH +
                              i % (2 * STRETCH); /* in their order */

            check(mine[i] == (uint8_t)(at / STRETCH + at % STRETCH));
            mine[i] = (uint8_t)(mine[i] + 1);
        }
        check(memory->put(path, &move, NULL) == WEFT_OK);
    }
    suite_send_word(owner, memory != NULL);
}

static void lend_vectors(uint32_t mover)
{
    static uint8_t memory[STRETCHES / 2 * (STRETCH + GAP)];
    int added;

    for (size_t i = 0; i < sizeof(memory); i++) {
        const size_t in = i % (STRETCH + GAP);

        memory[i] = in < STRETCH ? (uint8_t)(i / (STRETCH + GAP) + in) : 0xaa;
    }
    suite_send_word(mover, (uint64_t)(uintptr_t)memory);
    added = suite_await_word(mover) != 0;
    for (size_t i = 0; i < sizeof(memory); i++) {
        const size_t in = i % (STRETCH + GAP);

        check(
            memory[i] ==
            (in < STRETCH ? (uint8_t)(i / (STRETCH + GAP) + in + (size_t)added) : 0xaa));
    }
}

void case_vectors(void)
{
    if ((suite.me | 1) < suite.size) {
        if (suite.me % 2 == 0) {
            lend_vectors(suite.me + 1);
        } else {
            move_by_vectors(suite.me - 1);
        }
    }
    suite_meet();
}
