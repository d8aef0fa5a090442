/*
 * test_pmi2.c - PMI-2, the client's side, against a launcher that answers as it is told.
 *
 * The client keeps its state for the whole life of a process, so each case has a process
 * of its own for it; the test is the launcher. What the client returns, or that its own
 * claims do not hold, is its exit code.
 */
#include "unit.h"

#include "wireup/kvs.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXT = 8192, DIGITS = 6, NOT_SO = 100, PATIENCE_MS = 10000 };

/* A claim of the client's. */
#define SO(claim)                                                                        \
    do {                                                                                 \
        if (!(claim)) {                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #claim);          \
            _exit(NOT_SO);                                                               \
        }                                                                                \
    } while (0)

static const char init[] = "cmd=init pmi_version=2 pmi_subversion=0\n";
static const char welcome[] =
    "cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0\n";
static const char full[] = "cmd=fullinit;pmijobid=7.0;pmirank=2;threaded=FALSE;";
static const char full_yes[] =
    "cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;"
    "rank=2;size=4;appnum=-1;debugged=FALSE;";
static const char ask_name[] = "cmd=job-getid;";
static const char name[] = "cmd=job-getid-response;rc=0;jobid=7.0;";
static const char ask_map[] = "cmd=info-getjobattr;key=PMI_process_mapping;";
static const char map[] =
    "cmd=info-getjobattr-response;rc=0;found=TRUE;value=(vector,(0,2,2));";

/* ---- the two ends ---- */

struct client {
    int fd; /* the launcher's end */
    pid_t pid;
};

/* Starts `act` as rank 2 of 4; what it returns is the exit code. */
static struct client start(int (*act)(void))
{
    struct client client;
    int ends[2];
    char number[16];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    client.fd = ends[0];
    client.pid = fork();
    assert_true(client.pid >= 0);
    if (client.pid == 0) {
        close(ends[0]);
        snprintf(number, sizeof(number), "%d", ends[1]);
        setenv("PMI_FD", number, 1);
        setenv("PMI_RANK", "2", 1);
        setenv("PMI_SIZE", "4", 1);
        setenv("PMI_JOBID", "7.0", 1);
        setenv("WEFT_LOG", "none", 1);
        alarm(PATIENCE_MS / 1000);
        _exit(act());
    }
    close(ends[1]);
    return client;
}

static void take(const struct client *client, char *text, size_t size)
{
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};

    for (size_t n = 0; n < size; n++) {
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
        assert_int_equal(read(client->fd, text + n, 1), 1);
    }
    text[size] = '\0';
}

static void say(const struct client *client, const char *text)
{
    const size_t length = strlen(text);

    assert_int_equal(send(client->fd, text, length, MSG_NOSIGNAL), length);
}

/* The client's next request, which must be this one. */
static void expect(const struct client *client, const char *request)
{
    char text[TEXT];

    take(client, text, DIGITS);
    assert_int_equal(atoi(text), strlen(request));
    take(client, text, strlen(request));
    assert_string_equal(text, request);
}

/* Slurm writes the length to the left, others to the right. */
static void answer_by(const struct client *client, const char *format, const char *text)
{
    char digits[16];

    snprintf(digits, sizeof(digits), format, (int)strlen(text));
    say(client, digits);
    say(client, text);
}

static void talk(const struct client *client, const char *request, const char *text)
{
    expect(client, request);
    answer_by(client, "%-6d", text);
}

/* Hangs up and holds the client to what it returns. */
static void end(struct client *client, int code)
{
    int status;

    shutdown(client->fd, SHUT_RDWR);
    close(client->fd);
    assert_int_equal(waitpid(client->pid, &status, 0), client->pid);
    assert_true(WIFEXITED(status)); /* not by a signal, SIGPIPE say */
    assert_int_equal(WEXITSTATUS(status), code);
}

static void agree(const struct client *client)
{
    char line[TEXT];

    take(client, line, sizeof(init) - 1);
    assert_string_equal(line, init);
    say(client, welcome);
}

static void open_well(const struct client *client)
{
    agree(client);
    talk(client, full, full_yes);
    talk(client, ask_name, name);
    talk(client, ask_map, map);
}

/* ---- opening ---- */

static int open_only(void)
{
    struct weft_who who = {.rank = -1};

    return (int)weft_pmi2()->open(&who);
}

static int open_and_look(void)
{
    struct weft_who who = {.rank = -1};
    struct weft_location places[5];
    int fd = atoi(getenv("PMI_FD"));

    SO((fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0);
    SO(weft_pmi2()->open(&who) == WEFT_OK);
    SO((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    SO(strcmp(who.job, "7.0") == 0);
    SO(who.rank == 2 && who.size == 4);
    SO(who.node == 1 && who.node_count == 2);
    SO(who.local_rank == 0 && who.local_size == 2 && who.leader == 2);
    memset(places, 0xff, sizeof(places));
    SO(weft_pmi2()->locations(&who, places) == WEFT_OK);
    for (uint32_t r = 0; r < 4; r++) {
        SO(places[r].node == r / 2 && places[r].local_rank == r % 2);
    }
    SO(places[4].node == UINT32_MAX);
    return 0;
}

static void open_tells_who_we_are(void **state)
{
    struct client client = start(open_and_look);

    (void)state;
    open_well(&client);
    talk(&client, ask_map, map);
    end(&client, 0);
}

static void a_length_may_stand_at_either_end_of_its_six_characters(void **state)
{
    struct client client = start(open_and_look);

    (void)state;
    agree(&client);
    expect(&client, full);
    answer_by(&client, "%6d", full_yes);
    expect(&client, ask_name);
    answer_by(&client, "%06d", name);
    talk(&client, ask_map, map);
    talk(&client, ask_map, map);
    end(&client, 0);
}

/* Open fails at this answer, which takes the place of a good one. */
static void expect_refused(int good_ones, const char *bad)
{
    static const char *const requests[] = {full, ask_name, ask_map};
    static const char *const answers[] = {full_yes, name, map};
    struct client client = start(open_only);

    agree(&client);
    for (int i = 0; i < good_ones; i++) {
        talk(&client, requests[i], answers[i]);
    }
    talk(&client, requests[good_ones], bad);
    end(&client, WEFT_ERR_LAUNCH);
}

static void a_wrong_answer_is_refused(void **state)
{
    char long_name[600];

    (void)state;
    expect_refused(0, "cmd=job-getid-response;rc=0;jobid=7.0;");
    expect_refused(0, "cmd=finalize-response;rc=0;");
    expect_refused(0, "cmd=fullinit-response;rc=1;rank=2;size=4;");
    expect_refused(0, "cmd=fullinit-response;rc=0;rank=3;size=4;");
    expect_refused(0, "cmd=fullinit-response;rc=0;rank=2;size=5;");
    expect_refused(0, "cmd=fullinit-response;rc=0;");
    expect_refused(0, "cmd=fullinit-response");
    expect_refused(0, "cmd=");
    expect_refused(0, ";;;;");
    expect_refused(0, ";");
    expect_refused(0, "xcmd=fullinit-response;rc=0;rank=2;size=4;");
    expect_refused(1, "cmd=job-getid-response;rc=0;");
    expect_refused(1, "cmd=job-getid-response;rc=0;jobid=;");
    snprintf(long_name, sizeof(long_name), "cmd=job-getid-response;jobid=%0300d;", 0);
    expect_refused(1, long_name);
    expect_refused(2, "cmd=info-getjobattr-response;rc=0;found=FALSE;");
    expect_refused(2, "cmd=info-getjobattr-response;rc=0;found=TRUE;");
    expect_refused(2, "cmd=info-getjobattr-response;rc=0;value=(vector,(0,2,2));");
    expect_refused(2, "cmd=info-getjobattr-response;found=TRUE;value=(vector,(0,0,2));");
    expect_refused(2, "cmd=info-getjobattr-response;found=TRUE;value=;");
}

/* These bytes instead of an answer, after which nothing more is read. */
static void expect_bytes_refused(bool is_agreed, const char *bytes)
{
    struct client client = start(open_only);
    char line[TEXT];

    if (is_agreed) {
        agree(&client);
        expect(&client, full);
    } else {
        take(&client, line, sizeof(init) - 1);
    }
    say(&client, bytes);
    end(&client, WEFT_ERR_LAUNCH);
}

static void bytes_that_are_no_answer_are_refused(void **state)
{
    (void)state;
    expect_bytes_refused(true, "-00001x");
    expect_bytes_refused(true, "      cmd=fullinit-response;");
    expect_bytes_refused(true, "000000");
    expect_bytes_refused(true, "1 2   x");
    expect_bytes_refused(true, "0x0010cmd=fullinit-response;");
    expect_bytes_refused(true, "999999cmd=fullinit-response;");
    expect_bytes_refused(true, "12");
    expect_bytes_refused(true, "");
    expect_bytes_refused(false, "");
    expect_bytes_refused(false, "cmd=response_to_i");
    expect_bytes_refused(false, "\n");
    expect_bytes_refused(false, "HTTP/1.1 400 Bad Request\n");
    expect_bytes_refused(false, "cmd=response_to_init rc=-1 pmi_version=1\n");
    expect_bytes_refused(false, "cmd=response_to_init pmi_version=2 rc=1\n");
    expect_bytes_refused(false, "cmd=response_to_init pmi_version=1 rc=0\n");
}

static void a_line_is_not_endless(void **state)
{
    char line[1000];

    (void)state;
    memset(line, ' ', sizeof(line));
    memcpy(line, welcome, sizeof(welcome) - 2);
    memcpy(line + sizeof(line) - 2, "\n", 2);
    expect_bytes_refused(false, line);
}

/* ---- what comes after opening ---- */

static int put_and_get(void)
{
    struct weft_who who = {.rank = -1};
    char value[WEFT_KVS_VALUE_MAX + 1];
    char longest[WEFT_KVS_VALUE_MAX + 1];

    SO(weft_pmi2()->open(&who) == WEFT_OK);
    SO(weft_pmi2()->put("a", "1,x;2;") == WEFT_OK);
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    SO(weft_pmi2()->put("b", longest) == WEFT_OK);
    SO(weft_pmi2()->put("c", "") == WEFT_ERR_LAUNCH); /* which is refused */
    SO(weft_pmi2()->fence(true) == WEFT_OK);
    SO(weft_pmi2()->get(1, "a", value) == WEFT_OK && strcmp(value, "1,x;2;") == 0);
    SO(weft_pmi2()->get(1, "b", value) == WEFT_OK && strcmp(value, longest) == 0);
    SO(weft_pmi2()->get(1, "c", value) == WEFT_ERR_ARGUMENT);
    SO(weft_pmi2()->get(1, "d", value) == WEFT_ERR_ARGUMENT); /* one byte too long */
    SO(weft_pmi2()->get(1, "e", value) == WEFT_OK && strcmp(value, "x;y") == 0);
    weft_pmi2()->abort(7, "a cause");
    weft_pmi2()->close();
    return 0;
}

static void values_come_back_as_they_were_put(void **state)
{
    struct client client = start(put_and_get);
    char longest[WEFT_KVS_VALUE_MAX + 2];
    char text[TEXT];

    (void)state;
    open_well(&client);
    talk(&client, "cmd=kvs-put;key=a;value=1,x 2 ;", "cmd=kvs-put-response;rc=0;");
    memset(longest, 'x', sizeof(longest) - 1);
    longest[WEFT_KVS_VALUE_MAX] = '\0';
    snprintf(text, sizeof(text), "cmd=kvs-put;key=b;value=%s;", longest);
    talk(&client, text, "cmd=kvs-put-response;rc=0;");
    talk(&client, "cmd=kvs-put;key=c;value=;", "cmd=kvs-put-response;rc=14;");
    talk(&client, "cmd=kvs-fence;", "cmd=kvs-fence-response;rc=0;errmsg=;");
    talk(&client, "cmd=kvs-get;jobid=7.0;srcid=-1;key=a;",
         "cmd=kvs-get-response;rc=0;found=TRUE;value=1,x 2 ;");
    snprintf(text, sizeof(text), "cmd=kvs-get-response;found=TRUE;value=%s;", longest);
    talk(&client, "cmd=kvs-get;jobid=7.0;srcid=-1;key=b;", text);
    talk(&client, "cmd=kvs-get;jobid=7.0;srcid=-1;key=c;",
         "cmd=kvs-get-response;rc=0;found=FALSE;");
    snprintf(text, sizeof(text), "cmd=kvs-get-response;found=TRUE;value=%sx;", longest);
    talk(&client, "cmd=kvs-get;jobid=7.0;srcid=-1;key=d;", text);
    talk(&client, "cmd=kvs-get;jobid=7.0;srcid=-1;key=e;",
         "cmd=kvs-get-response;found=TRUE;value=x;;y;rc=0;");
    expect(&client, "cmd=abort;isworld=TRUE;msg=MPI_Abort;");
    talk(&client, "cmd=finalize;", "cmd=finalize-response;rc=0;");
    end(&client, 0);
}

static int fence_only(void)
{
    struct weft_who who = {.rank = -1};

    SO(weft_pmi2()->open(&who) == WEFT_OK);
    return (int)weft_pmi2()->fence(false);
}

static void a_launcher_that_hangs_up_is_an_error_and_no_signal(void **state)
{
    struct client client = start(open_only);

    (void)state;
    end(&client, WEFT_ERR_LAUNCH); /* at once */

    client = start(fence_only);
    open_well(&client);
    expect(&client, "cmd=kvs-fence;");
    end(&client, WEFT_ERR_LAUNCH);
}

/* The launcher's word that the fence of the other thread has reached it. */
static int is_in_fence[2];

static void *fence_aside(void *arg)
{
    (void)arg;
    SO(weft_pmi2()->fence(false) == WEFT_OK);
    return NULL;
}

static int ask_in_a_fence(void)
{
    char value[WEFT_KVS_VALUE_MAX + 1];
    pthread_t thread;
    char word;

    SO(open_only() == WEFT_OK);
    for (int i = 0; i < 2; i++) {
        SO(pthread_create(&thread, NULL, fence_aside, NULL) == 0);
        SO(read(is_in_fence[0], &word, 1) == 1);
        SO(weft_pmi2()->get(1, "here", value) == WEFT_OK && strcmp(value, "x") == 0);
        SO(pthread_join(thread, NULL) == 0);
    }
    return 0;
}

static void two_threads_that_ask_get_each_its_answer(void **state)
{
    static const char fence_yes[] = "cmd=kvs-fence-response;rc=0;";
    static const char value[] = "cmd=kvs-get-response;rc=0;found=TRUE;value=x;";
    struct client client;

    (void)state;
    assert_int_equal(pipe(is_in_fence), 0);
    client = start(ask_in_a_fence);
    open_well(&client);
    for (int i = 0; i < 2; i++) { /* the value is answered first, then the fence */
        expect(&client, "cmd=kvs-fence;");
        assert_int_equal(write(is_in_fence[1], "", 1), 1);
        expect(&client, "cmd=kvs-get;jobid=7.0;srcid=-1;key=here;");
        answer_by(&client, "%-6d", i == 0 ? value : fence_yes);
        answer_by(&client, "%-6d", i == 0 ? fence_yes : value);
    }
    end(&client, 0);
    close(is_in_fence[0]);
    close(is_in_fence[1]);
}

static void *fence_in_vain(void *arg)
{
    (void)arg;
    SO(weft_pmi2()->fence(false) == WEFT_ERR_LAUNCH);
    return NULL;
}

enum { REFUSALS = 50 };

static int ask_in_a_refused_fence(void)
{
    char value[WEFT_KVS_VALUE_MAX + 1];
    pthread_t thread;
    char word;

    SO(open_only() == WEFT_OK);
    for (int i = 0; i < REFUSALS; i++) {
        SO(pthread_create(&thread, NULL, fence_in_vain, NULL) == 0);
        SO(read(is_in_fence[0], &word, 1) == 1);
        SO(weft_pmi2()->get(1, "here", value) == WEFT_OK && strcmp(value, "x") == 0);
        SO(pthread_join(thread, NULL) == 0);
    }
    return 0;
}

/* Both come at once: the fence reads them, as a rule before the other thread is awake. */
static void a_refusal_takes_no_other_answers_place(void **state)
{
    static const char value[] = "cmd=kvs-get-response;rc=0;found=TRUE;value=x;";
    static const char refusal[] = "cmd=unknown-response;rc=1;";
    char both[TEXT];
    struct client client;

    (void)state;
    assert_int_equal(pipe(is_in_fence), 0);
    client = start(ask_in_a_refused_fence);
    open_well(&client);
    snprintf(both, sizeof(both), "%-6d%s%-6d%s", (int)strlen(value), value,
             (int)strlen(refusal), refusal);
    for (int i = 0; i < REFUSALS; i++) {
        expect(&client, "cmd=kvs-fence;");
        assert_int_equal(write(is_in_fence[1], "", 1), 1);
        expect(&client, "cmd=kvs-get;jobid=7.0;srcid=-1;key=here;");
        say(&client, both);
    }
    end(&client, 0);
    close(is_in_fence[0]);
    close(is_in_fence[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_threads_that_ask_get_each_its_answer),
        cmocka_unit_test(a_refusal_takes_no_other_answers_place),
        cmocka_unit_test(open_tells_who_we_are),
        cmocka_unit_test(a_length_may_stand_at_either_end_of_its_six_characters),
        cmocka_unit_test(a_wrong_answer_is_refused),
        cmocka_unit_test(bytes_that_are_no_answer_are_refused),
        cmocka_unit_test(a_line_is_not_endless),
        cmocka_unit_test(values_come_back_as_they_were_put),
        cmocka_unit_test(a_launcher_that_hangs_up_is_an_error_and_no_signal),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
