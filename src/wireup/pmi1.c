/*
 * pmi1.c - PMI-1, the client's side: see kvs.h. Every request and every answer is a line
 * of key=value words, the first of which names the command. The descriptor is inherited;
 * its number is in PMI_FD.
 *
 * One thread may wait for a fence while others ask for something: each exchange of lines
 * has a mutex, and the end of the fence is noted by whoever reads it.
 */
#include "wireup/kvs.h"

#include "base/log.h"
#include "base/texts.h"
#include "wireup/passing.h"
#include "wireup/pmi_fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 4096, LOOKUP_LISTS = 256 };

/*
 * A word of another rank that was asked for. Our mpiexec answers when that rank has put
 * it, and names rank and key, so that several can be asked for at once.
 */
struct lookup {
    struct lookup *next;
    int rank;
    char key[64];
    char *answer; /* the whole line; NULL: it has not come */
};

static struct {
    int fd;
    char kvs[256];     /* the name of our job's key-value space */
    char buffer[LINE]; /* what has arrived beyond the last line */
    size_t held;
    int own_rank; /* under our own mpiexec, which keeps keys by rank; else -1 */
    struct lookup *lookups[LOOKUP_LISTS]; /* that were asked for there, by rank */
    int answers; /* of these, that have come and were not taken */
    bool is_in_fence;
    bool is_fence_over;
} pmi = {.fd = -1, .own_rank = -1};

static const char PROTOCOL[] = "PMI-1";
static pthread_mutex_t talk = PTHREAD_MUTEX_INITIALIZER; /* for all of the above */

static enum weft_rc lost(const char *doing, const char *why)
{
    return weft_pmi_lost(PROTOCOL, doing, why, pmi.kvs[0] == '\0');
}

/* Reads up to the next newline, which is cut off. */
static enum weft_rc read_line(char *line)
{
    for (;;) {
        char *end = memchr(pmi.buffer, '\n', pmi.held);
        ssize_t n;

        if (end != NULL) {
            size_t length = (size_t)(end - pmi.buffer);

            memcpy(line, pmi.buffer, length);
            line[length] = '\0';
            pmi.held -= length + 1;
            memmove(pmi.buffer, end + 1, pmi.held);
            return WEFT_OK;
        }
        if (pmi.held == sizeof(pmi.buffer)) {
            return lost("read", "a line without end");
        }
        n = read(pmi.fd, pmi.buffer + pmi.held, sizeof(pmi.buffer) - pmi.held);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return lost("read", n == 0 ? "closed by the launcher" : strerror(errno));
        }
        pmi.held += (size_t)n;
    }
}

/* Copies the word behind "key=" into `value`; false if the line has none. */
static bool find_word(const char *line, const char *key, char *value, size_t size)
{
    size_t length = strlen(key);

    for (const char *w = line; w != NULL; w = strchr(w, ' ')) {
        w += *w == ' ' ? 1 : 0;
        if (strncmp(w, key, length) == 0 && w[length] == '=') {
            size_t n = strcspn(w + length + 1, " ");

            if (n >= size) {
                return false;
            }
            memcpy(value, w + length + 1, n);
            value[n] = '\0';
            return true;
        }
    }
    return false;
}

static struct lookup **find_lookup(int rank, const char *key)
{
    struct lookup **at = &pmi.lookups[(unsigned)rank % LOOKUP_LISTS];

    while (*at != NULL && ((*at)->rank != rank || strcmp((*at)->key, key) != 0)) {
        at = &(*at)->next;
    }
    return at;
}

/* Is this the answer to a lookup, or the end of a fence? Then it is kept for whoever has
 * asked. */
static bool keep_answer(const char *line)
{
    char number[16];
    char key[64];
    struct lookup *found;

    if (pmi.is_in_fence && strncmp(line, "cmd=barrier_out", 15) == 0) {
        pmi.is_fence_over = true;
        return true;
    }
    if (strncmp(line, "cmd=get_result ", 15) != 0 ||
        !find_word(line, "rank", number, sizeof(number)) ||
        !find_word(line, "key", key, sizeof(key))) {
        return false;
    }
    found = *find_lookup(atoi(number), key);
    if (found != NULL && found->answer == NULL) { /* else a program before us has asked */
        found->answer = strdup(line);
        pmi.answers += found->answer != NULL;
    }
    return true;
}

/* The next line that is not kept for somebody. */
static enum weft_rc read_other_line(char *line)
{
    enum weft_rc rc;

    do {
        rc = read_line(line);
    } while (rc == WEFT_OK && keep_answer(line));
    return rc;
}

/* Has something come? Waits for it for so many milliseconds; -1: until it has. */
static bool has_come(int patience)
{
    struct pollfd come = {.fd = pmi.fd, .events = POLLIN};

    return memchr(pmi.buffer, '\n', pmi.held) != NULL || poll(&come, 1, patience) > 0;
}

/* Takes a line that has come. Nothing but answers to lookups and the end of a fence comes
 * without being waited for. */
static enum weft_rc take_answer(void)
{
    char line[LINE];
    const enum weft_rc rc = read_line(line);

    if (rc == WEFT_OK && !keep_answer(line)) {
        weft_log_error(WEFT_S_PMI_UNASKED, line);
        return WEFT_ERR_LAUNCH;
    }
    return rc;
}

/*
 * Waits until the socket takes a line. Our mpiexec stops reading requests while it cannot
 * send answers, so this takes answers, which are those to lookups.
 */
static enum weft_rc wait_until_writable(void)
{
    enum weft_rc rc = WEFT_OK;

    while (rc == WEFT_OK) {
        struct pollfd socket = {.fd = pmi.fd, .events = POLLIN | POLLOUT};
        const int n = poll(&socket, 1, -1);

        if (n > 0 && (socket.revents & POLLIN) != 0 && (socket.revents & POLLOUT) == 0) {
            rc = take_answer();
        } else if (n > 0 || errno != EINTR) {
            break; /* writing says what is wrong, if something is */
        }
    }
    return rc;
}

static enum weft_rc send_line(const char *line)
{
    const enum weft_rc rc = pmi.own_rank >= 0 ? wait_until_writable() : WEFT_OK;

    if (rc != WEFT_OK) {
        return rc;
    }
    return weft_pmi_write_all(pmi.fd, line, strlen(line))
               ? WEFT_OK
               : lost("write", strerror(errno));
}

/*
 * One request and its answer, which must be the command `wanted`. `answer` holds the
 * whole line, of LINE bytes.
 */
static enum weft_rc ask(const char *request, const char *wanted, char *answer)
{
    char command[64];
    enum weft_rc rc = send_line(request);

    if (rc == WEFT_OK) {
        rc = read_other_line(answer);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    if (!find_word(answer, "cmd", command, sizeof(command)) ||
        strcmp(command, wanted) != 0) {
        weft_log_error(WEFT_S_PMI_ANSWER, wanted, answer);
        return WEFT_ERR_LAUNCH;
    }
    return WEFT_OK;
}

static bool is_granted(const char *answer)
{
    char code[16];

    return find_word(answer, "rc", code, sizeof(code)) && strcmp(code, "0") == 0;
}

/* The word that tells our own mpiexec whose key it is. */
static void name_rank(char *word, size_t size, int rank)
{
    word[0] = '\0';
    if (pmi.own_rank >= 0 && rank >= 0) {
        snprintf(word, size, " rank=%d", rank);
    }
}

/* `rank` is who has put it, or -1: it is nobody's in particular. */
static enum weft_rc get_value(int rank, const char *key, char *value, size_t size)
{
    char whose[32];
    char request[LINE];
    char answer[LINE];
    enum weft_rc rc;

    name_rank(whose, sizeof(whose), rank);
    snprintf(request, sizeof(request), "cmd=get kvsname=%s key=%s%s\n", pmi.kvs, key,
             whose);
    rc = ask(request, "get_result", answer);
    if (rc != WEFT_OK) {
        return rc;
    }
    if (!is_granted(answer) || !find_word(answer, "value", value, size)) {
        return WEFT_ERR_ARGUMENT; /* nobody put it */
    }
    return WEFT_OK;
}

/* ---- lookups, which do not wait ---- */

/* `at` is the end of the list where find_lookup() has found none. */
static enum weft_rc begin_lookup(struct lookup **at, int rank, const char *key)
{
    struct lookup *made = calloc(1, sizeof(*made));
    char request[LINE];

    if (made == NULL) {
        return WEFT_ERR_NOMEM;
    }
    made->rank = rank;
    snprintf(made->key, sizeof(made->key), "%s", key);
    *at = made;
    snprintf(request, sizeof(request), "cmd=get kvsname=%s key=%s rank=%d\n", pmi.kvs,
             key, rank);
    return send_line(request);
}

static enum weft_rc take_answers(int patience)
{
    enum weft_rc rc = WEFT_OK;

    while (rc == WEFT_OK && has_come(patience)) {
        rc = take_answer();
        patience = 0;
    }
    return rc;
}

/* What has come of it; it is over then. */
static enum weft_rc end_lookup(struct lookup **at, char *value)
{
    struct lookup *over = *at;
    const bool is_there = is_granted(over->answer) &&
                          find_word(over->answer, "value", value, WEFT_KVS_VALUE_MAX + 1);

    *at = over->next;
    free(over->answer);
    free(over);
    pmi.answers--;
    return is_there ? WEFT_OK : WEFT_ERR_ARGUMENT; /* it ended, and had put nothing */
}

static enum weft_rc look_up(int rank, const char *key, char *value, int patience)
{
    struct lookup **at = find_lookup(rank, key);
    enum weft_rc rc = *at == NULL ? begin_lookup(at, rank, key) : WEFT_OK;

    if (rc == WEFT_OK && (*at)->answer == NULL) { /* else nothing more may come */
        rc = take_answers(patience);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    at = find_lookup(rank, key);
    return (*at)->answer != NULL ? end_lookup(at, value) : WEFT_AGAIN;
}

static enum weft_rc look_up_once(int rank, const char *key, char *value, int patience)
{
    enum weft_rc rc;

    pthread_mutex_lock(&talk);
    rc = pmi.own_rank >= 0 ? look_up(rank, key, value, patience)
                           : get_value(rank, key, value, WEFT_KVS_VALUE_MAX + 1);
    pthread_mutex_unlock(&talk);
    return rc;
}

static enum weft_rc try_get(int rank, const char *key, char *value)
{
    return look_up_once(rank, key, value, 0);
}

/* A failure is told by try_get(). */
static bool has_answers(void)
{
    bool has_some;

    pthread_mutex_lock(&talk);
    has_some = take_answers(0) != WEFT_OK || pmi.answers > 0;
    pthread_mutex_unlock(&talk);
    return has_some;
}

static int descriptor(void)
{
    return pmi.own_rank >= 0 ? pmi.fd : -1;
}

static enum weft_rc get(int rank, const char *key, char *value)
{
    enum weft_rc rc;

    do {
        rc = look_up_once(rank, key, value, -1);
    } while (rc == WEFT_AGAIN);
    return rc;
}

static enum weft_rc read_locations(struct weft_who *who, struct weft_location *map)
{
    char text[LINE];
    enum weft_rc rc = get_value(-1, "PMI_process_mapping", text, sizeof(text));

    if (rc == WEFT_ERR_LAUNCH) {
        return rc;
    }
    if (rc != WEFT_OK || weft_pmi1_read_mapping(text, who, map) != WEFT_OK) {
        weft_log_error(WEFT_S_PMI_MAPPING);
        return WEFT_ERR_LAUNCH;
    }
    return WEFT_OK;
}

static enum weft_rc hello(struct weft_who *who)
{
    char answer[LINE];
    enum weft_rc rc =
        ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", answer);

    if (rc == WEFT_OK && !is_granted(answer)) {
        weft_log_error(WEFT_S_PMI_REFUSED, answer);
        rc = WEFT_ERR_LAUNCH;
    }
    if (rc == WEFT_OK) {
        rc = ask("cmd=get_my_kvsname\n", "my_kvsname", answer);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    if (!find_word(answer, "kvsname", pmi.kvs, sizeof(pmi.kvs))) {
        weft_log_error(WEFT_S_PMI_SPACE, answer);
        return WEFT_ERR_LAUNCH;
    }
    snprintf(who->job, sizeof(who->job), "%s", pmi.kvs);
    return WEFT_OK;
}

void weft_pmi1_adopt(int fd, int rank)
{
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0) {
        pmi.fd = fd;
        pmi.own_rank = rank;
    }
}

/* Why our mpiexec has no memory for another MPI program of this rank. */
static enum weft_rc refused(const char *answer)
{
    char why[64] = "";

    find_word(answer, "msg", why, sizeof(why));
    if (strcmp(why, "in_use") != 0) { /* which mpiexec says itself, and ends the job */
        weft_log_error(WEFT_S_NEXT_PROGRAM, why[0] != '\0' ? why : "no answer");
    }
    return WEFT_ERR_LAUNCH;
}

static void close_descriptor(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* As read_line(); *fd is the last descriptor that came beside what was read, if one did,
 * also if this fails. */
static enum weft_rc read_line_and_descriptor(char *line, int *fd)
{
    while (memchr(pmi.buffer, '\n', pmi.held) == NULL && pmi.held < sizeof(pmi.buffer)) {
        int passed = -1;
        ssize_t n = weft_take_descriptor(pmi.fd, pmi.buffer + pmi.held,
                                         sizeof(pmi.buffer) - pmi.held, &passed);

        if (passed >= 0) {
            close_descriptor(fd);
            *fd = passed;
        }
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return WEFT_ERR_LAUNCH;
        }
        pmi.held += (size_t)n;
    }
    return read_line(line);
}

/* The descriptor comes with the first byte of the answer. The program before us may have
 * ended without having read the answers to all its lookups, which come first then. */
static enum weft_rc read_next_program(char *answer, int *fd)
{
    enum weft_rc rc;

    do {
        rc = read_line_and_descriptor(answer, fd);
    } while (rc == WEFT_OK && keep_answer(answer));
    return rc;
}

enum weft_rc weft_pmi1_next_program(int *fd, int *program)
{
    char answer[LINE] = "";
    char number[16];
    int passed = -1;
    bool is_answered;

    if (pmi.fd < 0 || send_line("cmd=next_program\n") != WEFT_OK) {
        return refused("");
    }
    is_answered = read_next_program(answer, &passed) == WEFT_OK;
    if (!is_answered || passed < 0 || !is_granted(answer) ||
        !find_word(answer, "program", number, sizeof(number))) {
        close_descriptor(&passed);
        return refused(is_answered ? answer : "");
    }
    *fd = passed;
    *program = atoi(number);
    return WEFT_OK;
}

static bool pmi1_is_lazy(void)
{
    return pmi.own_rank >= 0;
}

static enum weft_rc pmi1_open(struct weft_who *who)
{
    enum weft_rc rc = weft_pmi_inherit(PROTOCOL, &pmi.fd, who);

    if (rc == WEFT_OK) {
        rc = hello(who);
    }
    /* Under our own mpiexec the segment says where ranks run. */
    return rc != WEFT_OK || pmi1_is_lazy() ? rc : read_locations(who, NULL);
}

static enum weft_rc pmi1_locations(const struct weft_who *who, struct weft_location *map)
{
    struct weft_who copy = *who;

    return read_locations(&copy, map);
}

static enum weft_rc put(const char *key, const char *value)
{
    char whose[32];
    char request[LINE];
    char answer[LINE];
    enum weft_rc rc;

    name_rank(whose, sizeof(whose), pmi.own_rank);
    snprintf(request, sizeof(request), "cmd=put kvsname=%s key=%s value=%s%s\n", pmi.kvs,
             key, value, whose);
    pthread_mutex_lock(&talk);
    rc = ask(request, "put_result", answer);
    pthread_mutex_unlock(&talk);
    if (rc != WEFT_OK) {
        return rc;
    }
    if (!is_granted(answer)) {
        weft_log_error(WEFT_S_PMI_KEY, key, answer);
        return WEFT_ERR_LAUNCH;
    }
    return WEFT_OK;
}

static enum weft_rc begin_fence(void)
{
    enum weft_rc rc;

    pthread_mutex_lock(&talk);
    pmi.is_in_fence = true;
    pmi.is_fence_over = false;
    rc = send_line("cmd=barrier_in\n");
    pthread_mutex_unlock(&talk);
    return rc;
}

/* Reads what has come, unless another thread has read the end of the fence. */
static enum weft_rc look_for_end(bool *is_over)
{
    enum weft_rc rc = WEFT_OK;

    pthread_mutex_lock(&talk);
    while (rc == WEFT_OK && !pmi.is_fence_over && has_come(0)) {
        rc = take_answer();
    }
    *is_over = pmi.is_fence_over;
    pmi.is_in_fence = !*is_over;
    pthread_mutex_unlock(&talk);
    return rc;
}

/* The sleep ends when a line comes. It ends by itself after a moment, too: another thread
 * may have read the line, and cannot wake us. */
static enum weft_rc fence(bool is_collecting)
{
    enum { MOMENT_MS = 10 };
    bool is_over = false;
    enum weft_rc rc = begin_fence();

    (void)is_collecting; /* what is put is there for all, afterwards */
    while (rc == WEFT_OK) {
        struct pollfd come = {.fd = pmi.fd, .events = POLLIN};

        rc = look_for_end(&is_over);
        if (is_over) {
            break;
        }
        (void)poll(&come, 1, MOMENT_MS);
    }
    return rc;
}

static void pmi1_abort(int code, const char *cause)
{
    char line[64];
    int n = snprintf(line, sizeof(line), "cmd=abort exitcode=%d\n", code);

    (void)cause;
    if (pmi.fd >= 0 && !weft_pmi_write_all(pmi.fd, line, (size_t)n)) {
        return; /* the launcher is gone: our exit has to do */
    }
}

static void pmi1_close(void)
{
    char answer[LINE];

    if (pmi.fd >= 0) {
        if (ask("cmd=finalize\n", "finalize_ack", answer) != WEFT_OK) {
            weft_log_info("PMI-1: the launcher did not confirm the end of this rank");
        }
        close(pmi.fd);
        pmi.fd = -1;
    }
}

const struct weft_kvs_ops weft_pmi1_ops = {
    .name = "pmi-1",
    .open = pmi1_open,
    .locations = pmi1_locations,
    .put = put,
    .fence = fence,
    .get = get,
    .try_get = try_get,
    .has_answers = has_answers,
    .descriptor = descriptor,
    .is_lazy = pmi1_is_lazy,
    .abort = pmi1_abort,
    .close = pmi1_close,
};
