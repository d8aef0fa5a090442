/* test_mapping.c - which rank runs where, from PMI-1's text and from node numbers. */
#include "unit.h"

#include "wireup/kvs.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- memory that fails: linked with --wrap=calloc ---- */

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

/* Negative: no end. Volatile, as the compiler believes that calloc() cannot look at it.
 */
static volatile int allocations_left = -1;

void *__wrap_calloc(size_t count, size_t size)
{
    if (allocations_left == 0) {
        return NULL;
    }
    allocations_left -= allocations_left > 0;
    return __real_calloc(count, size);
}

enum { MOST = 64, MUTATIONS = 100000, LONGEST = 128 };

static struct weft_who asked(int rank, int size)
{
    const struct weft_who who = {
        .rank = rank, .size = size, .node = -7, .leader = -7, .local_rank = -7};

    return who;
}

/* Reads `text` as every rank of the job would; rank r must be on node nodes[r]. */
static void expect_nodes(const char *text, int size, const int *nodes)
{
    for (int rank = 0; rank < size; rank++) {
        struct weft_location map[MOST];
        struct weft_who who = asked(rank, size);
        struct weft_who same = asked(rank, size);
        uint32_t filled[MOST] = {0};
        int leader = -1;
        int most = 0;

        memset(map, 0xff, sizeof(map));
        assert_int_equal(weft_pmi1_read_mapping(text, &who, map), WEFT_OK);
        for (int r = 0; r < size; r++) {
            assert_int_equal(map[r].node, nodes[r]);
            assert_int_equal(map[r].local_rank, filled[nodes[r]]++);
            leader = leader < 0 && nodes[r] == nodes[rank] ? r : leader;
            most = nodes[r] > most ? nodes[r] : most;
        }
        assert_int_equal(map[size].node, UINT32_MAX); /* nothing behind the last */
        assert_int_equal(who.node, nodes[rank]);
        assert_int_equal(who.node_count, most + 1);
        assert_int_equal(who.local_rank, map[rank].local_rank);
        assert_int_equal(who.local_size, filled[nodes[rank]]);
        assert_int_equal(who.leader, leader);

        assert_int_equal(weft_pmi1_read_mapping(text, &same, NULL), WEFT_OK);
        assert_memory_equal(&same, &who, sizeof(who));
    }
}

static void one_block_fills_nodes_one_by_one(void **state)
{
    static const int one[] = {0, 0, 0, 0};
    static const int three[] = {0, 0, 1, 1, 2, 2};

    (void)state;
    expect_nodes("(vector,(0,1,4))", 4, one);
    expect_nodes("(vector,(0,3,2))", 6, three);
}

static void several_blocks_follow_each_other(void **state)
{
    static const int nodes[] = {0, 0, 0, 1, 2, 3, 3};

    (void)state;
    expect_nodes("(vector,(0,1,3),(1,2,1),(3,1,2))", 7, nodes);
}

static void the_text_repeats_until_all_are_placed(void **state)
{
    static const int cyclic[] = {0, 1, 0, 1, 0};
    static const int same[] = {0, 0, 0, 0, 0};
    static const int mixed[] = {0, 1, 1, 0, 1, 1, 0};

    (void)state;
    expect_nodes("(vector,(0,2,1))", 5, cyclic);
    expect_nodes("(vector,(0,1,1))", 5, same);
    expect_nodes("(vector,(0,1,1),(1,1,2))", 7, mixed);
}

static void what_the_text_places_beyond_the_job_is_ignored(void **state)
{
    static const int one[] = {0};
    static const int three[] = {0, 0, 1};

    (void)state;
    expect_nodes("(vector,(0,1,2147483647))", 1, one);
    expect_nodes("(vector,(0,16777216,2))", 3, three);
    expect_nodes("(vector,(0,4,2),(4,100,3))", 3, three);
}

static void nodes_are_numbered_by_their_first_ranks(void **state)
{
    static const int unused[] = {0, 0, 1, 1};
    static const int backwards[] = {0, 1, 1, 2};

    (void)state;
    expect_nodes("(vector,(5,2,2))", 4, unused);
    expect_nodes("(vector,(7,1,1),(3,1,2),(16777216,1,1))", 4, backwards);
}

static void spaces_do_not_matter(void **state)
{
    static const int nodes[] = {0, 0, 1, 1};

    (void)state;
    expect_nodes("(vector, ( 0 , 2 , 2 ) )", 4, nodes);
}

static void what_is_no_map_is_refused_and_changes_nothing(void **state)
{
    static const char *const bad[] = {
        "",
        "(",
        "(vec",
        "(vector",
        "(vector)",
        "(vector,)",
        "(vector,(",
        "(vector,(0",
        "(vector,(0,1",
        "(vector,(0,1,4",
        "(vector,(0,1,4)",
        "(vector,(0,1,4),",
        "(vector,(0,1,4),)",
        "(vector,(0,1,4),(1,1)",
        "(vector,(0,1,4))x",
        "(vector,(0,1,4)))",
        "(vector,(0,1,4)) ",
        "(vector,(0,1,))",
        "(vector,(,1,4))",
        "(vector,(0,1))",
        "(vector,(0,1,4,4))",
        "(vector,(0 1 4))",
        "(vector,(0;1;4))",
        "(vector(0,1,4))",
        "(vector,0,1,4)",
        "(matrix,(0,1,4))",
        "vector,(0,1,4)",
        " (vector,(0,1,4))",
        "(vector,(a,b,c))",
        "(vector,(0x1,1,4))",
        "(vector,(0,1.5,4))",
        "(vector,(-1,1,4))",
        "(vector,(0,-1,4))",
        "(vector,(0,1,-4))",
        "(vector,(0,0,4))",
        "(vector,(0,1,0))",
        "(vector,(0,0,0))",
        "(vector,(16777217,1,4))",
        "(vector,(0,16777217,4))",
        "(vector,(0,1,2147483648))",
        "(vector,(0,1,4294967300))", /* cut to 32 bits it would be 4 */
        "(vector,(4294967296,1,4))",
        "(vector,(0,4294967297,4))",
        "(vector,(0,1,99999999999999999999999999))",
        "(vector,(-99999999999999999999999999,1,4))",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct weft_who before = asked(1, 4);
        struct weft_who who = asked(1, 4);
        struct weft_location map[4];
        struct weft_location same[4];

        memset(map, 0x5a, sizeof(map));
        memset(same, 0x5a, sizeof(same));
        if (weft_pmi1_read_mapping(bad[i], &who, map) != WEFT_ERR_ARGUMENT) {
            fail_msg("not refused: %s", bad[i]);
        }
        assert_memory_equal(&who, &before, sizeof(who));
        assert_memory_equal(map, same, sizeof(map));
    }
}

static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Changes, cuts out or puts in a few characters; the text stays in its buffer. */
static void mutate(char *text, uint32_t *seed)
{
    static const char signs[] = "(),,0123456789- vector\n\xff";

    for (uint32_t n = 1 + next_random(seed) % 3; n > 0; n--) {
        size_t length = strlen(text);
        size_t at = next_random(seed) % (length + 1);
        char sign = signs[next_random(seed) % (sizeof(signs) - 1)];

        switch (next_random(seed) % 4) {
        case 0:
            text[at] = at < length ? sign : '\0';
            break;
        case 1:
            memmove(text + at, text + at + (at < length), length - at + (at == length));
            break;
        case 2:
            if (length + 2 < LONGEST) {
                memmove(text + at + 1, text + at, length - at + 1);
                text[at] = sign;
            }
            break;
        default:
            text[at] = '\0';
            break;
        }
    }
}

static void no_text_whatever_breaks_it(void **state)
{
    static const char *const good[] = {
        "(vector,(0,1,4))",
        "(vector,(0,2,2),(2,1,1))",
        "(vector,(0,1,1),(1,1,2),(7,3,1))",
    };
    uint32_t seed = 20240517;
    int accepted = 0;

    (void)state;
    for (int i = 0; i < MUTATIONS; i++) {
        char *text = calloc(1, LONGEST); /* its own block: an overrun is seen */
        int size = (int)(1 + next_random(&seed) % 16);
        struct weft_who who = asked((int)(next_random(&seed) % (uint32_t)size), size);
        struct weft_location *map = calloc((size_t)size, sizeof(*map));

        assert_true(text != NULL && map != NULL);
        strcpy(text, good[next_random(&seed) % 3]);
        mutate(text, &seed);
        if (weft_pmi1_read_mapping(text, &who, map) == WEFT_OK) {
            accepted++;
            assert_in_range(who.node, 0, who.node_count - 1);
            assert_in_range(who.local_rank, 0, who.local_size - 1);
            assert_in_range(who.leader, 0, who.rank);
            assert_int_equal(map[who.leader].node, who.node);
            assert_int_equal(map[who.leader].local_rank, 0);
            for (int r = 0; r < size; r++) {
                assert_in_range(map[r].node, 0, who.node_count - 1);
            }
        }
        free(text);
        free(map);
    }
    assert_in_range(accepted, MUTATIONS / 100, MUTATIONS * 9 / 10);
}

static void node_numbers_give_local_ranks_and_leaders(void **state)
{
    struct weft_location map[] = {{2, 9}, {0, 9}, {2, 9}, {1, 9}, {0, 9}, {2, 9}};
    static const uint32_t locals[] = {0, 0, 1, 0, 1, 2};
    static const int leaders[] = {0, 1, 0, 3, 1, 0};
    static const int sizes[] = {3, 2, 3, 1, 2, 3};

    (void)state;
    for (int rank = 0; rank < 6; rank++) {
        struct weft_who who = asked(rank, 6);

        assert_int_equal(weft_who_from_nodes(&who, map), WEFT_OK);
        for (int r = 0; r < 6; r++) {
            assert_int_equal(map[r].local_rank, locals[r]);
        }
        assert_int_equal(who.node, map[rank].node);
        assert_int_equal(who.node_count, 3);
        assert_int_equal(who.local_rank, locals[rank]);
        assert_int_equal(who.local_size, sizes[rank]);
        assert_int_equal(who.leader, leaders[rank]);
    }
}

static void what_lacks_memory_says_so(void **state)
{
    enum { NEEDED = 3 }; /* the nodes as read, their new numbers, and the local ranks */
    struct weft_location map[4] = {{0, 0}};

    (void)state;
    for (int left = 0; left <= NEEDED; left++) {
        struct weft_who who = asked(2, 4);

        allocations_left = left;
        assert_int_equal(weft_pmi1_read_mapping("(vector,(0,2,2))", &who, map),
                         left < NEEDED ? WEFT_ERR_NOMEM : WEFT_OK);
        allocations_left = -1;
        assert_int_equal(who.leader, left < NEEDED ? -7 : 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_block_fills_nodes_one_by_one),
        cmocka_unit_test(several_blocks_follow_each_other),
        cmocka_unit_test(the_text_repeats_until_all_are_placed),
        cmocka_unit_test(what_the_text_places_beyond_the_job_is_ignored),
        cmocka_unit_test(nodes_are_numbered_by_their_first_ranks),
        cmocka_unit_test(spaces_do_not_matter),
        cmocka_unit_test(what_is_no_map_is_refused_and_changes_nothing),
        cmocka_unit_test(no_text_whatever_breaks_it),
        cmocka_unit_test(node_numbers_give_local_ranks_and_leaders),
        cmocka_unit_test(what_lacks_memory_says_so),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
