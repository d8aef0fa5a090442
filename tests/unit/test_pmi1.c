/*
 * test_pmi1.c - PMI-1, the client's side, against a launcher that answers as it is told.
 *
 * The client keeps its state for the whole life of a process, so each case has a process
 * of its own for it; the test is the launcher. What the client returns, or that its own
 * claims do not hold, is its exit code.
 */
#include "unit.h"

#include "wireup/kvs.h"
#include "wireup/passing.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 8192, NOT_SO = 100, PATIENCE_MS = 10000 };

/* A claim of the client's. */
#define SO(claim)                                                                        \
    do {                                                                                 \
        if (!(claim)) {                                                                  \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #claim);          \
            _exit(NOT_SO);                                                               \
        }                                                                                \
    } while (0)

static const char init[] = "cmd=init pmi_version=1 pmi_subversion=1";
static const char welcome[] = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0";
static const char ask_name[] = "cmd=get_my_kvsname";
static const char name[] = "cmd=my_kvsname kvsname=kvs_1";
static const char ask_map[] = "cmd=get kvsname=kvs_1 key=PMI_process_mapping";
static const char map[] = "cmd=get_result rc=0 msg=success value=(vector,(0,2,2))";

static bool takes_half; /* the socket, as after a signal */

ssize_t __wrap_send(int fd, const void *text, size_t size, int flags);
ssize_t __real_send(int fd, const void *text, size_t size, int flags);

ssize_t __wrap_send(int fd, const void *text, size_t size, int flags)
{
    return __real_send(fd, text, takes_half && size > 1 ? size / 2 : size, flags);
}

static int go[2]; /* a pipe: the client may go on, or does */

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
        setenv("WEFT_LOG", "none", 1);
        alarm(PATIENCE_MS / 1000);
        _exit(act());
    }
    close(ends[1]);
    return client;
}

/* The client's next request, which must be this one. */
static void expect(const struct client *client, const char *request)
{
    char line[LINE];
    size_t n = 0;
    struct pollfd ready = {.fd = client->fd, .events = POLLIN};

    do {
        assert_true(n < sizeof(line) - 1);
        assert_int_equal(poll(&ready, 1, PATIENCE_MS), 1);
        assert_int_equal(read(client->fd, line + n, 1), 1);
    } while (line[n++] != '\n');
    line[n - 1] = '\0';
    assert_string_equal(line, request);
}

static void say(const struct client *client, const char *text)
{
    size_t length = strlen(text);

    assert_int_equal(send(client->fd, text, length, MSG_NOSIGNAL), length);
}

static void answer(const struct client *client, const char *line)
{
    say(client, line);
    say(client, "\n");
}

static void talk(const struct client *client, const char *request, const char *line)
{
    expect(client, request);
    answer(client, line);
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

/* The client has given up: it asks nothing more and ends by itself with this code. */
static void end_itself(struct client *client, int code)
{
    char byte;

    assert_int_equal(read(client->fd, &byte, 1), 0);
    end(client, code);
}

static void open_well(const struct client *client)
{
    talk(client, init, welcome);
    talk(client, ask_name, name);
    talk(client, ask_map, map);
}

/* ---- clients ---- */

static int open_only(void)
{
    struct weft_who who = {.rank = -1};

    return (int)weft_pmi1_ops.open(&who);
}

static int open_and_look(void)
{
    struct weft_who who = {.rank = -1};
    int fd = atoi(getenv("PMI_FD"));

    SO((fcntl(fd, F_GETFD) & FD_CLOEXEC) == 0);
    SO(weft_pmi1_ops.open(&who) == WEFT_OK);
    SO((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    SO(strcmp(who.job, "kvs_1") == 0);
    SO(who.rank == 2 && who.size == 4);
    SO(who.node == 1 && who.node_count == 2);
    SO(who.local_rank == 0 && who.local_size == 2 && who.leader == 2);
    return 0;
}

static struct weft_who opened(void)
{
    struct weft_who who = {.rank = -1};

    SO(weft_pmi1_ops.open(&who) == WEFT_OK);
    return who;
}

/* ---- cases: opening ---- */

static void open_tells_who_we_are(void **state)
{
    struct client client = start(open_and_look);

    (void)state;
    open_well(&client);
    end(&client, 0);
}

/* Byte by byte, each in a packet that the client must have taken before the next. */
static void answer_in_pieces(const struct client *client, const char *line)
{
    for (; *line != '\0'; line++) {
        assert_int_equal(send(client->fd, line, 1, 0), 1);
        if (line[1] == ' ') {
            usleep(1000);
        }
    }
    usleep(1000);
    say(client, "\n");
}

static void answers_may_come_in_pieces(void **state)
{
    struct client client = start(open_and_look);

    (void)state;
    expect(&client, init);
    answer_in_pieces(&client, welcome);
    expect(&client, ask_name);
    answer_in_pieces(&client, name);
    expect(&client, ask_map);
    answer_in_pieces(&client, map);
    end(&client, 0);
}

static void answers_may_come_together(void **state)
{
    struct client client = start(open_and_look);
    char all[LINE];

    (void)state;
    snprintf(all, sizeof(all), "%s\n%s\n%s\n", welcome, name, map);
    say(&client, all);
    expect(&client, init);
    expect(&client, ask_name);
    expect(&client, ask_map);
    end(&client, 0);
}

/* Open fails at this answer, which takes the place of a good one. */
static void expect_refused(int good_ones, const char *bad)
{
    static const char *const requests[] = {init, ask_name, ask_map};
    static const char *const answers[] = {welcome, name, map};
    struct client client = start(open_only);

    for (int i = 0; i < good_ones; i++) {
        talk(&client, requests[i], answers[i]);
    }
    talk(&client, requests[good_ones], bad);
    end_itself(&client, WEFT_ERR_LAUNCH);
}

static void a_wrong_answer_is_refused(void **state)
{
    char long_name[600];

    (void)state;
    expect_refused(0, "cmd=my_kvsname kvsname=x");
    expect_refused(0, "cmd=response_to_initial rc=0");
    expect_refused(0, "response_to_init rc=0");
    expect_refused(0, "xcmd=response_to_init rc=0");
    expect_refused(0, "cmd");
    expect_refused(0, "cmd=");
    expect_refused(0, "");
    expect_refused(0, "   ");
    expect_refused(0, "HTTP/1.1 400 Bad Request");
    expect_refused(0, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=-1");
    expect_refused(0, "cmd=response_to_init pmi_version=1 pmi_subversion=1");
    expect_refused(1, "cmd=my_kvsname");
    expect_refused(1, "cmd=my_kvsname name=x");
    snprintf(long_name, sizeof(long_name), "cmd=my_kvsname kvsname=%0300d", 0);
    expect_refused(1, long_name);
    expect_refused(2, "cmd=put_result rc=0");
    expect_refused(2, "cmd=get_result rc=-1 msg=key_not_found value=unknown");
    expect_refused(2, "cmd=get_result rc=0 msg=success");
    expect_refused(2, "cmd=get_result msg=success value=(vector,(0,2,2))");
    expect_refused(2, "cmd=get_result rc=0 value=(vector,(0,0,2))");
    expect_refused(2, "cmd=get_result rc=0 value=");
}

static void a_long_map_is_read(void **state)
{
    struct client client = start(open_and_look);
    char line[4000];
    int n = snprintf(line, sizeof(line), "cmd=get_result rc=0 value=(vector");

    (void)state;
    for (int i = 0; n < 3900; i++) {
        n += snprintf(line + n, sizeof(line) - (size_t)n, ",(%d,1,2)", i);
    }
    snprintf(line + n, sizeof(line) - (size_t)n, ")");
    talk(&client, init, welcome);
    talk(&client, ask_name, name);
    talk(&client, ask_map, line);
    end(&client, 0);
}

static void a_launcher_that_hangs_up_is_an_error_and_no_signal(void **state)
{
    struct client client = start(open_only);

    (void)state;
    end(&client, WEFT_ERR_LAUNCH); /* at once */

    client = start(open_only);
    expect(&client, init);
    end(&client, WEFT_ERR_LAUNCH); /* instead of an answer */

    client = start(open_only);
    expect(&client, init);
    say(&client, "cmd=response_to_i");
    end(&client, WEFT_ERR_LAUNCH); /* within one */

    client = start(open_only);
    talk(&client, init, welcome);
    expect(&client, ask_name);
    end(&client, WEFT_ERR_LAUNCH);
}

/* `welcome` and blanks, so that the line has this length with its end. */
static void welcome_with(const struct client *client, size_t length)
{
    char line[LINE];

    memset(line, ' ', sizeof(line));
    memcpy(line, welcome, strlen(welcome));
    line[length - 1] = '\n';
    line[length] = '\0';
    say(client, line);
}

static void a_line_may_be_long_but_not_endless(void **state)
{
    struct client client = start(open_only);

    (void)state;
    expect(&client, init);
    welcome_with(&client, 4096);
    talk(&client, ask_name, name);
    talk(&client, ask_map, map);
    end(&client, WEFT_OK);

    client = start(open_only);
    expect(&client, init);
    welcome_with(&client, 4097);
    end(&client, WEFT_ERR_LAUNCH);

    client = start(open_only);
    expect(&client, init);
    welcome_with(&client, 8000);
    end(&client, WEFT_ERR_LAUNCH);
}

static void bytes_that_are_no_text_do_no_harm(void **state)
{
    struct client client = start(open_only);

    (void)state;
    expect(&client, init);
    assert_int_equal(send(client.fd, "cmd=\0\0\xff\xfe\n\n\0\n", 12, 0), 12);
    end(&client, WEFT_ERR_LAUNCH);
}

static int open_without_descriptor(void)
{
    close(atoi(getenv("PMI_FD")));
    return open_only();
}

static void a_closed_descriptor_is_an_error(void **state)
{
    struct client client = start(open_without_descriptor);

    (void)state;
    end_itself(&client, WEFT_ERR_LAUNCH);
}

static int open_in_nonsense(void)
{
    static const struct {
        const char *name;
        const char *value;
    } bad[] = {
        {"PMI_RANK", "4"},
        {"PMI_RANK", "-1"},
        {"PMI_RANK", "x"},
        {"PMI_RANK", "1x"},
        {"PMI_RANK", ""},
        {"PMI_RANK", "99999999999999999999"},
        {"PMI_RANK", "4294967296"},
        {"PMI_SIZE", "0"},
        {"PMI_SIZE", "2"},
        {"PMI_SIZE", "-4"},
        {"PMI_SIZE", ""},
        {"PMI_SIZE", "4 "},
        {"PMI_FD", ""},
        {"PMI_FD", "-3"},
        {"PMI_FD", "x"},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char *before = strdup(getenv(bad[i].name));

        SO(before != NULL);
        setenv(bad[i].name, bad[i].value, 1);
        SO(open_only() == WEFT_ERR_LAUNCH);
        unsetenv(bad[i].name);
        SO(open_only() == WEFT_ERR_LAUNCH);
        setenv(bad[i].name, before, 1);
        free(before);
    }
    return 0;
}

static void numbers_that_make_no_sense_are_refused(void **state)
{
    struct client client = start(open_in_nonsense);

    (void)state;
    end_itself(&client, 0);
}

/* ---- cases: what comes after opening ---- */

static int ask_places(void)
{
    struct weft_who who = opened();
    struct weft_location places[5];

    memset(places, 0xff, sizeof(places));
    SO(weft_pmi1_ops.locations(&who, places) == WEFT_OK);
    for (uint32_t r = 0; r < 4; r++) {
        SO(places[r].node == r / 2 && places[r].local_rank == r % 2);
    }
    SO(places[4].node == UINT32_MAX);
    return 0;
}

static void places_fills_the_whole_map(void **state)
{
    struct client client = start(ask_places);

    (void)state;
    open_well(&client);
    talk(&client, ask_map, map);
    end(&client, 0);
}

static int put_fence_get(void)
{
    char value[WEFT_KVS_VALUE_MAX + 1];

    opened();
    SO(weft_pmi1_ops.put("weft-2", "hello") == WEFT_OK);
    SO(weft_pmi1_ops.fence(false) == WEFT_OK);
    SO(weft_pmi1_ops.get(3, "weft-3", value) == WEFT_OK);
    SO(strcmp(value, "world=1") == 0);
    return 0;
}

static void words_are_left_and_found(void **state)
{
    struct client client = start(put_fence_get);

    (void)state;
    open_well(&client);
    talk(&client, "cmd=put kvsname=kvs_1 key=weft-2 value=hello", "cmd=put_result rc=0");
    talk(&client, "cmd=barrier_in", "cmd=barrier_out rc=0");
    talk(&client, "cmd=get kvsname=kvs_1 key=weft-3",
         "cmd=get_result rc=0 msg=success value=world=1");
    end(&client, 0);
}

/* As a rank of our own mpiexec, two of whose lookups are in the same list. */
static int look_up_two(void)
{
    enum { NEAR = 3, FAR = 3 + 256 };
    char value[WEFT_KVS_VALUE_MAX + 1];
    struct weft_who who;
    const int fd = atoi(getenv("PMI_FD"));

    weft_pmi1_adopt(fd, 2);
    SO(weft_pmi1_ops.open(&who) == WEFT_OK);
    SO(weft_pmi1_ops.descriptor() == fd);
    SO(weft_pmi1_ops.try_get(NEAR, "key", value) == WEFT_AGAIN);
    SO(weft_pmi1_ops.try_get(FAR, "key", value) == WEFT_AGAIN);
    SO(!weft_pmi1_ops.has_answers());
    SO(weft_pmi1_ops.put("weft-2", "hello") == WEFT_OK);
    SO(weft_pmi1_ops.has_answers());
    SO(weft_pmi1_ops.try_get(NEAR, "key", value) == WEFT_OK);
    SO(strcmp(value, "near") == 0);
    SO(weft_pmi1_ops.has_answers());
    SO(weft_pmi1_ops.try_get(FAR, "key", value) == WEFT_OK);
    SO(strcmp(value, "far") == 0);
    SO(!weft_pmi1_ops.has_answers());
    return 0;
}

static void answers_to_lookups_are_kept_and_told_of(void **state)
{
    struct client client = start(look_up_two);

    (void)state;
    talk(&client, init, welcome);
    talk(&client, ask_name, name);
    expect(&client, "cmd=get kvsname=kvs_1 key=key rank=3");
    expect(&client, "cmd=get kvsname=kvs_1 key=key rank=259");
    expect(&client, "cmd=put kvsname=kvs_1 key=weft-2 value=hello rank=2");
    answer(&client, "cmd=get_result rc=0 msg=success rank=259 key=key value=far");
    answer(&client, "cmd=get_result rc=0 msg=success rank=3 key=key value=near");
    answer(&client, "cmd=put_result rc=0");
    end_itself(&client, 0);
}

enum { MANY = 1000, EARLY = 300 };

/* As a rank of our own mpiexec, which asks for many words at once. */
static int look_up_many(void)
{
    char value[WEFT_KVS_VALUE_MAX + 1];
    bool is_there[MANY];
    struct weft_who who;

    weft_pmi1_adopt(atoi(getenv("PMI_FD")), 2);
    SO(weft_pmi1_ops.open(&who) == WEFT_OK);
    for (int r = 0; r < MANY; r++) {
        const enum weft_rc rc = weft_pmi1_ops.try_get(r, "key", value);

        SO(rc == WEFT_AGAIN || (rc == WEFT_OK && atoi(value) == r + 1));
        is_there[r] = rc == WEFT_OK;
        SO(r < EARLY || write(go[1], "", 1) == 1);
    }
    for (int r = 0; r < MANY; r++) {
        SO(is_there[r] || weft_pmi1_ops.get(r, "key", value) == WEFT_OK);
        SO(is_there[r] || atoi(value) == r + 1);
    }
    return 0;
}

static void expect_lookup(const struct client *client, int rank)
{
    char line[128];

    snprintf(line, sizeof(line), "cmd=get kvsname=kvs_1 key=key rank=%d", rank);
    expect(client, line);
}

/* Long enough that a socket takes some of them only. */
static void answer_lookup(const struct client *client, int rank)
{
    char line[WEFT_KVS_VALUE_MAX + 128];

    snprintf(line, sizeof(line), "cmd=get_result rc=0 rank=%d key=key value=%0*d", rank,
             WEFT_KVS_VALUE_MAX, rank + 1);
    answer(client, line);
}

/*
 * It fills the socket with questions that nobody reads, and has to take answers: until it
 * does, this launcher cannot send the rest of them, and reads nothing. That the client
 * waits in the middle of its questions is likely, but not certain.
 */
static void a_client_that_asks_takes_answers(void **state)
{
    struct client client;
    struct pollfd moves = {.events = POLLIN};
    char byte;

    (void)state;
    assert_int_equal(pipe(go), 0);
    client = start(look_up_many);
    close(go[1]);
    moves.fd = go[0];
    talk(&client, init, welcome);
    talk(&client, ask_name, name);
    for (int r = 0; r < EARLY; r++) {
        expect_lookup(&client, r);
    }
    while (poll(&moves, 1, 50) == 1 && read(go[0], &byte, 1) == 1) {
    }
    for (int r = 0; r < EARLY; r++) {
        answer_lookup(&client, r);
    }
    for (int r = EARLY; r < MANY; r++) {
        expect_lookup(&client, r);
        answer_lookup(&client, r);
    }
    end_itself(&client, 0);
    close(go[0]);
}

/* Takes the memory of a second program, and looks a word up. */
static int begin_next(void)
{
    char value[WEFT_KVS_VALUE_MAX + 1];
    struct weft_who who;
    int program = 0;
    int fd;

    weft_pmi1_adopt(atoi(getenv("PMI_FD")), 2);
    SO(weft_pmi1_next_program(&fd, &program) == WEFT_OK);
    SO(program == 1 && fcntl(fd, F_GETFD) >= 0);
    SO(weft_pmi1_ops.open(&who) == WEFT_OK);
    SO(weft_pmi1_ops.get(3, "weft-net-3-1", value) == WEFT_OK);
    SO(strcmp(value, "new") == 0);
    return 0;
}

static void pass(const struct client *client, const char *line)
{
    const int fd = dup(0);

    assert_int_equal(
        weft_pass_descriptor(client->fd, line, strlen(line), fd, MSG_NOSIGNAL),
        strlen(line));
    close(fd);
}

/* It has asked for words and ended before the answers came: they come to its successor.
 */
static void answers_to_an_earlier_program_are_dropped(void **state)
{
    const char *stale = "cmd=get_result rc=0 msg=success rank=3 key=weft-net-3 value=old";
    struct client client = start(begin_next);

    (void)state;
    expect(&client, "cmd=next_program");
    answer(&client, stale);
    answer(&client, stale);
    pass(&client, "cmd=next_program_result rc=0 program=1\n");
    expect(&client, init);
    answer(&client, stale);
    answer(&client, welcome);
    talk(&client, ask_name, name);
    expect(&client, "cmd=get kvsname=kvs_1 key=weft-net-3-1 rank=3");
    answer(&client, stale);
    answer(&client, "cmd=get_result rc=0 msg=success rank=3 key=weft-net-3-1 value=new");
    end_itself(&client, 0);
}

/* The next descriptor of this process would have this number. */
static int next_descriptor(void)
{
    const int fd = dup(0);

    close(fd);
    return fd;
}

static int begin_refused(void)
{
    const int before = next_descriptor();
    int program = 0;
    int fd = -1;

    weft_pmi1_adopt(atoi(getenv("PMI_FD")), 2);
    SO(weft_pmi1_next_program(&fd, &program) == WEFT_ERR_LAUNCH);
    SO(next_descriptor() == before);
    return 0;
}

static void expect_next_refused(const char *first, const char *second)
{
    struct client client = start(begin_refused);

    expect(&client, "cmd=next_program");
    pass(&client, first);
    if (second != NULL) {
        pass(&client, second);
    }
    end(&client, 0);
}

static void memory_that_comes_with_a_refusal_is_given_back(void **state)
{
    (void)state;
    expect_next_refused("cmd=next_program_result rc=0\n", NULL);
    expect_next_refused("cmd=next_program_result rc=-1 program=1\n", NULL);
    expect_next_refused("cmd=next_program_result rc=0 prog", NULL); /* and no more */
    expect_next_refused("cmd=next_program_result ", "rc=1\n");
}

static int put_only(void)
{
    opened();
    return (int)weft_pmi1_ops.put("key", "value");
}

static int fence_only(void)
{
    opened();
    return (int)weft_pmi1_ops.fence(false);
}

static int get_only(void)
{
    char value[WEFT_KVS_VALUE_MAX + 1];

    opened();
    return (int)weft_pmi1_ops.get(0, "key", value);
}

static void expect_code(int (*act)(void), const char *line, enum weft_rc rc)
{
    struct client client = start(act);
    char request[LINE];

    open_well(&client);
    assert_true(read(client.fd, request, sizeof(request)) > 0);
    if (line != NULL) {
        answer(&client, line);
    }
    end(&client, (int)rc);
}

static void a_key_that_nobody_put_is_told_from_a_lost_launcher(void **state)
{
    char line[2 * WEFT_KVS_VALUE_MAX];

    (void)state;
    expect_code(get_only, "cmd=get_result rc=-1 msg=key_key_not_found value=unknown",
                WEFT_ERR_ARGUMENT);
    expect_code(get_only, "cmd=get_result rc=0", WEFT_ERR_ARGUMENT);
    expect_code(get_only, "cmd=put_result rc=0", WEFT_ERR_LAUNCH);
    expect_code(get_only, NULL, WEFT_ERR_LAUNCH);
    snprintf(line, sizeof(line), "cmd=get_result rc=0 value=%0*d", WEFT_KVS_VALUE_MAX, 0);
    expect_code(get_only, line, WEFT_OK);
    snprintf(line, sizeof(line), "cmd=get_result rc=0 value=%0*d", WEFT_KVS_VALUE_MAX + 1,
             0);
    expect_code(get_only, line, WEFT_ERR_ARGUMENT);
}

static void put_and_fence_can_fail(void **state)
{
    (void)state;
    expect_code(put_only, "cmd=put_result rc=0", WEFT_OK);
    expect_code(put_only, "cmd=put_result rc=-1 msg=duplicate_key", WEFT_ERR_LAUNCH);
    expect_code(put_only, "cmd=put_result", WEFT_ERR_LAUNCH);
    expect_code(put_only, NULL, WEFT_ERR_LAUNCH);
    expect_code(fence_only, "cmd=barrier_out", WEFT_OK);
    expect_code(fence_only, "cmd=barrier_in", WEFT_ERR_LAUNCH);
    expect_code(fence_only, NULL, WEFT_ERR_LAUNCH);
}

static void *wait_in_fence(void *unused)
{
    (void)unused;
    return (void *)(uintptr_t)weft_pmi1_ops.fence(false);
}

/* One thread waits for a fence, while another one asks for something. */
static int fence_and_put(void)
{
    pthread_t thread;
    void *rc;
    char byte;

    opened();
    if (pthread_create(&thread, NULL, wait_in_fence, NULL) != 0 ||
        read(go[0], &byte, 1) != 1 || weft_pmi1_ops.put("key", "value") != WEFT_OK ||
        pthread_join(thread, &rc) != 0) {
        return -1;
    }
    return (int)(uintptr_t)rc;
}

static void the_end_of_a_fence_may_come_before_another_answer(void **state)
{
    struct client client;

    (void)state;
    assert_int_equal(pipe(go), 0);
    client = start(fence_and_put);
    open_well(&client);
    expect(&client, "cmd=barrier_in");
    assert_int_equal(write(go[1], "", 1), 1);
    expect(&client, "cmd=put kvsname=kvs_1 key=key value=value");
    answer(&client, "cmd=barrier_out rc=0");
    answer(&client, "cmd=put_result rc=0");
    end_itself(&client, WEFT_OK);
    close(go[0]);
    close(go[1]);
}

static int open_and_close(void)
{
    int fd = atoi(getenv("PMI_FD"));

    opened();
    weft_pmi1_ops.close();
    SO(fcntl(fd, F_GETFD) == -1);
    SO(dup2(STDERR_FILENO, fd) == fd); /* whose number is another's now */
    weft_pmi1_ops.close();
    SO(fcntl(fd, F_GETFD) != -1);
    return 0;
}

static void close_says_goodbye_once(void **state)
{
    struct client client = start(open_and_close);
    char byte;

    (void)state;
    open_well(&client);
    talk(&client, "cmd=finalize", "cmd=finalize_ack rc=0");
    assert_int_equal(read(client.fd, &byte, 1), 0);
    end(&client, 0);

    client = start(open_and_close); /* without an answer too */
    open_well(&client);
    end(&client, 0);
}

static int open_and_abort(void)
{
    opened();
    weft_pmi1_ops.abort(7, "for no reason");
    return 42;
}

static int adopt_and_abort(void)
{
    int fd = atoi(getenv("PMI_FD"));

    weft_pmi1_ops.abort(5, "before anything is open"); /* goes nowhere */
    weft_pmi1_adopt(fd, 0);
    SO((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    weft_pmi1_ops.abort(7, "for no reason");
    return 42;
}

static int abort_into_the_void(void)
{
    char byte;

    weft_pmi1_adopt(atoi(getenv("PMI_FD")), 0);
    SO(read(atoi(getenv("PMI_FD")), &byte, 1) == 0); /* the launcher is gone */
    weft_pmi1_ops.abort(7, "nobody hears it");
    return 42;
}

static void abort_tells_the_launcher_and_returns(void **state)
{
    struct client client = start(open_and_abort);

    (void)state;
    open_well(&client);
    expect(&client, "cmd=abort exitcode=7");
    end(&client, 42);

    client = start(adopt_and_abort);
    expect(&client, "cmd=abort exitcode=7");
    end(&client, 42);

    client = start(abort_into_the_void);
    end(&client, 42);
}

static int adopt_and_abort_in_parts(void)
{
    takes_half = true;
    return adopt_and_abort();
}

static void an_abort_that_is_taken_in_parts_is_told_whole(void **state)
{
    struct client client = start(adopt_and_abort_in_parts);

    (void)state;
    expect(&client, "cmd=abort exitcode=7");
    end(&client, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_tells_who_we_are),
        cmocka_unit_test(answers_may_come_in_pieces),
        cmocka_unit_test(answers_may_come_together),
        cmocka_unit_test(a_wrong_answer_is_refused),
        cmocka_unit_test(a_long_map_is_read),
        cmocka_unit_test(a_launcher_that_hangs_up_is_an_error_and_no_signal),
        cmocka_unit_test(a_line_may_be_long_but_not_endless),
        cmocka_unit_test(bytes_that_are_no_text_do_no_harm),
        cmocka_unit_test(a_closed_descriptor_is_an_error),
        cmocka_unit_test(numbers_that_make_no_sense_are_refused),
        cmocka_unit_test(places_fills_the_whole_map),
        cmocka_unit_test(words_are_left_and_found),
        cmocka_unit_test(answers_to_lookups_are_kept_and_told_of),
        cmocka_unit_test(a_client_that_asks_takes_answers),
        cmocka_unit_test(answers_to_an_earlier_program_are_dropped),
        cmocka_unit_test(memory_that_comes_with_a_refusal_is_given_back),
        cmocka_unit_test(a_key_that_nobody_put_is_told_from_a_lost_launcher),
        cmocka_unit_test(put_and_fence_can_fail),
        cmocka_unit_test(the_end_of_a_fence_may_come_before_another_answer),
        cmocka_unit_test(close_says_goodbye_once),
        cmocka_unit_test(abort_tells_the_launcher_and_returns),
        cmocka_unit_test(an_abort_that_is_taken_in_parts_is_told_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
