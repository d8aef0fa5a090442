/*
 * test_pmi_service.c - PMI-1, the launcher's side, with a rank that reads late.
 *
 * The test is the rank, and the loop that calls the service when the rank's socket is
 * ready, as the service wants it.
 */
#include "unit.h"

#include "pmi_service.h"

#include "wireup/passing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE = 5000, QUESTIONS = 1000 };

static struct pmi_service service;
static struct pmi_client client; /* rank 0, the only one of this host */
static int rank_fd;              /* the rank's end */
static int asked;                /* of other hosts */
static int passed_fd;
static char complaint[PMI_LINE];
static int complaints;

/* ---- upcalls ---- */

static void on_arrived(void *owner)
{
    (void)owner;
    pmi_service_release(&service);
}

static bool on_ask(void *owner, int rank, int of, const char *name)
{
    (void)owner;
    (void)name;
    assert_int_equal(rank, 0);
    assert_true(of > 0);
    asked++;
    return true;
}

static int on_next_program(void *owner, int rank, int *program, const char **why)
{
    (void)owner;
    (void)rank;
    (void)why;
    *program = 1;
    return passed_fd;
}

static void on_watch(void *owner, struct pmi_client *changed)
{
    (void)owner;
    assert_ptr_equal(changed, &client);
}

static void on_complaint(void *owner, const char *line)
{
    (void)owner;
    snprintf(complaint, sizeof(complaint), "%s", line);
    complaints++;
}

static int open_service(void **state)
{
    const int least = 1; /* the kernel makes it a few KiB: answers are sent in parts */
    int ends[2];

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_int_equal(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof(least)),
                     0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    asked = complaints = 0;
    rank_fd = ends[1];
    client = (struct pmi_client){.fd = ends[0]};
    service = (struct pmi_service){
        .clients = &client,
        .count = 1,
        .size = SIZE,
        .name = "weft-1",
        .arrived = on_arrived,
        .ask = on_ask,
        .next_program = on_next_program,
        .watch = on_watch,
        .complain = on_complaint,
    };
    return 0;
}

static int close_service(void **state)
{
    (void)state;
    close(rank_fd);
    if (client.fd >= 0) {
        pmi_client_close(&client);
    }
    pmi_service_close(&service);
    return 0;
}

/* What the loop of the launcher does, until the service waits for the rank. */
static void serve(void)
{
    struct pollfd p = {.fd = client.fd};

    for (;;) {
        p.events = (short)((client.is_left_out ? 0 : POLLIN) |
                           (client.is_waiting ? POLLOUT : 0));
        if (poll(&p, 1, 0) <= 0) {
            return;
        }
        assert_true(pmi_service_tend(&service, &client));
    }
}

/* True if the socket took the line. */
static bool say(const char *line)
{
    const ssize_t n = send(rank_fd, line, strlen(line), MSG_NOSIGNAL);

    assert_true(n == (ssize_t)strlen(line) || (n < 0 && errno == EAGAIN));
    return n > 0;
}

static void ask_for(int rank)
{
    char line[128];

    snprintf(line, sizeof(line), "cmd=get kvsname=weft-1 key=word rank=%d\n", rank);
    while (!say(line)) {
        serve();
    }
    serve();
}

/* The next line that the rank reads, with the descriptor that comes beside it, or -1. */
static void hear(char *line, size_t size, int *fd)
{
    size_t n = 0;

    *fd = -1;
    do {
        int with = -1;

        assert_true(n < size - 1);
        if (weft_take_descriptor(rank_fd, line + n, 1, &with) == 1) {
            n++;
        } else {
            assert_int_equal(errno, EAGAIN);
            serve();
        }
        *fd = with >= 0 ? with : *fd;
    } while (n == 0 || line[n - 1] != '\n');
    line[n - 1] = '\0';
}

static void expect(const char *wanted)
{
    char line[PMI_LINE];
    int fd;

    hear(line, sizeof(line), &fd);
    assert_string_equal(line, wanted);
    assert_int_equal(fd, -1);
}

/* ---- cases ---- */

static void a_rank_that_reads_late_gets_all_answers(void **state)
{
    char name[64];
    char line[256];

    (void)state;
    for (int r = 1; r <= QUESTIONS; r++) {
        ask_for(r);
    }
    assert_int_equal(asked, QUESTIONS);
    for (int r = 1; r <= QUESTIONS; r++) {
        snprintf(name, sizeof(name), "%d word", r);
        pmi_service_answer(&service, 0, name, "value");
    }
    pmi_service_release(&service);
    for (int r = 1; r <= QUESTIONS; r++) {
        snprintf(line, sizeof(line),
                 "cmd=get_result rc=0 msg=success value=value rank=%d key=word", r);
        expect(line);
    }
    expect("cmd=barrier_out rc=0");
    assert_false(client.is_waiting);
}

static void a_rank_that_never_reads_is_not_read_from(void **state)
{
    static const char wish[] = "cmd=get_maxes\n";
    int wishes = 0;
    bool is_taken;

    (void)state;
    do {
        is_taken = false;
        while (say(wish)) {
            is_taken = true;
            wishes++;
        }
        serve();
    } while (is_taken);
    assert_true(client.is_left_out);
    assert_true(client.waiting.count < PMI_WAITING + PMI_LINE);
    for (int i = 0; i < wishes; i++) {
        expect("cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024");
    }
    assert_false(client.is_left_out);
}

static void questions_without_answers_have_a_bound(void **state)
{
    enum { MOST = PMI_ASKED + PMI_ASKED_EACH * SIZE };
    static const char question[] = "cmd=get kvsname=weft-1 key=word rank=1\n";
    int said = 0;

    (void)state;
    while (said < 2 * MOST && say(question)) {
        said++;
        serve();
    }
    assert_int_equal(asked, MOST);
    assert_true(client.is_left_out && said < 2 * MOST);
    for (int i = 1; i <= said; i++) {
        pmi_service_answer(&service, 0, "1 word", "value");
        serve();
        expect("cmd=get_result rc=0 msg=success value=value rank=1 key=word");
        assert_true(asked == (MOST + i < said ? MOST + i : said));
    }
    assert_int_equal(client.asked, 0);
    assert_false(client.is_left_out);
}

static void nothing_is_read_while_the_service_is_held(void **state)
{
    (void)state;
    assert_true(say("cmd=get_maxes\n"));
    serve();
    expect("cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024");
    pmi_service_hold(&service, true);
    assert_true(say("cmd=get kvsname=weft-1 key=word rank=1\n"));
    serve();
    serve();
    assert_int_equal(asked, 0);
    pmi_service_hold(&service, false);
    serve();
    assert_int_equal(asked, 1);
}

/* Lines that have come to the rank, which reads all that is there. */
static int count_lines(void)
{
    char text[PMI_LINE];
    int lines = 0;
    ssize_t n;

    while ((n = recv(rank_fd, text, sizeof(text), 0)) > 0) {
        for (ssize_t i = 0; i < n; i++) {
            lines += text[i] == '\n';
        }
    }
    return lines;
}

/* The rank reads between two rounds of the loop, and the next answer finds room for all.
 */
static void
requests_that_waited_are_served_when_another_answer_empties_the_queue(void **state)
{
    static const char wishes[] =
        "cmd=get_maxes\ncmd=get_maxes\ncmd=get_maxes\ncmd=get_maxes\n"
        "cmd=get_maxes\ncmd=get_maxes\ncmd=get_maxes\ncmd=get_maxes\n";
    const int much = 4 * PMI_WAITING;
    int wanted = 1;
    int heard;

    (void)state;
    while (!client.is_left_out || memchr(client.line, '\n', client.count) == NULL) {
        wanted += say(wishes) ? 8 : 0;
        serve();
    }
    heard = count_lines();
    assert_int_equal(setsockopt(client.fd, SOL_SOCKET, SO_SNDBUF, &much, sizeof(much)),
                     0);
    pmi_service_release(&service);
    assert_int_equal(client.waiting.count, 0);
    heard += count_lines();
    serve();
    assert_int_equal(heard + count_lines(), wanted);
    assert_false(client.is_waiting);
}

static void a_descriptor_waits_with_its_answer(void **state)
{
    char line[PMI_LINE];
    struct stat ours;
    struct stat theirs;
    int fd;

    (void)state;
    passed_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    assert_true(passed_fd >= 0 && fstat(passed_fd, &ours) == 0);
    for (int r = 1; r <= QUESTIONS; r++) {
        ask_for(r);
        pmi_service_answer(&service, 0, "1 word", "value");
    }
    assert_true(client.is_waiting);
    assert_true(say("cmd=next_program\n"));
    assert_true(say("cmd=get_maxes\n"));
    serve();
    for (int r = 1; r <= QUESTIONS; r++) {
        expect("cmd=get_result rc=0 msg=success value=value rank=1 key=word");
    }
    hear(line, sizeof(line), &fd);
    assert_string_equal(line, "cmd=next_program_result rc=0 program=1");
    assert_true(fd >= 0 && fstat(fd, &theirs) == 0);
    assert_true(ours.st_rdev == theirs.st_rdev);
    close(fd);
    assert_true(fcntl(passed_fd, F_GETFD) >= 0); /* it stays its owner's */
    close(passed_fd);
    expect("cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024");
}

static void a_rank_that_ends_is_noticed_although_answers_wait(void **state)
{
    (void)state;
    for (int r = 1; r <= QUESTIONS; r++) {
        pmi_service_answer(&service, 0, "1 word", "value");
    }
    assert_true(client.is_waiting);
    close(rank_fd);
    rank_fd = -1;
    assert_false(pmi_service_tend(&service, &client));
    pmi_client_close(&client);
    pmi_service_answer(&service, 0, "1 word", "value"); /* goes nowhere */
    assert_int_equal(client.waiting.count, 0);
}

static void nonsense_is_told_of_a_few_times_in_printable_text(void **state)
{
    (void)state;
    for (int i = 0; i < 4 * PMI_COMPLAINTS; i++) {
        assert_true(say("\033]0;title\007\n"));
        serve();
    }
    assert_int_equal(complaints, PMI_COMPLAINTS);
    assert_string_equal(complaint, "rank 0 speaks no PMI-1: ?]0;title?");
    assert_true(say("cmd=get_maxes\n"));
    expect("cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_service, close_service)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_rank_that_reads_late_gets_all_answers),
        CASE(a_rank_that_never_reads_is_not_read_from),
        CASE(questions_without_answers_have_a_bound),
        CASE(nothing_is_read_while_the_service_is_held),
        CASE(requests_that_waited_are_served_when_another_answer_empties_the_queue),
        CASE(a_descriptor_waits_with_its_answer),
        CASE(a_rank_that_ends_is_noticed_although_answers_wait),
        CASE(nonsense_is_told_of_a_few_times_in_printable_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
