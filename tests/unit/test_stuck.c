/*
 * test_stuck.c - who waits for whom, in tables that are made up.
 */
#include "stuck.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 1000, MANY = 20000, WORLD = 8, OTHER = 16, COLL = 1 };

static struct stuck_rank ranks[MANY]; /* most tests use the first MOST */
static struct bytes report;

/* ---- tables ---- */

static void set_comm(struct weft_doing *doing, uint32_t context, int size)
{
    doing->comm_size = (uint32_t)size;
    doing->awaits.context = context;
    snprintf(doing->comm, sizeof(doing->comm), "%s",
             context / 8 * 8 == WORLD ? "world" : "other");
    memcpy(doing->awaits.comm, doing->comm, sizeof(doing->awaits.comm));
}

static void put_outside(int rank, char state)
{
    ranks[rank] = (struct stuck_rank){.life = STUCK_LIVING, .state = state};
}

static void put_message(int rank, const char *call, enum weft_doing_what what, int peer,
                        int tag)
{
    struct stuck_rank *r = &ranks[rank];

    *r = (struct stuck_rank){.life = STUCK_LIVING, .state = 'S'};
    r->doing.what = what;
    r->doing.awaited = 1;
    snprintf(r->doing.call, sizeof(r->doing.call), "%s", call);
    r->doing.awaits.peer = r->doing.awaits.rank = peer;
    r->doing.awaits.tag = tag;
    set_comm(&r->doing, WORLD, MOST);
}

static void put_recv(int rank, int peer, int tag)
{
    put_message(rank, "MPI_Recv", WEFT_DOING_RECV, peer, tag);
}

static void put_collective(int rank, const char *call, uint32_t context, int size)
{
    struct stuck_rank *r = &ranks[rank];

    *r = (struct stuck_rank){.life = STUCK_LIVING, .state = 'S'};
    r->doing.what = WEFT_DOING_COLLECTIVE;
    r->doing.awaited = 1;
    snprintf(r->doing.call, sizeof(r->doing.call), "%s", call);
    set_comm(&r->doing, context | COLL, size);
}

/* The call's number on the communicator, its root and bytes. */
static void put_numbered(int rank, const char *call, int number, int root, uint64_t bytes)
{
    put_collective(rank, call, WORLD, 4);
    ranks[rank].doing.awaits.tag = number;
    ranks[rank].doing.awaits.peer = root;
    ranks[rank].doing.awaits.bytes = bytes;
}

static void put_unexpected(int rank, int from, int tag, uint32_t context)
{
    struct weft_doing *doing = &ranks[rank].doing;
    struct weft_doing_message *m = &doing->unexpected[doing->unexpected_count++];

    *m = (struct weft_doing_message){
        .context = context, .peer = from, .rank = from, .tag = tag, .bytes = 8};
    snprintf(m->comm, sizeof(m->comm), "%s", context == WORLD ? "world" : "other");
}

/* ---- what is said ---- */

static const char *say(int count)
{
    const struct stuck stuck = {ranks, count};

    bytes_free(&report);
    stuck_report(&stuck, &report);
    bytes_add(&report, "", 1);
    return report.at != NULL ? report.at : "";
}

static void assert_says(const char *text, const char *words)
{
    if (strstr(text, words) == NULL) {
        fail_msg("'%s' is not said in:\n%s", words, text);
    }
}

static void assert_silent(const char *text, const char *words)
{
    if (strstr(text, words) != NULL) {
        fail_msg("'%s' is said in:\n%s", words, text);
    }
}

static int lines_of(const char *text)
{
    int lines = 0;

    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

/* ---- tests ---- */

static void two_that_wait_for_each_other_are_a_cycle(void **state)
{
    const char *text;

    (void)state;
    put_recv(0, 1, 5);
    put_recv(1, 0, 6);
    put_recv(2, 0, 7);
    text = say(3);
    assert_says(text, "3 ranks in MPI_Recv on 'world': 0-2\n");
    assert_says(text, "rank 2 from 0, tag 7\n");
    assert_says(text, "cycle of 2: 0 waits for 1 (MPI_Recv, tag 5), 1 waits for 0 "
                      "(MPI_Recv, tag 6)\n");
    assert_silent(text, "cycle of 3");
}

static void put_site(int rank, const char *site)
{
    snprintf(ranks[rank].site, sizeof(ranks[rank].site), "%s", site);
}

static void ranks_in_one_call_are_told_apart_by_its_place(void **state)
{
    const char *text;

    (void)state;
    for (int r = 0; r < 6; r++) {
        put_recv(r, 5, 7);
        put_site(r, r < 3 ? "ring.c:57 (exchange)" : "ring.c:80 (main)");
    }
    put_site(5, "");
    text = say(6);
    assert_says(text, "3 ranks in MPI_Recv from 5, tag 7 on 'world': 0-2, at ring.c:57 "
                      "(exchange)\n");
    assert_says(
        text, "2 ranks in MPI_Recv from 5, tag 7 on 'world': 3-4, at ring.c:80 (main)\n");
    assert_says(text, "1 rank in MPI_Recv from 5, tag 7 on 'world': 5\n");
}

static void the_place_of_a_call_that_is_over_is_not_said(void **state)
{
    (void)state;
    put_outside(0, 'R');
    put_site(0, "ring.c:57 (exchange)");
    assert_silent(say(1), "ring.c");
}

static void ranks_of_one_stack_are_said_together(void **state)
{
    const char *text;

    (void)state;
    for (int r = 0; r < 40; r++) {
        put_outside(r, 'R');
        snprintf(ranks[r].stack, sizeof(ranks[r].stack), "f%d in program",
                 r < 20 ? 0 : r);
    }
    text = say(40);
    assert_says(text, "40 ranks running outside MPI: computes or loops: 0-39\n"
                      "      ranks 0-19: f0 in program\n"
                      "      rank 20: f20 in program\n");
    assert_int_equal(lines_of(text), 1 + 8);
}

static void a_chain_is_no_cycle_and_its_end_is_named(void **state)
{
    const char *text;

    (void)state;
    for (int r = 0; r < 9; r++) {
        put_recv(r, r + 1, 5);
    }
    put_outside(9, 'R');
    text = say(10);
    assert_silent(text, "cycle");
    assert_says(text, "9 ranks wait for rank 9, which is running outside MPI");
}

static void a_long_cycle_is_shortened(void **state)
{
    const char *text;

    (void)state;
    for (int r = 0; r < MOST; r++) {
        put_recv(r, (r + 1) % MOST, 5);
    }
    text = say(MOST);
    assert_says(text, "1000 ranks in MPI_Recv on 'world': 0-999\n");
    assert_says(text, "cycle of 1000: 0 waits for 1 ");
    assert_says(text, "and 992 more\n");
    assert_true(lines_of(text) < 20);
}

static void the_odd_one_out_of_a_thousand_is_named(void **state)
{
    const char *text;

    (void)state;
    for (int r = 0; r < MOST; r++) {
        put_collective(r, "MPI_Barrier", WORLD, MOST);
    }
    put_recv(17, 3, 7);
    text = say(MOST);
    assert_says(text, "999 ranks in MPI_Barrier on 'world': 0-16, 18-999\n");
    assert_says(text, "1 rank in MPI_Recv from 3, tag 7 on 'world': 17\n");
    assert_says(text, "odd one out: 999 ranks are in MPI_Barrier on 'world', rank 17 is "
                      "in MPI_Recv from 3, tag 7 on 'world'\n");
    assert_says(text, "17 waits for 3 (MPI_Recv, tag 7)");
    assert_true(lines_of(text) < 8);
}

static void every_second_of_a_thousand_is_missing(void **state)
{
    const char *text;

    (void)state;
    for (int r = 0; r < MOST; r++) {
        if (r % 2 == 0) {
            put_collective(r, "MPI_Barrier", WORLD, MOST);
        } else {
            put_outside(r, 'S');
        }
    }
    text = say(MOST);
    assert_says(text, "MPI_Barrier on 'world': 500 of 1000 members have come; missing: ");
    assert_says(text, "500 ranks asleep outside MPI: 1, 3, 5");
    assert_says(text, ", ...\n");
    assert_true(lines_of(text) < 12);
}

static void members_that_call_different_collectives_are_a_near_miss(void **state)
{
    const char *text;

    (void)state;
    for (int r = 0; r < 4; r++) {
        put_collective(r, r == 1 ? "MPI_Bcast" : "MPI_Barrier", WORLD, 4);
    }
    text = say(4);
    assert_says(text, "near miss on 'world': MPI_Barrier is called by 0, 2-3, and "
                      "MPI_Bcast by 1;");
    assert_silent(text, "do they agree");
    for (int r = 0; r < 4; r++) {
        put_collective(r, "MPI_Bcast", WORLD, 4);
    }
    text = say(4);
    assert_says(text, "all 4 members of 'world' are in MPI_Bcast: do they agree");
    assert_silent(text, "near miss");
}

/* In another communicator the receives of the collective tell who is missing. */
static void who_is_missing_in_a_part_is_told_by_receives(void **state)
{
    const char *text;

    (void)state;
    for (int r = 0; r < 6; r++) {
        put_collective(r, "MPI_Reduce", OTHER, 4);
        ranks[r].doing.comm_lead = 0;
    }
    ranks[2].doing.posted[0] =
        (struct weft_doing_message){.context = OTHER | COLL, .peer = 1, .rank = 5};
    ranks[2].doing.posted[1] =
        (struct weft_doing_message){.context = OTHER | COLL, .peer = 0, .rank = 0};
    ranks[2].doing.posted_count = 2;
    put_outside(3, 'R');
    put_outside(4, 'R');
    put_outside(5, 'S');
    text = say(6);
    assert_says(text, "odd one out: 3 ranks are in MPI_Reduce on 'other', rank 5 is "
                      "asleep outside MPI\n");
    assert_silent(text, "rank 3 is");
    assert_silent(text, "cycle");
    /* Of two communicators with one context, each speaks for itself. */
    ranks[1].doing.comm_lead = 1;
    assert_says(say(6), "MPI_Reduce on 'other': 1 of 4 members have come");
}

static void a_message_that_differs_once_is_a_near_miss(void **state)
{
    const struct {
        int from;
        int tag;
        uint32_t context;
        const char *words; /* NULL: it is none */
    } cases[] = {
        {1, 6, WORLD, "from 1, tag 6 on 'world' (8 bytes) waits: the tag differs"},
        {2, 5, WORLD, "from 2, tag 5 on 'world' (8 bytes) waits: the source differs"},
        {1, 5, OTHER, "from 1, tag 5 on 'other' (8 bytes) waits: the communicator "},
        {2, 6, WORLD, NULL},
        {2, 5, OTHER, NULL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *text;

        put_recv(0, 1, 5);
        put_unexpected(0, 3, 9, OTHER); /* far from it */
        put_unexpected(0, cases[i].from, cases[i].tag, cases[i].context);
        put_outside(1, 'R');
        text = say(2);
        if (cases[i].words != NULL) {
            assert_says(text, "near miss at rank 0: it receives from 1, tag 5 on "
                              "'world', and a message ");
            assert_says(text, cases[i].words);
        } else {
            assert_silent(text, "near miss");
            assert_says(text, "rank 0 keeps 2 unexpected messages, the "
                              "first one from 3, tag 9 on 'other' (8 bytes)\n");
        }
    }
}

static void a_wildcard_fits_all_but_the_communicator(void **state)
{
    (void)state;
    put_recv(0, -1, -2);
    put_unexpected(0, 3, 9, OTHER);
    put_recv(1, 0, 1);
    assert_says(say(2), "the communicator differs");
    assert_says(report.at,
                "rank 0 waits for a message from any rank, and nobody is left");
    put_outside(1, 'R');
    assert_silent(say(2), "nobody is left");
}

static void a_full_store_is_told(void **state)
{
    (void)state;
    put_recv(0, 1, 5);
    put_unexpected(0, 2, 9, WORLD);
    ranks[0].doing.unexpected_count = 2846;
    ranks[0].doing.is_full = 1;
    put_outside(1, 'S');
    assert_says(say(2), "rank 0 keeps 2846 unexpected messages, ");
    assert_says(report.at, "there is no room for more, so their senders wait\n");
}

static void who_spins_and_who_has_spun_are_told_apart(void **state)
{
    (void)state;
    put_message(0, "MPI_Iprobe", WEFT_DOING_PROBE, 1, 3);
    ranks[0].doing.is_spinning = 1;
    ranks[0].is_polling = true;
    put_recv(1, 0, 1);
    assert_says(say(2), "1 rank spinning in MPI_Iprobe from 1, tag 3 on 'world': 0\n");
    ranks[0].doing.what = WEFT_DOING_NOTHING; /* it has not said more yet */
    assert_says(say(2),
                "1 rank calling MPI_Test, MPI_Iprobe or the like again and again: 0");
    ranks[0].doing.what = WEFT_DOING_PROBE;
    ranks[0].is_polling = false; /* it has left the loop, and computes */
    ranks[0].state = 'R';
    assert_says(say(2), "1 rank running outside MPI: computes or loops: 0\n");
}

/* The rest of `doing` has the call then. */
static void a_call_that_waits_for_no_rank_is_named(void **state)
{
    (void)state;
    for (int r = 0; r < 3; r++) {
        put_outside(r, "SRT"[r]);
        snprintf(ranks[r].doing.call, sizeof(ranks[r].doing.call), "MPI_File_sync");
    }
    snprintf(ranks[0].site, sizeof(ranks[0].site), "save.c:7");
    put_recv(3, 0, 1);
    assert_says(say(4), "1 rank asleep in MPI_File_sync: 0, at save.c:7\n");
    assert_says(report.at, "1 rank running in MPI_File_sync: 1\n");
    assert_says(report.at, "1 rank stopped by a signal, in MPI_File_sync: 2\n");
    assert_says(report.at, "1 rank waits for rank 0, which is asleep in MPI_File_sync\n");
}

static void who_waits_for_any_of_several_waits_for_no_one(void **state)
{
    (void)state;
    put_message(0, "MPI_Waitany", WEFT_DOING_RECV, 1, 3);
    ranks[0].doing.awaited = 4;
    put_recv(1, 0, 1);
    assert_silent(say(2), "cycle");
    assert_says(report.at, "in MPI_Waitany for a receive from 1, tag 3, and 3 more "
                           "requests on 'world': 0\n");
    put_message(0, "MPI_Waitall", WEFT_DOING_RECV, 1, 3);
    ranks[0].doing.awaited = 4;
    assert_says(say(2), "cycle of 2");
}

static void all_lives_have_their_words(void **state)
{
    const char *text;

    (void)state;
    ranks[0] = (struct stuck_rank){.life = STUCK_NOT_BEGUN, .state = 'S'};
    ranks[1] = (struct stuck_rank){.life = STUCK_FINALIZED, .state = 'R'};
    ranks[2] = (struct stuck_rank){.life = STUCK_ENDED};
    ranks[3] = (struct stuck_rank){.life = STUCK_DEAD, .why = "killed by signal 9"};
    ranks[4] = (struct stuck_rank){.life = STUCK_SILENT};
    put_outside(5, 'T');
    put_recv(6, 5, 1);
    ranks[6].state = 'T';
    put_message(7, "MPI_Ssend", WEFT_DOING_SEND, 2, 1);
    ranks[7].doing.awaits.peer = 0;
    text = say(8);
    assert_says(text, "1 rank asleep before MPI_Init: 0\n");
    assert_says(text, "1 rank running after MPI_Finalize: computes or loops: 1\n");
    assert_says(text, "1 rank ended: 2\n");
    assert_says(text, "1 rank dead: killed by signal 9: 3\n");
    assert_says(text, "1 rank on a host that does not answer: 4\n");
    assert_says(text, "1 rank stopped by a signal, outside MPI: 5\n");
    assert_says(text, "1 rank stopped by a signal, in MPI_Recv from 5, tag 1");
    assert_says(text, "1 rank in MPI_Ssend to 0 (rank 2 of the job), tag 1 on 'world'");
    assert_says(text, "1 rank waits for rank 2, which is ended\n");
}

/* Ranks, counts and peers that no rank has: nothing is read beyond the table. */
static void what_makes_no_sense_harms_nobody(void **state)
{
    (void)state;
    put_recv(0, 4711, 5);
    ranks[0].doing.unexpected_count = 99;
    ranks[0].doing.posted_count = 99;
    ranks[0].doing.sending_count = 99;
    put_collective(1, "MPI_Barrier", OTHER, 0);
    ranks[1].doing.posted_count = 99;
    assert_says(say(2), "1 rank in MPI_Recv from 4711, tag 5");
}

/* ---- who waited for a rank that has failed ---- */

static int count_waiters(int count, int rank, bool *marks)
{
    const struct stuck stuck = {ranks, count};
    int waiters = 0;

    memset(marks, 0, MOST * sizeof(*marks));
    stuck_mark_waiters(&stuck, rank, marks);
    for (int r = 0; r < count; r++) {
        waiters += marks[r];
    }
    return waiters;
}

static void a_chain_of_receives_waits_for_the_dead_and_others_do_not(void **state)
{
    bool marks[MOST];

    (void)state;
    put_recv(0, 3, 1);
    put_recv(1, 0, 1);
    put_recv(2, -1, 1); /* from any rank */
    ranks[3] = (struct stuck_rank){.life = STUCK_DEAD};
    put_outside(4, 'R');
    put_recv(5, 4, 1);
    assert_int_equal(count_waiters(6, 3, marks), 2);
    assert_true(marks[0] && marks[1]);
}

static void all_of_a_thousand_in_a_barrier_wait_for_the_dead(void **state)
{
    bool marks[MOST];

    (void)state;
    for (int r = 0; r < MOST; r++) {
        if (r < 100) {
            put_outside(r, 'R'); /* more than a rank has edges */
        } else {
            put_collective(r, "MPI_Barrier", WORLD, MOST);
        }
    }
    ranks[700] = (struct stuck_rank){.life = STUCK_DEAD};
    assert_int_equal(count_waiters(MOST, 700, marks), MOST - 101);
    assert_false(marks[0] || marks[700]);
}

/* Only one of them has a receive from the dead; the rest of the tree hangs on that one.
 */
static void a_collective_of_a_part_waits_as_a_whole(void **state)
{
    bool marks[MOST];

    (void)state;
    for (int r = 0; r < 4; r++) {
        put_collective(r, "MPI_Bcast", OTHER, 5);
    }
    ranks[0].doing.posted_count = 1;
    ranks[0].doing.posted[0] =
        (struct weft_doing_message){.context = OTHER | COLL, .peer = 4, .rank = 4};
    ranks[4] = (struct stuck_rank){.life = STUCK_DEAD};
    put_collective(5, "MPI_Bcast", WORLD + 8 * 4, 2);
    assert_int_equal(count_waiters(6, 4, marks), 4);
    assert_false(marks[5]);
}

/* ---- many ranks ---- */

static void put_one_of_many(int rank, int table)
{
    switch (table) {
    case 0: /* one of them computes */
        put_collective(rank, "MPI_Allreduce", WORLD, MANY);
        break;
    case 1: /* a chain, and in the last case a ring */
    case 2:
        put_recv(rank, table == 2 ? (rank + MANY - 1) % MANY : rank + 1, 5);
        break;
    case 3: /* a communicator for every three ranks, of which one is missing */
        put_collective(rank, "MPI_Bcast", OTHER + 8 * (uint32_t)(rank / 3), 3);
        if (rank % 3 == 0) {
            put_recv(rank, rank + 1, 5);
        }
        break;
    default: /* pairs, and all in places of their own */
        put_recv(rank, rank ^ 1, 5);
        snprintf(ranks[rank].site, sizeof(ranks[rank].site), "a.c:%d", rank);
        break;
    }
}

/* It is some 30; if each rank was compared with each other one, it would be 20,000. */
static void a_rank_more_is_less_than_a_hundred_steps_more(void **state)
{
    static bool marks[MANY];
    const struct stuck stuck = {ranks, MANY};

    (void)state;
    for (int table = 0; table < 5; table++) {
        for (int r = 0; r < MANY; r++) {
            put_one_of_many(r, table);
        }
        if (table < 2) {
            put_outside(MANY - 1, 'R');
        }
        stuck_steps = 0;
        assert_true(lines_of(say(MANY)) < 60);
        assert_in_range(stuck_steps, MANY, 100UL * MANY);
        stuck_steps = 0;
        stuck_mark_waiters(&stuck, MANY - 1, marks);
        assert_in_range(stuck_steps, MANY, 100UL * MANY);
    }
}

static void members_that_have_left_a_collective_are_not_missing(void **state)
{
    const char *text;

    (void)state;
    put_numbered(0, "MPI_Barrier", 3, -1, 0);
    put_outside(1, 'S');
    put_numbered(2, "MPI_Reduce", 2, 2, 40);
    put_numbered(3, "MPI_Barrier", 3, -1, 0);
    text = say(4);
    assert_says(text, "MPI_Reduce on 'world': 3 of 4 members have come; missing: 1\n");
    assert_says(text, "MPI_Barrier on 'world': 2 of 4 members have come; missing: 1-2\n");
    assert_says(text, "in MPI_Reduce with root 2 of 40 bytes on 'world': 2");
    assert_silent(text, "cycle");
    put_numbered(1, "MPI_Reduce", 2, 2, 40); /* all members are in a collective */
    text = say(4);
    assert_says(text, "MPI_Barrier on 'world': 2 of 4 members have come; missing: 1-2\n");
    assert_silent(text, "near miss");
}

/* Each rank is in a call of its own: no report compares each with each other one. */
static void many_numbers_cost_no_more_than_many_ranks(void **state)
{
    (void)state;
    for (int r = 0; r < MANY; r++) {
        put_collective(r, "MPI_Barrier", WORLD, MANY);
        ranks[r].doing.awaits.tag = r + 1;
    }
    stuck_steps = 0;
    (void)say(MANY);
    assert_true(stuck_steps < 100ul * MANY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_that_wait_for_each_other_are_a_cycle),
        cmocka_unit_test(ranks_in_one_call_are_told_apart_by_its_place),
        cmocka_unit_test(the_place_of_a_call_that_is_over_is_not_said),
        cmocka_unit_test(ranks_of_one_stack_are_said_together),
        cmocka_unit_test(a_chain_is_no_cycle_and_its_end_is_named),
        cmocka_unit_test(a_long_cycle_is_shortened),
        cmocka_unit_test(the_odd_one_out_of_a_thousand_is_named),
        cmocka_unit_test(every_second_of_a_thousand_is_missing),
        cmocka_unit_test(members_that_call_different_collectives_are_a_near_miss),
        cmocka_unit_test(who_is_missing_in_a_part_is_told_by_receives),
        cmocka_unit_test(a_message_that_differs_once_is_a_near_miss),
        cmocka_unit_test(a_wildcard_fits_all_but_the_communicator),
        cmocka_unit_test(a_full_store_is_told),
        cmocka_unit_test(who_spins_and_who_has_spun_are_told_apart),
        cmocka_unit_test(a_call_that_waits_for_no_rank_is_named),
        cmocka_unit_test(who_waits_for_any_of_several_waits_for_no_one),
        cmocka_unit_test(all_lives_have_their_words),
        cmocka_unit_test(what_makes_no_sense_harms_nobody),
        cmocka_unit_test(a_chain_of_receives_waits_for_the_dead_and_others_do_not),
        cmocka_unit_test(all_of_a_thousand_in_a_barrier_wait_for_the_dead),
        cmocka_unit_test(a_collective_of_a_part_waits_as_a_whole),
        cmocka_unit_test(a_rank_more_is_less_than_a_hundred_steps_more),
        cmocka_unit_test(members_that_have_left_a_collective_are_not_missing),
        cmocka_unit_test(many_numbers_cost_no_more_than_many_ranks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
