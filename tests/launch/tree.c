/* tree.c - whom a keeper takes for dead, and when: the clock is the test's. */
#include "unit.h"

#include "job_parts.h"
#include "rsh.h"

#include "base/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint64_t SECOND = UINT64_C(1000000000);

/* A daemon whose parent is the test. */
struct daemon {
    struct job job;
    struct link parent;
    uint64_t begin;
};

static void open_daemon(struct daemon *daemon, uint64_t beat_ns)
{
    int ends[2];

    memset(daemon, 0, sizeof(*daemon));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    daemon->job.epoll = epoll_create1(EPOLL_CLOEXEC);
    daemon->job.front = -1;
    daemon->job.setup.beat_ns = beat_ns;
    daemon->job.tree.has_up = true;
    daemon->job.tree.on_frame = job_on_frame;
    link_open(&daemon->job.tree.up, ends[0], ends[0]);
    link_open(&daemon->parent, ends[1], ends[1]);
    daemon->job.tree.up.is_greeted = daemon->parent.is_greeted = true;
    daemon->begin = weft_clock_ns();
}

static void close_daemon(struct daemon *daemon)
{
    link_close(&daemon->parent);
    link_close(&daemon->job.tree.up);
    close(daemon->job.epoll);
}

/* The loop of the daemon goes round, seconds after its beginning. */
static void look_after(struct daemon *daemon, double seconds)
{
    tree_tend(&daemon->job, daemon->begin + (uint64_t)(seconds * (double)SECOND));
}

/* Goes round several times a second, as the loop does. */
static void look_from_to(struct daemon *daemon, double from, double to)
{
    for (double at = from; at < to; at += 0.1) {
        look_after(daemon, at);
    }
}

/* The parent says that it is busy, or no longer. */
static void parent_says(struct daemon *daemon, int is_busy)
{
    const struct frame frame = {
        .kind = FRAME_BEAT, .to = -1, .rank = -1, .value = is_busy};

    link_send(&daemon->parent, &frame, NULL);
    tree_on_up(&daemon->job);
}

static bool count_beat(struct link *link)
{
    struct frame frame;
    char end;

    return read(link->in, &frame, sizeof(frame)) == (ssize_t)sizeof(frame) &&
           frame.kind == FRAME_BEAT && read(link->in, &end, 1) == 1;
}

static void a_parent_that_is_silent_for_a_heartbeat_is_lost(void **state)
{
    struct daemon daemon;

    (void)state;
    open_daemon(&daemon, SECOND);
    look_from_to(&daemon, 0, 0.95);
    assert_false(daemon.job.tree.is_cut_off);
    look_from_to(&daemon, 0.95, 1.5);
    assert_true(daemon.job.tree.is_cut_off);
    close_daemon(&daemon);
}

static void time_in_which_we_did_not_look_is_no_silence(void **state)
{
    struct daemon daemon;

    (void)state;
    open_daemon(&daemon, SECOND);
    look_from_to(&daemon, 0, 0.3);
    look_after(&daemon, 100); /* we were stopped */
    assert_false(daemon.job.tree.is_cut_off);
    look_from_to(&daemon, 100.1, 100.3);
    assert_false(daemon.job.tree.is_cut_off);
    look_from_to(&daemon, 100.3, 101.5); /* but we listen again, and hear nothing */
    assert_true(daemon.job.tree.is_cut_off);
    close_daemon(&daemon);
}

static void a_machine_that_lets_us_run_rarely_does_not_make_others_dead(void **state)
{
    struct daemon daemon;

    (void)state;
    open_daemon(&daemon, SECOND);
    for (int i = 0; i < 4; i++) {
        look_after(&daemon, 0.45 * i); /* we wanted to look eight times a second */
    }
    assert_false(daemon.job.tree.is_cut_off);
    close_daemon(&daemon);
}

static void a_parent_that_is_busy_may_be_silent_for_longer(void **state)
{
    struct daemon daemon;

    (void)state;
    open_daemon(&daemon, SECOND);
    parent_says(&daemon, 1);
    look_from_to(&daemon, 0, 50);
    assert_false(daemon.job.tree.is_cut_off);
    parent_says(&daemon, 0);
    daemon.job.tree.up.heard = daemon.begin + 50 * SECOND; /* on the test's clock */
    look_from_to(&daemon, 50, 50.9);
    assert_false(daemon.job.tree.is_cut_off);
    look_from_to(&daemon, 50.9, 51.5);
    assert_true(daemon.job.tree.is_cut_off);
    close_daemon(&daemon);
}

static void a_parent_that_is_busy_for_ever_is_lost(void **state)
{
    struct daemon daemon;

    (void)state;
    open_daemon(&daemon, SECOND);
    parent_says(&daemon, 1);
    look_from_to(&daemon, 0, 62);
    assert_true(daemon.job.tree.is_cut_off);
    close_daemon(&daemon);
}

static void a_daemon_that_never_hears_of_its_job_ends(void **state)
{
    struct daemon daemon;

    (void)state;
    open_daemon(&daemon, 0);
    look_from_to(&daemon, 0, 59);
    assert_false(daemon.job.tree.is_cut_off);
    look_after(&daemon, 61);
    assert_true(daemon.job.tree.is_cut_off);
    assert_int_equal(daemon.job.state, DONE);
    close_daemon(&daemon);
}

static void who_is_busy_still_shows_life(void **state)
{
    struct daemon daemon;

    (void)state;
    open_daemon(&daemon, SECOND);
    tree_be_busy(&daemon.job, true);
    assert_true(count_beat(&daemon.parent));
    tree_show_life(&daemon.job); /* none is due yet */
    assert_false(count_beat(&daemon.parent));
    daemon.job.tree.up.spoke -= SECOND / 2;
    tree_show_life(&daemon.job);
    assert_true(count_beat(&daemon.parent));
    close_daemon(&daemon);
}

/* ---- frames whose sender is none that this link leads to ---- */

enum { DAEMONS = 4, RANKS = 8 };

static struct station stations[DAEMONS];
static char *argv[] = {"program", NULL};
static struct app app = {.argv = argv, .ranks = RANKS};
static struct plan plan = {.apps = &app, .app_count = 1, .ranks = RANKS};

static void give_layout(struct job *job, int me, int count)
{
    static int by_node[DAEMONS];

    for (int d = 0; d < DAEMONS; d++) {
        by_node[d] = d;
        stations[d] =
            (struct station){.name = "host", .node = d, .first = 2 * d, .ranks = 2};
    }
    job->plan = &plan;
    job->setup.plan = plan;
    job->setup.path = "mpiexec";
    job->setup.layout = (struct layout){
        .stations = stations, .count = DAEMONS, .by_node = by_node, .nodes = DAEMONS};
    job->tree.me = me;
    job->tree.count = count;
    job->state = RUNNING;
}

/* Is a frame rejected that a daemon, number 1 of a range of 2, gets from its parent? */
static bool rejects_from_parent(uint32_t kind, int32_t from)
{
    const struct frame frame = {
        .kind = kind, .to = 1, .from = from, .rank = -1, .value = 1};
    struct daemon daemon;
    bool is_rejected;

    open_daemon(&daemon, 0);
    give_layout(&daemon.job, 1, 2);
    job_on_frame(&daemon.job, &daemon.job.tree.up, &frame, NULL);
    is_rejected = daemon.job.tree.is_cut_off;
    close_daemon(&daemon);
    return is_rejected;
}

/* And one that the root gets from its child, number 1 of a range of 2? */
static bool rejects_from_child(uint32_t kind, int32_t from)
{
    const struct frame frame = {
        .kind = kind, .to = 0, .from = from, .rank = -1, .value = 1};
    struct child child = {.number = 1, .count = 2, .is_gone = true}; /* no process */
    struct job job = {.epoll = -1, .front = -1};

    give_layout(&job, 0, DAEMONS);
    job.tree.children = &child;
    job.tree.child_count = 1;
    sink_open(&job.output, open("/dev/null", O_WRONLY | O_CLOEXEC));
    job.error_to = &job.output;
    link_open(&child.link, -1, -1);
    job_on_frame(&job, &child.link, &frame, NULL);
    close(job.output.fd);
    free(job.output.held);
    return job.has_failed;
}

/* Every kind but a beat, which is the link's own; new ones, too. */
static void a_frame_names_a_sender_to_whom_its_link_leads(void **state)
{
    static const int32_t not_above[] = {INT32_MIN, -1, 1, 2, DAEMONS, INT32_MAX};
    static const int32_t not_below[] = {INT32_MIN, -1, 0, 3, DAEMONS, INT32_MAX};

    (void)state;
    for (uint32_t kind = 0; kind <= FRAME_KINDS; kind++) {
        for (size_t i = 0; kind != FRAME_BEAT && i < 6; i++) {
            assert_true(rejects_from_parent(kind, not_above[i]));
            assert_true(rejects_from_child(kind, not_below[i]));
        }
    }
    assert_false(rejects_from_parent(FRAME_TAKEN, 0));
    assert_false(rejects_from_parent(FRAME_TAKEN, 3)); /* a sibling behind us */
    assert_false(rejects_from_child(FRAME_INPUT_TAKEN, 1));
    assert_false(rejects_from_child(FRAME_INPUT_TAKEN, 2));
}

/* What is said on a terminal, or elsewhere, so many seconds after a host was tried. */
static const char *say_after(double seconds, bool is_terminal, bool is_greeted)
{
    static char text[256];
    struct child child = {.number = 1, .count = 1, .begun = SECOND};
    struct job job = {.epoll = -1, .front = -1};
    int ends[2];
    ssize_t n;

    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    give_layout(&job, 0, DAEMONS);
    job.tree.children = &child;
    job.tree.child_count = 1;
    job.setup.rsh = (struct list){.at = argv, .count = 1};
    sink_open(&job.output, ends[1]);
    job.output.is_terminal = is_terminal;
    job.error_to = &job.output;
    link_open(&child.link, -1, -1);
    child.link.is_greeted = is_greeted;
    for (double at = 0; at <= seconds; at += 0.5) {
        tree_tend(&job, SECOND + (uint64_t)(at * (double)SECOND));
    }
    n = read(ends[0], text, sizeof(text) - 1);
    text[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    close(ends[1]);
    free(job.output.held);
    return text;
}

static void who_waits_at_a_terminal_is_told_once_for_which_host(void **state)
{
    (void)state;
    assert_string_equal(say_after(4.5, true, false), "");
    assert_string_equal(
        say_after(20, true, false),
        "mpiexec: host host: no answer by program for 5 s; mpiexec waits up to 60 s\n");
    assert_string_equal(say_after(20, false, false), "");
    assert_string_equal(say_after(20, true, true), "");
}

static void a_way_that_has_ended_is_heard_to_its_last_word(void **state)
{
    static const char last[] = "Permission denied\n";
    char banner[3000];
    struct child child = {.number = 1, .count = 1, .rsh.pid = 4711};
    struct job job = {.epoll = -1, .front = -1};
    int ends[2];

    (void)state;
    memset(banner, '#', sizeof(banner));
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    assert_true(write(ends[1], banner, sizeof(banner)) == (ssize_t)sizeof(banner));
    assert_true(write(ends[1], last, sizeof(last) - 1) == (ssize_t)sizeof(last) - 1);
    close(ends[1]);
    child.rsh.error = ends[0];
    give_layout(&job, 0, DAEMONS);
    job.tree.children = &child;
    job.tree.child_count = 1;
    link_open(&child.link, -1, -1);
    assert_true(tree_reap(&job, 4711, 0));
    assert_int_equal(child.said.count, sizeof(banner) + sizeof(last) - 1);
    assert_int_equal(child.rsh.error, -1);
    bytes_free(&child.said);
}

static void blanks_are_no_command_to_reach_a_host_with(void **state)
{
    static const char *const texts[] = {"", " ", "   "};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct list words = {NULL, 0};

        setenv("WEFT_RSH", texts[i], 1);
        rsh_choose(&words, false);
        assert_true(words.count > 0);
        assert_string_equal(words.at[0], "ssh");
        free(words.at[0]); /* the words are one copy of the text */
        free(words.at);
    }
    unsetenv("WEFT_RSH");
}

static void our_ssh_does_not_become_the_users_master(void **state)
{
    struct list words = {NULL, 0};
    bool is_told = false;

    (void)state;
    unsetenv("WEFT_RSH");
    rsh_choose(&words, false);
    for (int i = 0; i < words.count; i++) {
        is_told |= strcmp(words.at[i], "ControlMaster=no") == 0;
    }
    assert_true(is_told);
    free(words.at[0]);
    free(words.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_parent_that_is_silent_for_a_heartbeat_is_lost),
        cmocka_unit_test(time_in_which_we_did_not_look_is_no_silence),
        cmocka_unit_test(a_machine_that_lets_us_run_rarely_does_not_make_others_dead),
        cmocka_unit_test(a_parent_that_is_busy_may_be_silent_for_longer),
        cmocka_unit_test(a_parent_that_is_busy_for_ever_is_lost),
        cmocka_unit_test(a_daemon_that_never_hears_of_its_job_ends),
        cmocka_unit_test(who_is_busy_still_shows_life),
        cmocka_unit_test(a_frame_names_a_sender_to_whom_its_link_leads),
        cmocka_unit_test(who_waits_at_a_terminal_is_told_once_for_which_host),
        cmocka_unit_test(a_way_that_has_ended_is_heard_to_its_last_word),
        cmocka_unit_test(blanks_are_no_command_to_reach_a_host_with),
        cmocka_unit_test(our_ssh_does_not_become_the_users_master),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
