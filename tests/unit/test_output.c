/*
 * test_output.c - lines of two ranks, long ones and short ones, and a clock that the test
 * sets.
 */
#include "output.h"

#include "habits.h"

#include "base/clock.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { A, B, STREAMS };

static const uint64_t SECOND = UINT64_C(1000000000);

static struct sink sink;
static struct stream streams[STREAMS];
static int pens[STREAMS]; /* where the ranks write */
static int shown;         /* what the sink writes comes out here */
static char text[256];

/* No stream here has a file. */
int habits_open_output(const char *pattern, int rank)
{
    (void)pattern;
    (void)rank;
    return -1;
}

static void make_pipe(int *out, int *in)
{
    int ends[2];

    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    *out = ends[0];
    *in = ends[1];
}

static int open_all(void **state)
{
    int in;

    (void)state;
    make_pipe(&shown, &in);
    sink_open(&sink, in);
    for (int s = 0; s < STREAMS; s++) {
        memset(&streams[s], 0, sizeof(streams[s]));
        make_pipe(&streams[s].fd, &pens[s]);
        streams[s].rank = s;
        streams[s].sink = &sink;
    }
    return 0;
}

static int close_all(void **state)
{
    (void)state;
    for (int s = 0; s < STREAMS; s++) {
        close(pens[s]);
        stream_finish(&streams[s]);
    }
    close(sink.fd);
    close(shown);
    free(sink.held);
    return 0;
}

/* The rank prints, and its stream is read, as far as it may be; as the event loop does.
 */
static void print(int s, const char *what, size_t n)
{
    assert_int_equal(write(pens[s], what, n), n);
    if (stream_may_read(&streams[s])) {
        assert_true(stream_read(&streams[s]));
    } else {
        sink.is_leaving_out = true;
    }
}

static void print_text(int s, const char *what)
{
    print(s, what, strlen(what));
}

/* A line of 64 KiB so far, in pieces that a pipe takes. */
static void print_long(int s)
{
    char piece[STREAM_BYTES / 16];

    memset(piece, 'x', sizeof(piece));
    for (int i = 0; i < 16; i++) {
        print(s, piece, sizeof(piece));
    }
}

/* What is shown since the last look, but for the x of long lines. */
static const char *look(void)
{
    char part[4096];
    size_t count = 0;
    ssize_t n;

    do {
        sink_flush(&sink);
        n = read(shown, part, sizeof(part));
        for (ssize_t i = 0; i < n; i++) {
            if (part[i] != 'x' && count < sizeof(text) - 1) {
                text[count++] = part[i];
            }
        }
    } while (n > 0);
    text[count] = '\0';
    return text;
}

static void a_long_line_reserves_the_output_until_it_ends(void **state)
{
    (void)state;
    print_long(A);
    print_text(B, "b\n");
    assert_false(stream_may_read(&streams[B]));
    assert_string_equal(look(), "");
    print_text(A, "a\n");
    assert_true(stream_may_read(&streams[B]));
    assert_true(stream_read(&streams[B]));
    assert_string_equal(look(), "a\nb\n");
}

static void a_carriage_return_ends_the_reservation(void **state)
{
    (void)state;
    print_long(A);
    print_text(B, "b\n");
    print_text(A, "\r1 %");
    assert_true(stream_may_read(&streams[B]));
    assert_true(stream_read(&streams[B]));
    assert_string_equal(look(), "\nb\n");
    print_text(A, "\r2 %\n");
    assert_string_equal(look(), "\r1 %\r2 %\n");
}

static void half_a_line_end_is_no_carriage_return(void **state)
{
    (void)state;
    print_long(A);
    print_text(B, "b\n");
    print_text(A, "\r");
    assert_false(stream_may_read(&streams[B]));
    print_text(A, "\n");
    assert_true(stream_may_read(&streams[B]));
    assert_true(stream_read(&streams[B]));
    assert_string_equal(look(), "\r\nb\n");
}

static void others_wait_a_second_for_a_silent_rank(void **state)
{
    uint64_t now;

    (void)state;
    print_long(A);
    print_text(B, "b\n");
    now = weft_clock_ns();
    sink_end_long_line(&sink, streams[A].since + SECOND - 1);
    assert_false(stream_may_read(&streams[B]));
    sink_end_long_line(&sink, now + SECOND);
    assert_true(stream_may_read(&streams[B]));
}

static void others_wait_five_seconds_for_a_rank_that_goes_on(void **state)
{
    uint64_t now;

    (void)state;
    print_long(A);
    print_text(B, "b\n");
    now = streams[A].since;
    for (int i = 0; i < 50; i++) { /* a dot every tenth of a second */
        print_text(A, ".");
        streams[A].since = now + (uint64_t)i * SECOND / 10;
        sink_end_long_line(&sink, streams[A].since);
        assert_false(stream_may_read(&streams[B]));
    }
    sink_end_long_line(&sink, now + 5 * SECOND);
    assert_true(stream_may_read(&streams[B]));
    print_long(A); /* the same line: it has had its turn */
    assert_true(stream_may_read(&streams[B]));
    print_text(A, "\n");
    print_long(A); /* the next one */
    assert_false(stream_may_read(&streams[B]));
}

static void a_slow_reader_ends_no_turn(void **state)
{
    const uint64_t now = weft_clock_ns();

    (void)state;
    print_long(A);
    print_text(B, "b\n");
    sink.count = SINK_BYTES - STREAM_BYTES; /* as if it was full */
    for (uint64_t i = 0; i < 20; i++) {
        sink_end_long_line(&sink, now + i * SECOND);
    }
    sink.count = 0;
    sink_end_long_line(&sink, now + 19 * SECOND + SECOND / 2);
    assert_false(stream_may_read(&streams[B]));
}

static void nobody_waits_and_a_long_line_may_last(void **state)
{
    const uint64_t now = weft_clock_ns();

    (void)state;
    print_long(A);
    sink_end_long_line(&sink, now + 100 * SECOND);
    assert_true(sink.owner == &streams[A]);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_all, close_all)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_long_line_reserves_the_output_until_it_ends),
        CASE(a_carriage_return_ends_the_reservation),
        CASE(half_a_line_end_is_no_carriage_return),
        CASE(others_wait_a_second_for_a_silent_rank),
        CASE(others_wait_five_seconds_for_a_rank_that_goes_on),
        CASE(a_slow_reader_ends_no_turn),
        CASE(nobody_waits_and_a_long_line_may_last),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
