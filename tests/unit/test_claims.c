/*
 * test_claims.c - pieces that two sides claim: each is handed out once, from both ends,
 * and exactly one side counts the last; pieces of a block; the layout of a board.
 */
#include "unit.h"

#include "coll/board.h"
#include "coll/pieces.h"

#include <pthread.h>
#include <stdlib.h>

enum { PIECES = 1000, ROUNDS = 200 };

static void pieces_come_from_both_ends(void **state)
{
    _Atomic uint64_t word;

    (void)state;
    weft_claims_reset(&word, 7);
    assert_int_equal(weft_claims_take(&word, 7, 3, WEFT_CLAIMS_FRONT), 0);
    assert_int_equal(weft_claims_take(&word, 7, 3, WEFT_CLAIMS_BACK), 2);
    assert_int_equal(weft_claims_take(&word, 7, 3, WEFT_CLAIMS_BACK), 1);
    assert_int_equal(weft_claims_take(&word, 7, 3, WEFT_CLAIMS_FRONT), WEFT_NO_PIECE);
    assert_int_equal(weft_claims_take(&word, 7, 3, WEFT_CLAIMS_BACK), WEFT_NO_PIECE);
    assert_false(weft_claims_count(&word, 3));
    assert_false(weft_claims_count(&word, 3));
    assert_true(weft_claims_count(&word, 3));
}

static void another_call_claims_nothing(void **state)
{
    _Atomic uint64_t word;

    (void)state;
    weft_claims_reset(&word, 8);
    assert_int_equal(weft_claims_take(&word, 7, 3, WEFT_CLAIMS_FRONT), WEFT_NO_PIECE);
    assert_false(weft_claims_take_all(&word, 7));
    assert_int_equal(weft_claims_take(&word, 8, 3, WEFT_CLAIMS_FRONT), 0);
}

static void all_can_be_taken_while_none_is(void **state)
{
    _Atomic uint64_t word;

    (void)state;
    weft_claims_reset(&word, 65537); /* the word has its lower half */
    assert_true(weft_claims_take_all(&word, 65537));
    assert_false(weft_claims_take_all(&word, 65537));
    assert_int_equal(weft_claims_take(&word, 65537, WEFT_PIECES_MAX, WEFT_CLAIMS_FRONT),
                     WEFT_NO_PIECE);
    weft_claims_reset(&word, 9);
    assert_int_equal(weft_claims_take(&word, 9, 2, WEFT_CLAIMS_BACK), 1);
    assert_false(weft_claims_take_all(&word, 9));
}

static void there_are_as_many_pieces_as_a_word_can_count(void **state)
{
    _Atomic uint64_t word;

    (void)state;
    weft_claims_reset(&word, UINT16_MAX);
    for (int i = 0; i < WEFT_PIECES_MAX; i++) {
        assert_int_equal(
            weft_claims_take(&word, UINT16_MAX, WEFT_PIECES_MAX, WEFT_CLAIMS_BACK),
            WEFT_PIECES_MAX - 1 - i);
        assert_int_equal(weft_claims_count(&word, WEFT_PIECES_MAX),
                         i == WEFT_PIECES_MAX - 1);
    }
}

/* ---- two at once ---- */

struct side {
    _Atomic uint64_t *word;
    enum weft_claims_end end;
    int lasts;
    int *taken; /* by both; each piece by one of them */
};

static void *work(void *argument)
{
    struct side *side = argument;
    int piece;

    while ((piece = weft_claims_take(side->word, 1, PIECES, side->end)) !=
           WEFT_NO_PIECE) {
        side->taken[piece]++;
        side->lasts += weft_claims_count(side->word, PIECES);
    }
    return NULL;
}

static void each_piece_is_taken_once(void **state)
{
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        int taken[PIECES] = {0};
        _Atomic uint64_t word;
        struct side front = {&word, WEFT_CLAIMS_FRONT, 0, taken};
        struct side back = {&word, WEFT_CLAIMS_BACK, 0, taken};
        pthread_t thread;

        weft_claims_reset(&word, 1);
        assert_int_equal(pthread_create(&thread, NULL, work, &back), 0);
        work(&front);
        pthread_join(thread, NULL);
        assert_int_equal(front.lasts + back.lasts, 1);
        for (int i = 0; i < PIECES; i++) {
            assert_int_equal(taken[i], 1);
        }
    }
}

/* ---- sizes ---- */

static void blocks_are_cut_into_whole_units(void **state)
{
    const struct weft_pieces one = weft_pieces_cut(100, 128, 8);
    const struct weft_pieces two = weft_pieces_cut(1000, 500, 24);
    const struct weft_pieces many = weft_pieces_cut(UINT64_C(1) << 40, 4096, 64);

    (void)state;
    assert_int_equal(one.count, 1);
    assert_int_equal(two.bytes, 504);
    assert_int_equal(two.count, 2);
    assert_true(many.count <= WEFT_PIECES_MAX);
    assert_int_equal(many.bytes % 64, 0);
    assert_true(many.bytes * (uint64_t)many.count >= UINT64_C(1) << 40);
    assert_true(many.bytes * (uint64_t)(many.count - 1) < UINT64_C(1) << 40);
}

static void each_pair_has_a_word_of_its_own(void **state)
{
    enum { N = 3 };
    struct weft_board *board = aligned_alloc(64, (weft_board_bytes(N) + 63) / 64 * 64);

    (void)state;
    assert_non_null(board);
    assert_ptr_equal(weft_board_pair(board, N, 0, 0), &board->entries[N]);
    for (int to = 0; to < N; to++) {
        for (int from = 0; from < N; from++) {
            assert_ptr_equal(weft_board_pair(board, N, from, to),
                             weft_board_pair(board, N, 0, 0) + to * N + from);
        }
    }
    assert_ptr_equal(weft_board_pair(board, N, N - 1, N - 1) + 1,
                     (char *)board + weft_board_bytes(N));
    free(board);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_come_from_both_ends),
        cmocka_unit_test(another_call_claims_nothing),
        cmocka_unit_test(all_can_be_taken_while_none_is),
        cmocka_unit_test(there_are_as_many_pieces_as_a_word_can_count),
        cmocka_unit_test(each_piece_is_taken_once),
        cmocka_unit_test(blocks_are_cut_into_whole_units),
        cmocka_unit_test(each_pair_has_a_word_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
