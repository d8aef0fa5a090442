/*
 * test_box.c - the black box: rows, their way through frames, lines and the file, of
 * ranks that are made up.
 */
#include "box.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { RANKS = 4, MANY = 1000, WORLD = 0, OTHER = 24 };

static const uint32_t NONE = WEFT_TRACE_NO_CONTEXT;

static const uint64_t MS = 1000000;
static const uint64_t END = UINT64_C(1700000000000000000);

static struct box box;
static struct bytes text;

/* ---- tables ---- */

static int open_box(void **state)
{
    (void)state;
    return box_open(&box, RANKS) ? 0 : -1;
}

static int close_box(void **state)
{
    (void)state;
    box_close(&box);
    bytes_free(&text);
    return 0;
}

/* Adds an event that began some time before the end. */
static void put(int rank, const char *call, uint32_t context, int peer, int tag,
                uint32_t bytes, uint64_t before)
{
    struct box_rank *row = &box.ranks[rank];

    row->life = BOX_OPEN;
    row->ended = END;
    row->events = realloc(row->events, (size_t)(row->count + 1) * sizeof(*row->events));
    assert_non_null(row->events);
    row->events[row->count++] = (struct box_event){.when = END - before,
                                                   .context = context,
                                                   .peer = peer,
                                                   .tag = tag,
                                                   .bytes = bytes,
                                                   .call = weft_trace_call_of(call)};
}

static void put_site(int rank, const char *site)
{
    box.ranks[rank].events[box.ranks[rank].count - 1].site = box_site(&box, site);
}

static const char *say(int first, int most)
{
    bytes_free(&text);
    box_report(&box, first, most, &text);
    bytes_add(&text, "", 1);
    return text.at;
}

static void assert_says(const char *all, const char *part)
{
    if (strstr(all, part) == NULL) {
        fail_msg("\"%s\" is not in:\n%s", part, all);
    }
}

/* ---- words ---- */

static void ages_have_three_digits(void **state)
{
    static const struct {
        uint64_t ns;
        const char *text;
    } table[] = {
        {0, "0.00 us"},         {740, "0.74 us"},
        {12300, "12.3 us"},     {999000, "999 us"},
        {12345678, "12.3 ms"},  {250 * 1000000, "250 ms"},
        {1234567890, "1.23 s"}, {UINT64_C(86400000000000), "86400 s"},
    };
    char age[24];

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        box_print_age(age, sizeof(age), table[i].ns);
        assert_string_equal(age, table[i].text);
    }
}

static void the_open_call_and_those_before_it_are_said(void **state)
{
    (void)state;
    put(1, "MPI_Irecv", WORLD, 0, 5, 8, 1200 * MS);
    put_site(1, "solver.c:110 (exchange)");
    put(1, "MPI_Send", WORLD, 2, 6, 16, 30 * MS);
    put(1, "MPI_Send", WORLD, 2, 6, 16, 20 * MS);
    put(1, "MPI_Wait", NONE, WEFT_DOING_UNKNOWN, -2, 0, 12300000);
    put_site(1, "solver.c:118 (exchange)");
    box.ranks[1].is_open = true;
    assert_string_equal(
        say(1, 8),
        "  rank 1 was in MPI_Wait; its last calls, and how long before its end they "
        "began:\n"
        "      1.20 s  MPI_Irecv     from 0, tag 5, 8 bytes on 'MPI_COMM_WORLD'  "
        "solver.c:110 (exchange)\n"
        "     20.0 ms  MPI_Send x 2  to 2, tag 6, 16 bytes on 'MPI_COMM_WORLD'\n"
        "     12.3 ms  MPI_Wait                                                  "
        "solver.c:118 (exchange)\n"
        "  3 ranks were on a host that does not answer: 0, 2-3\n");
}

static void what_a_wait_is_for_is_said_if_the_rank_has_written_it(void **state)
{
    struct weft_doing *doing = &box.ranks[1].doing;

    (void)state;
    put(1, "MPI_Wait", NONE, WEFT_DOING_UNKNOWN, -2, 0, MS);
    box.ranks[1].is_open = true;
    doing->what = WEFT_DOING_RECV;
    doing->awaited = 1;
    doing->awaits = (struct weft_doing_message){
        .context = OTHER, .peer = 1, .rank = 3, .tag = 9, .bytes = 8};
    snprintf(doing->call, sizeof(doing->call), "MPI_Wait");
    snprintf(doing->comm, sizeof(doing->comm), "rows");
    assert_says(say(1, 8), "1.00 ms  MPI_Wait  for a receive from 1 (rank 3 of the job), "
                           "tag 9 on 'rows'\n");
    assert_says(say(3, 8), "  1 rank was in MPI_Wait for a receive from 1 "
                           "(rank 3 of the job), tag 9 on 'rows'");
}

static void only_so_many_rows_are_said(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        put(0, "MPI_Send", WORLD, 1, i, 8, (uint64_t)(20 - i) * MS);
    }
    assert_null(strstr(say(0, 8), "tag 11,"));
    assert_says(say(0, 8), "tag 12,");
    assert_says(say(0, 8), "tag 19,");
    assert_says(say(0, 8),
                "  rank 0 was outside MPI; its last calls, and how long before");
}

static void lives_without_calls_are_one_line(void **state)
{
    (void)state;
    box.ranks[0].life = BOX_NOT_BEGUN;
    assert_says(say(0, 8), "  rank 0 had not completed MPI_Init\n");
    box.ranks[0].life = BOX_OPEN;
    assert_says(say(0, 8), "  nothing is recorded of the last calls of rank 0\n");
    box.ranks[0].life = BOX_SILENT;
    assert_says(say(0, 8), "  nothing is known of the last calls of rank 0\n");
    put(0, "MPI_Finalize", NONE, WEFT_DOING_UNKNOWN, -2, 0, MS);
    box.ranks[0].life = BOX_FINALIZED;
    assert_says(say(0, 8),
                "  rank 0 was behind MPI_Finalize; its last call, and how long "
                "before its end it began:\n     1.00 ms  MPI_Finalize\n");
}

static void ranks_that_do_the_same_are_one_line(void **state)
{
    (void)state;
    for (int r = 0; r < RANKS; r++) {
        put(r, r == 1 ? "MPI_Send" : "MPI_Barrier", WORLD,
            r == 1 ? 0 : WEFT_DOING_UNKNOWN, r == 1 ? 7 : -2, 0, (uint64_t)(r + 1) * MS);
        put_site(r, "a.c:1");
        box.ranks[r].is_open = r != 1;
    }
    assert_says(say(1, 8), "  3 ranks were in MPI_Barrier on 'MPI_COMM_WORLD' "
                           "for up to 4.00 ms, at a.c:1: 0, 2-3\n");
}

static void a_second_death_is_said(void **state)
{
    (void)state;
    put(0, "MPI_Barrier", WORLD, WEFT_DOING_UNKNOWN, -2, 0, MS);
    put(2, "MPI_Barrier", WORLD, WEFT_DOING_UNKNOWN, -2, 0, MS);
    box.ranks[2].has_ended = box.ranks[2].has_fallen = true;
    box.ranks[2].status = SIGSEGV;
    assert_says(say(0, 8),
                "  1 rank fell too: killed by signal 11, Segmentation fault: 2\n");
}

static void many_groups_are_cut(void **state)
{
    (void)state;
    box_close(&box);
    assert_true(box_open(&box, MANY));
    for (int r = 0; r < MANY; r++) {
        char site[32];

        snprintf(site, sizeof(site), "a.c:%d", r);
        put(r, "MPI_Barrier", WORLD, WEFT_DOING_UNKNOWN, -2, 0, MS);
        put_site(r, site);
        box.ranks[r].is_open = true;
    }
    assert_says(say(1, 8), "  and 995 more groups of ranks did other things\n");
}

static void any_source_and_unnamed_communicators_have_words(void **state)
{
    char said[200];

    (void)state;
    put(0, "MPI_Recv", OTHER, -1, -2, UINT32_MAX, MS);
    box_describe(&box, box.ranks[0].events, said, sizeof(said));
    assert_string_equal(said,
                        "from any rank, any tag, 4294967295 bytes or more on context 3");
    put(1, "MPI_Bcast", 8, 2, -2, 1, MS);
    box_describe(&box, box.ranks[1].events, said, sizeof(said));
    assert_string_equal(said, "root 2, 1 byte on 'MPI_COMM_SELF'");
}

/* ---- reading ---- */

static const char *name_address(void *owner, const struct weft_trace_module *modules,
                                int count, uint64_t address)
{
    (void)modules;
    (void)count;
    (*(int *)owner)++;
    return address == 0x1000 ? "a.c:1" : "";
}

static void a_copy_becomes_a_row(void **state)
{
    static struct weft_trace_copy copy;
    struct box_wish wish = {.most = 100, .from_ns = 0};
    int asked = 0;

    (void)state;
    copy.begun_ticks = 0;
    copy.begun_ns = 1000000;
    copy.read_ticks = 1000000;
    copy.read_ns = 2000000;
    copy.count = 200;
    copy.is_open = true;
    for (uint32_t i = 0; i < copy.count; i++) {
        copy.events[i] = (struct weft_trace_event){
            .when = i * 1000,
            .where = UINT64_C(0x1000) | (uint64_t)WEFT_CALL_Send << WEFT_TRACE_CALL_AT,
            .peer = 1,
            .tag = (int)i};
    }
    box_read(&box, 0, &copy, &wish, name_address, &asked);
    assert_int_equal(box.ranks[0].count, 100);
    assert_int_equal(box.ranks[0].left_out, 100);
    assert_true(box.ranks[0].is_open);
    assert_int_equal(box.ranks[0].events[0].when, 1100000);
    assert_int_equal(box.ranks[0].events[99].tag, 199);
    assert_string_equal(box.sites[box.ranks[0].events[7].site], "a.c:1");
    assert_int_equal(asked, 1);
    wish.from_ns = 1190000;
    box_read(&box, 0, &copy, &wish, name_address, &asked);
    assert_int_equal(box.ranks[0].count, 10);
    wish.from_ns = 5000000; /* the last event stays: it says where the rank is */
    box_read(&box, 0, &copy, &wish, NULL, NULL);
    assert_int_equal(box.ranks[0].count, 1);
    assert_int_equal(box.ranks[0].events[0].site, 0);
}

/* ---- frames and clocks ---- */

static void rows_travel(void **state)
{
    struct bytes frame = {NULL, 0, 0};
    struct box all;

    (void)state;
    put(0, "MPI_Recv", OTHER, 3, 4, 5, MS);
    put_site(0, "b.c:2 (far)");
    put(1, "MPI_Barrier", WORLD, WEFT_DOING_UNKNOWN, -2, 0, MS);
    box.ranks[0].is_open = box.ranks[0].has_ended = box.ranks[0].has_fallen = true;
    box.ranks[0].status = 9;
    box.ranks[0].left_out = 77;
    box.ranks[1].doing.what = WEFT_DOING_COLLECTIVE;
    snprintf(box.ranks[1].doing.call, 32, "MPI_Barrier");
    box_pack(&box, &frame);
    assert_true(box_open(&all, 2 * RANKS));
    (void)box_site(&all, "another");
    assert_true(box_unpack(&all, RANKS, RANKS, 5, frame.at, frame.count));
    assert_int_equal(all.ranks[0].life, BOX_SILENT);
    assert_int_equal(all.ranks[4].life, BOX_OPEN);
    assert_int_equal(all.ranks[4].ended, END - 5);
    assert_int_equal(all.ranks[4].left_out, 77);
    assert_int_equal(all.ranks[4].status, 9);
    assert_true(all.ranks[4].is_open && all.ranks[4].has_ended &&
                all.ranks[4].has_fallen);
    assert_int_equal(all.ranks[4].events[0].when, END - MS - 5);
    assert_int_equal(all.ranks[4].events[0].tag, 4);
    assert_string_equal(all.sites[all.ranks[4].events[0].site], "b.c:2 (far)");
    assert_string_equal(all.ranks[5].doing.call, "MPI_Barrier");
    box_close(&all);
    bytes_free(&frame);
}

/* Whatever is cut off or changed: it is refused, or its numbers are in their ranges. */
static void damaged_frames_harm_nobody(void **state)
{
    struct bytes frame = {NULL, 0, 0};

    (void)state;
    put(0, "MPI_Recv", OTHER, 3, 4, 5, MS);
    put_site(0, "b.c:2");
    box.ranks[0].doing.what = WEFT_DOING_RECV;
    box_pack(&box, &frame);
    for (size_t n = 0; n < frame.count; n++) {
        struct box all;

        assert_true(box_open(&all, RANKS));
        assert_false(box_unpack(&all, 0, RANKS, 0, frame.at, n));
        assert_int_equal(all.ranks[0].life, BOX_SILENT);
        box_close(&all);
    }
    for (size_t n = 0; n < frame.count; n++) {
        struct box all;
        struct bytes said = {NULL, 0, 0};

        assert_true(box_open(&all, RANKS));
        frame.at[n] = (char)~frame.at[n];
        (void)box_unpack(&all, 0, RANKS, 0, frame.at, frame.count);
        box_report(&all, 0, 8, &said);
        frame.at[n] = (char)~frame.at[n];
        bytes_free(&said);
        box_close(&all);
    }
    bytes_free(&frame);
}

static void the_shortest_round_trip_decides(void **state)
{
    struct box_clock clock = {0, 0, 0};

    (void)state;
    box_clock_note(&clock, 1000, 5600, 2000); /* 5600 at 1500: 4100 ahead */
    assert_int_equal(clock.offset, 4100);
    box_clock_note(&clock, 3000, 7050, 3100); /* at 3050: 4000 ahead */
    assert_int_equal(clock.offset, 4000);
    assert_int_equal(clock.round_trip, 100);
    box_clock_note(&clock, 5000, 99999, 9000);
    assert_int_equal(clock.offset, 4000);
    assert_int_equal(clock.answers, 3);
    memset(&clock, 0, sizeof(clock));
    box_clock_note(&clock, 3000, 1050, 3100); /* behind */
    assert_int_equal(clock.offset, -2000);
}

/* ---- the file ---- */

static char *read_all(const char *path)
{
    static char content[8192];
    FILE *file = fopen(path, "r");
    size_t n;

    assert_non_null(file);
    n = fread(content, 1, sizeof(content) - 1, file);
    content[n] = '\0';
    fclose(file);
    return content;
}

static void the_file_has_points_and_a_length_for_the_open_call(void **state)
{
    const struct box_host hosts[] = {{.name = "a\"b", .first = 0, .count = 2},
                                     {.name = "c", .first = 2, .count = 2}};
    const struct box_file file = {.box = &box,
                                  .hosts = hosts,
                                  .host_count = 2,
                                  .program = "./so\\lver",
                                  .seconds = 10,
                                  .fallen = 1};
    struct box_counts counts;
    char path[] = "/tmp/test_box.XXXXXX";
    const char *content;

    (void)state;
    close(mkstemp(path));
    put(0, "MPI_Send", WORLD, 1, 5, 8, 3 * MS);
    put(1, "MPI_Recv", WORLD, 0, 5, 8, 2 * MS);
    put_site(1, "t\x01.c:3");
    box.ranks[1].is_open = box.ranks[1].has_ended = true;
    box.ranks[1].status = SIGKILL;
    box.ranks[1].left_out = 6;
    assert_int_equal(box_write(path, &file, &counts), 0);
    assert_int_equal(counts.events, 2);
    assert_int_equal(counts.left_out, 6);
    content = read_all(path);
    unlink(path);
    assert_says(content, "\"program\":\"./so\\\\lver\",\"ranks\":4,\"seconds\":10,");
    assert_says(content, "\"name\":\"a\\\"b\"");
    assert_says(content,
                "{\"name\":\"MPI_Send\",\"cat\":\"mpi\",\"pid\":1,\"tid\":1,"
                "\"ts\":0.000,\"ph\":\"i\",\"s\":\"t\",\"args\":{\"what\":\"to 1, "
                "tag 5, 8 bytes on 'MPI_COMM_WORLD'\",\"peer\":1,\"tag\":5,"
                "\"bytes\":8}}");
    assert_says(content, "\"ts\":1000.000,\"ph\":\"X\",\"dur\":2000.000");
    assert_says(content, "\"site\":\"t\\u0001.c:3\"");
    assert_says(content, "\"name\":\"killed by signal 9, Killed\"");
    assert_says(content, "rank 1 on a\\\"b: the first to fall");
}

static void a_file_that_cannot_be_written_is_an_error(void **state)
{
    const struct box_host host = {.name = "a", .first = 0, .count = RANKS};
    const struct box_file file = {
        .box = &box, .hosts = &host, .host_count = 1, .program = "x", .fallen = -1};
    struct box_counts counts;

    (void)state;
    put(0, "MPI_Send", WORLD, 1, 5, 8, 3 * MS);
    assert_int_equal(box_write("/nowhere/at/all", &file, &counts), ENOENT);
    assert_int_equal(box_write("/dev/full", &file, &counts), ENOSPC);
    assert_int_equal(access("/dev/full", F_OK), 0);
}

#define WITH_BOX(test) cmocka_unit_test_setup_teardown(test, open_box, close_box)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_BOX(ages_have_three_digits),
        WITH_BOX(the_open_call_and_those_before_it_are_said),
        WITH_BOX(what_a_wait_is_for_is_said_if_the_rank_has_written_it),
        WITH_BOX(only_so_many_rows_are_said),
        WITH_BOX(lives_without_calls_are_one_line),
        WITH_BOX(ranks_that_do_the_same_are_one_line),
        WITH_BOX(a_second_death_is_said),
        WITH_BOX(many_groups_are_cut),
        WITH_BOX(any_source_and_unnamed_communicators_have_words),
        WITH_BOX(a_copy_becomes_a_row),
        WITH_BOX(rows_travel),
        WITH_BOX(damaged_frames_harm_nobody),
        WITH_BOX(the_shortest_round_trip_decides),
        WITH_BOX(the_file_has_points_and_a_length_for_the_open_call),
        WITH_BOX(a_file_that_cannot_be_written_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
