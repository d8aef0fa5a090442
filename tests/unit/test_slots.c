/*
 * test_slots.c - memory that members of a communicator share, with all members in one
 * process. Where a member would wait, the next one acts: the test stands in front of the
 * engine's wait.
 */
#include "p2p_fixture.h"

#include "base/wait.h"
#include "coll/slots.h"
#include "engine/lock.h"

enum { MEMBERS = 3, WORD = 77, LONG = WEFT_SLOT_INLINE + 1 };

static const struct weft_wait_reason why = {"test", "slots", MPI_ANY_SOURCE, MPI_ANY_TAG,
                                            0};

static struct weft_group group;
static struct weft_comm comms[MEMBERS];
static struct weft_slots *slots[MEMBERS];
static struct weft_extent shown; /* by the owner, to all others */
static int able;                 /* members that could map it, as they say */
static int asked;
static void (*next)(void); /* what happens while a member waits */
static int waits;

void __wrap_weft_engine_wait_word(_Atomic uint32_t *word, uint32_t old,
                                  _Atomic uint32_t *sleepers,
                                  const struct weft_wait_reason *reason);

void __wrap_weft_engine_wait_word(_Atomic uint32_t *word, uint32_t old,
                                  _Atomic uint32_t *sleepers,
                                  const struct weft_wait_reason *reason)
{
    void (*const act)(void) = next;

    (void)word;
    (void)old;
    (void)sleepers;
    (void)reason;
    waits++;
    assert_non_null(act);
    next = NULL;
    weft_unlock();
    act();
    weft_lock();
}

static enum weft_rc bcast(struct weft_comm *comm, const char *name, void *buffer,
                          size_t bytes, int root)
{
    (void)name;
    assert_int_equal(bytes, sizeof(shown));
    asked++;
    if (comm->rank == root) {
        memcpy(&shown, buffer, bytes);
    }
    memcpy(buffer, &shown, bytes);
    return WEFT_OK;
}

static enum weft_rc sum(struct weft_comm *comm, const char *name, const int *mine,
                        int *all, size_t count)
{
    (void)comm;
    (void)name;
    assert_int_equal(count, 1);
    *all = able < MEMBERS ? able : *mine * MEMBERS;
    return WEFT_OK;
}

static uint64_t owner(uint32_t context)
{
    (void)context;
    return weft_process(FIXTURE_JOB, 0);
}

static int open_members(void **state)
{
    if (fixture_open(state) != 0) {
        return -1;
    }
    group = (struct weft_group){.size = MEMBERS, .map = fixture_comm.map};
    for (int rank = 0; rank < MEMBERS; rank++) {
        comms[rank] = fixture_comm;
        comms[rank].rank = rank;
        comms[rank].size = comms[rank].peers = MEMBERS;
        comms[rank].group = &group;
    }
    able = MEMBERS;
    asked = waits = 0;
    next = NULL;
    weft_wait_set_crowded(true);
    weft_slots_open(owner);
    return 0;
}

static void make_slots(void)
{
    const struct weft_slots_ask ask = {bcast, sum};

    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_int_equal(weft_slots_of(&comms[rank], "test", &ask, &slots[rank]),
                         WEFT_OK);
    }
}

static int close_members(void **state)
{
    weft_lock();
    for (int rank = MEMBERS - 1; rank >= 0; rank--) {
        const struct weft_extent extent = weft_slots_leave(&comms[rank]);

        assert_int_equal(extent.bytes > 0, rank == 0 && slots[0] != NULL);
        weft_slots_give(extent);
    }
    weft_unlock();
    return fixture_close(state);
}

/* ---- making ---- */

static void all_members_have_them_or_none(void **state)
{
    (void)state;
    able = MEMBERS - 1;
    make_slots();
    for (int rank = 0; rank < MEMBERS; rank++) {
        assert_null(slots[rank]);
        assert_false(weft_slots_are_made(&comms[rank]));
    }
    able = MEMBERS;
    make_slots(); /* nobody asks again */
    assert_null(slots[0]);
    assert_int_equal(asked, MEMBERS);
}

static void members_of_another_node_have_none(void **state)
{
    (void)state;
    weft_segment_map(&fixture_job.segment)[1].node = 1;
    make_slots();
    assert_null(slots[0]);
    assert_int_equal(asked, 0);
}

/* ---- data ---- */

static void give(int rank, char fill, uint64_t bytes)
{
    assert_int_equal(weft_slots_begin(slots[rank], WORD, &why), WEFT_OK);
    memset(weft_slots_place(slots[rank], bytes), fill, bytes);
    weft_slots_show(slots[rank], bytes);
}

static void take(int rank, int from, char fill, uint64_t bytes)
{
    uint64_t got;
    const char *data;

    assert_int_equal(weft_slots_begin(slots[rank], WORD, &why), WEFT_OK);
    assert_int_equal(weft_slots_await(slots[rank], from, &why), WEFT_OK);
    data = weft_slots_data(slots[rank], from, &got);
    assert_int_equal(got, bytes);
    for (uint64_t i = 0; i < bytes; i++) {
        assert_int_equal(data[i], fill);
    }
    weft_slots_end(slots[rank]);
}

static void members_read_what_one_has_shown(void **state)
{
    static const uint64_t sizes[] = {0, 1, WEFT_SLOT_INLINE, LONG, WEFT_SLOT_BYTES};

    (void)state;
    make_slots();
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        const char fill = (char)('a' + i);

        give(1, fill, sizes[i]);
        weft_slots_end(slots[1]);
        take(0, 1, fill, sizes[i]);
        take(2, 1, fill, sizes[i]);
    }
    assert_int_equal(waits, 0);
}

static void show_from_one(void)
{
    give(1, 'x', LONG);
    weft_slots_end(slots[1]);
}

static void a_member_waits_for_a_line_that_is_not_shown(void **state)
{
    (void)state;
    make_slots();
    next = show_from_one;
    take(0, 1, 'x', LONG);
    assert_int_equal(waits, 1);
}

static void read_the_first(void)
{
    take(2, 1, 'a', 8);
}

/* Rank 2 is behind by as many calls as there are rounds. */
static void a_line_is_written_again_when_all_have_read_it(void **state)
{
    (void)state;
    make_slots();
    for (int i = 0; i < WEFT_SLOTS_ROUNDS; i++) {
        give(1, (char)('a' + i), 8);
        weft_slots_end(slots[1]);
        take(0, 1, (char)('a' + i), 8);
    }
    assert_int_equal(waits, 0);
    next = read_the_first;
    give(1, 'z', 8);
    assert_int_equal(waits, 1);
    weft_slots_end(slots[1]);
    take(2, 1, 'b', 8);
}

/* ---- meetings ---- */

static int folds;

static bool fold(struct weft_slots *in, const void *call)
{
    (void)call;
    folds++;
    strcpy(weft_slots_result(in, 8), "result");
    return true;
}

static void meet(int rank)
{
    give(rank, (char)('0' + rank), 1);
    assert_int_equal(weft_slots_meet(slots[rank], &why, fold, NULL), WEFT_OK);
    assert_string_equal(weft_slots_result(slots[rank], 8), "result");
    for (int from = 0; from < MEMBERS; from++) {
        uint64_t bytes;
        const char *data = weft_slots_data(slots[rank], from, &bytes);

        assert_int_equal(bytes, 1);
        assert_int_equal(data[0], '0' + from);
    }
    weft_slots_end(slots[rank]);
}

static void meet_last(void)
{
    meet(1);
}

static void meet_second(void)
{
    next = meet_last;
    meet(2);
}

static uint32_t words[MEMBERS];
static enum weft_rc found[MEMBERS];

static void meet_with_word(int rank)
{
    assert_int_equal(weft_slots_begin(slots[rank], words[rank], &why), WEFT_OK);
    weft_slots_show(slots[rank], 0);
    found[rank] = weft_slots_meet(slots[rank], &why, NULL, NULL);
}

static void meet_with_word_last(void)
{
    meet_with_word(1);
}

static void meet_with_word_second(void)
{
    next = meet_with_word_last;
    meet_with_word(2);
}

/* Whoever is the last to come, all members learn of it. */
static void a_meeting_of_different_calls_is_an_error_for_all(void **state)
{
    (void)state;
    for (int other = 0; other < MEMBERS; other++) {
        make_slots();
        for (int rank = 0; rank < MEMBERS; rank++) {
            words[rank] = rank == other ? WORD + 1 : WORD;
        }
        next = meet_with_word_second;
        meet_with_word(0);
        for (int rank = 0; rank < MEMBERS; rank++) {
            assert_int_equal(found[rank], WEFT_ERR_DISAGREE);
            weft_slots_end(slots[rank]);
        }
    }
}

static void the_line_of_another_call_is_an_error(void **state)
{
    (void)state;
    make_slots();
    assert_int_equal(weft_slots_begin(slots[0], WORD, &why), WEFT_OK);
    weft_slots_show(slots[0], 0);
    assert_int_equal(weft_slots_begin(slots[1], WORD + 1, &why), WEFT_OK);
    assert_int_equal(weft_slots_await(slots[1], 0, &why), WEFT_ERR_DISAGREE);
}

static void the_last_to_come_folds_for_all(void **state)
{
    (void)state;
    make_slots();
    assert_true(weft_slots_meets(slots[0]));
    for (int i = 1; i <= 3; i++) {
        folds = 0;
        next = meet_second;
        meet(0);
        assert_int_equal(folds, 1);
        assert_int_equal(waits, 2 * i);
    }
}

/* ---- failures ---- */

static void look_who_is_missing(void)
{
    int missing;

    weft_lock();
    assert_ptr_equal(weft_slots_waiting(&missing), &comms[0]);
    assert_int_equal(missing, 1);
    comms[0].is_revoked = true; /* as when a member has failed */
    weft_unlock();
}

static void nobody_waits_for_ever(void **state)
{
    (void)state;
    make_slots();
    next = look_who_is_missing;
    assert_int_equal(weft_slots_begin(slots[0], WORD, &why), WEFT_OK);
    assert_int_equal(weft_slots_await(slots[0], 1, &why), WEFT_ERR_PROC_FAILED);
    assert_int_equal(waits, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_members, close_members)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(all_members_have_them_or_none),
        TEST(members_of_another_node_have_none),
        TEST(members_read_what_one_has_shown),
        TEST(a_member_waits_for_a_line_that_is_not_shown),
        TEST(a_line_is_written_again_when_all_have_read_it),
        TEST(the_last_to_come_folds_for_all),
        TEST(a_meeting_of_different_calls_is_an_error_for_all),
        TEST(the_line_of_another_call_is_an_error),
        TEST(nobody_waits_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
