/*
 * pmi2.c - PMI-2, the client's side, as Slurm speaks it (srun --mpi=pmi2): see kvs.h.
 *
 * The first request and its answer are lines of PMI-1, which agree on the version. Behind
 * them every request and every answer is six characters, the length in decimal among
 * blanks, and so many bytes of "key=value;" words, the first of which names the command.
 * Slurm's side does not know that ";;" stands for ";" in a value, so no value has one.
 *
 * Two threads may ask at once: one is in the fence of MPI_Finalize, without the library's
 * lock, and another one, which has the lock, asks for a value that serves a peer. The
 * launcher answers the second one first. So an answer is given to whom it is for: whoever
 * reads keeps what is the other's for it.
 */
#include "wireup/kvs.h"

#include "base/log.h"
#include "base/texts.h"
#include "wireup/pmi_fd.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    DIGITS = 6, /* before each text, so that none has more than 999999 bytes */
    REQUEST = 2048,
    LINE = 512,
};

static const char PROTOCOL[] = "PMI-2";

/* Whose an answer is. */
enum asker { IN_FENCE, OTHER, ASKERS };

static struct {
    int fd;
    char job[WEFT_JOB_ID_MAX]; /* the launcher's name for it; empty: not said yet */
    pthread_mutex_t mutex;     /* of what follows, and of writing */
    pthread_cond_t has_read;
    bool is_reading; /* a thread, without the mutex */
    bool is_broken;
    bool is_asking[ASKERS];
    char *kept[ASKERS]; /* an answer that was read; or NULL */
} pmi = {
    .fd = -1, .mutex = PTHREAD_MUTEX_INITIALIZER, .has_read = PTHREAD_COND_INITIALIZER};

static enum weft_rc lost(const char *doing, const char *why)
{
    return weft_pmi_lost(PROTOCOL, doing, why, pmi.job[0] == '\0');
}

static enum weft_rc write_all(const char *text, size_t size)
{
    return weft_pmi_write_all(pmi.fd, text, size) ? WEFT_OK
                                                  : lost("write", strerror(errno));
}

static enum weft_rc read_all(char *text, size_t size)
{
    while (size > 0) {
        const ssize_t n = read(pmi.fd, text, size);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return lost("read", n == 0 ? "closed by the launcher" : strerror(errno));
        }
        text += n;
        size -= (size_t)n;
    }
    return WEFT_OK;
}

/* ---- texts ---- */

/* The length in front of a text, among blanks; 0 if these six characters are none. */
static size_t read_length(const char *digits)
{
    size_t length = 0;
    int i = 0;

    while (i < DIGITS && digits[i] == ' ') {
        i++;
    }
    for (; i < DIGITS && isdigit((unsigned char)digits[i]); i++) {
        length = 10 * length + (size_t)(digits[i] - '0');
    }
    while (i < DIGITS && digits[i] == ' ') {
        i++;
    }
    return i == DIGITS ? length : 0;
}

/* The next text, to be freed. What fails is said. */
static enum weft_rc read_text(char **out)
{
    char digits[DIGITS];
    enum weft_rc rc = read_all(digits, sizeof(digits));
    size_t length;
    char *text;

    if (rc != WEFT_OK) {
        return rc;
    }
    length = read_length(digits);
    if (length == 0) {
        return lost("read", "a text without its length");
    }
    text = malloc(length + 1);
    if (text == NULL) {
        return lost("read", strerror(ENOMEM));
    }
    text[length] = '\0';
    rc = read_all(text, length);
    if (rc != WEFT_OK) {
        free(text);
        return rc;
    }
    *out = text;
    return WEFT_OK;
}

/* Where the value that begins here ends: at a ";" that is not doubled, or at the end. */
static const char *end_of(const char *value)
{
    while (*value != '\0' && (value[0] != ';' || value[1] == ';')) {
        value += value[0] == ';' ? 2 : 1;
    }
    return value;
}

/* Copies a value of so many bytes, in which ";;" becomes ";"; false: there is no room. */
static bool copy_value(const char *from, const char *end, char *value, size_t size)
{
    size_t n = 0;

    for (; from < end; from++) {
        if (n + 1 >= size) {
            return false;
        }
        value[n++] = *from;
        from += *from == ';' ? 1 : 0;
    }
    value[n] = '\0';
    return true;
}

/* Copies the value of a word; false if the text has none, or one that is too long. */
static bool find_word(const char *text, const char *key, char *value, size_t size)
{
    const size_t length = strlen(key);

    while (*text != '\0') {
        const char *end = end_of(text);

        if (strncmp(text, key, length) == 0 && text[length] == '=') {
            return copy_value(text + length + 1, end, value, size);
        }
        text = *end == ';' ? end + 1 : end;
    }
    return false;
}

static bool is_word(const char *text, const char *key, const char *value)
{
    char found[64];

    return find_word(text, key, found, sizeof(found)) && strcmp(found, value) == 0;
}

static bool is_waiting(enum asker asker)
{
    return pmi.is_asking[asker] && pmi.kept[asker] == NULL;
}

/* Reads an answer into the place of its asker. With the mutex, which is given away
 * meanwhile. Who reads waits: it takes what nobody else waits for, and refuses it. */
static void read_one(void)
{
    char *text = NULL;
    enum weft_rc rc;

    pmi.is_reading = true;
    pthread_mutex_unlock(&pmi.mutex);
    rc = read_text(&text);
    pthread_mutex_lock(&pmi.mutex);
    pmi.is_reading = false;
    if (rc == WEFT_OK) {
        enum asker whose = is_word(text, "cmd", "kvs-fence-response") ? IN_FENCE : OTHER;

        if (!is_waiting(whose)) {
            whose = whose == OTHER ? IN_FENCE : OTHER;
        }
        assert(is_waiting(whose));
        pmi.kept[whose] = text;
    } else {
        pmi.is_broken = true; /* which was said */
    }
    pthread_cond_broadcast(&pmi.has_read);
}

/* Writes a request, and waits for its answer. */
static enum weft_rc exchange_texts(enum asker asker, const char *request, size_t size,
                                   char **answer)
{
    enum weft_rc rc;

    pthread_mutex_lock(&pmi.mutex);
    assert(!pmi.is_asking[asker]);
    pmi.is_asking[asker] = true;
    rc = pmi.is_broken ? WEFT_ERR_LAUNCH : write_all(request, size);
    while (rc == WEFT_OK && pmi.kept[asker] == NULL) {
        if (pmi.is_broken) {
            rc = WEFT_ERR_LAUNCH;
        } else if (pmi.is_reading) {
            pthread_cond_wait(&pmi.has_read, &pmi.mutex);
        } else {
            read_one();
        }
    }
    pmi.is_asking[asker] = false;
    if (rc == WEFT_OK) {
        *answer = pmi.kept[asker];
        pmi.kept[asker] = NULL;
    }
    pthread_mutex_unlock(&pmi.mutex);
    return rc;
}

/*
 * One request, "cmd=NAME;" and the words behind it. Its answer must be NAME-response and
 * is to be freed.
 */
static enum weft_rc ask(const char *name, const char *words, char **answer)
{
    char request[DIGITS + REQUEST + 1];
    char wanted[64];
    int length = snprintf(request + DIGITS, REQUEST + 1, "cmd=%s;%s", name, words);
    char digits[DIGITS + 1];
    enum weft_rc rc;

    assert(length > 0 && length <= REQUEST);
    snprintf(digits, sizeof(digits), "%6d", length);
    memcpy(request, digits, DIGITS);
    rc = exchange_texts(strcmp(name, "kvs-fence") == 0 ? IN_FENCE : OTHER, request,
                        DIGITS + (size_t)length, answer);
    if (rc != WEFT_OK) {
        return rc;
    }
    snprintf(wanted, sizeof(wanted), "%s-response", name);
    if (!is_word(*answer, "cmd", wanted)) {
        weft_log_error(WEFT_S_PMI2_ANSWER, name, *answer);
        free(*answer);
        return WEFT_ERR_LAUNCH;
    }
    return WEFT_OK;
}

/* A request whose answer says yes or no. */
static enum weft_rc ask_for_yes(const char *name, const char *words)
{
    char *answer;
    enum weft_rc rc = ask(name, words, &answer);

    if (rc != WEFT_OK) {
        return rc;
    }
    if (!is_word(answer, "rc", "0")) {
        weft_log_error(WEFT_S_PMI2_REFUSED, name, answer);
        rc = WEFT_ERR_LAUNCH;
    }
    free(answer);
    return rc;
}

/*
 * A request for a value, which is to be freed. WEFT_ERR_ARGUMENT: the launcher has none.
 * A value is shorter than the answer that it is in, and takes its place.
 */
static enum weft_rc ask_for_value(const char *name, const char *words, char **value)
{
    char *answer;
    enum weft_rc rc = ask(name, words, &answer);

    if (rc != WEFT_OK) {
        return rc;
    }
    if (!is_word(answer, "found", "TRUE") ||
        !find_word(answer, "value", answer, strlen(answer) + 1)) {
        free(answer);
        return WEFT_ERR_ARGUMENT;
    }
    *value = answer;
    return WEFT_OK;
}

/* ---- the beginning ---- */

/* The launcher must agree to PMI-2 in a line of PMI-1. */
static enum weft_rc agree_on_version(void)
{
    static const char request[] = "cmd=init pmi_version=2 pmi_subversion=0\n";
    char line[LINE];
    size_t n = 0;
    enum weft_rc rc = write_all(request, sizeof(request) - 1);

    while (rc == WEFT_OK && (n == 0 || line[n - 1] != '\n')) {
        rc = n < sizeof(line) - 1 ? read_all(&line[n++], 1)
                                  : lost("read", "a line without end");
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    line[n - 1] = '\0';
    if (strncmp(line, "cmd=response_to_init ", 21) != 0 ||
        strstr(line, " pmi_version=2") == NULL || strstr(line, " rc=0") == NULL) {
        weft_log_error(WEFT_S_PMI2_PROCESS, line);
        return WEFT_ERR_LAUNCH;
    }
    return WEFT_OK;
}

/* The rank and the size that the launcher says must be those of the environment. */
static enum weft_rc present(const struct weft_who *who)
{
    const char *id = getenv("PMI_JOBID");
    char words[REQUEST / 2];
    char rank[16];
    char size[16];
    char *answer;
    enum weft_rc rc;

    snprintf(words, sizeof(words), "pmijobid=%.200s;pmirank=%d;threaded=FALSE;",
             id != NULL ? id : "0", who->rank);
    rc = ask("fullinit", words, &answer);
    if (rc != WEFT_OK) {
        return rc;
    }
    if (!is_word(answer, "rc", "0") || !find_word(answer, "rank", rank, sizeof(rank)) ||
        !find_word(answer, "size", size, sizeof(size)) || atoi(rank) != who->rank ||
        atoi(size) != who->size) {
        weft_log_error(WEFT_S_PMI2_RANK, who->rank, who->size, answer);
        rc = WEFT_ERR_LAUNCH;
    }
    free(answer);
    return rc;
}

static enum weft_rc name_job(struct weft_who *who)
{
    char *answer;
    enum weft_rc rc = ask("job-getid", "", &answer);

    if (rc != WEFT_OK) {
        return rc;
    }
    if (!find_word(answer, "jobid", pmi.job, sizeof(pmi.job)) || pmi.job[0] == '\0') {
        weft_log_error(WEFT_S_PMI2_JOB, answer);
        rc = WEFT_ERR_LAUNCH;
    }
    free(answer);
    snprintf(who->job, sizeof(who->job), "%s", pmi.job);
    return rc;
}

static enum weft_rc read_locations(struct weft_who *who, struct weft_location *map)
{
    char *text = NULL;
    enum weft_rc rc = ask_for_value("info-getjobattr", "key=PMI_process_mapping;", &text);

    if (rc == WEFT_OK) {
        rc = weft_pmi1_read_mapping(text, who, map);
        free(text);
    }
    if (rc == WEFT_ERR_ARGUMENT) {
        weft_log_error(WEFT_S_PMI2_MAPPING);
        rc = WEFT_ERR_LAUNCH;
    }
    return rc;
}

/* ---- the table ---- */

static enum weft_rc pmi2_open(struct weft_who *who)
{
    enum weft_rc rc = weft_pmi_inherit(PROTOCOL, &pmi.fd, who);

    if (rc == WEFT_OK) {
        rc = agree_on_version();
    }
    if (rc == WEFT_OK) {
        rc = present(who);
    }
    if (rc == WEFT_OK) {
        rc = name_job(who);
    }
    return rc == WEFT_OK ? read_locations(who, NULL) : rc;
}

static enum weft_rc pmi2_locations(const struct weft_who *who, struct weft_location *map)
{
    struct weft_who copy = *who;

    return read_locations(&copy, map);
}

/* Values have no blanks (wireup.h), so that a blank can stand for ";" on the way. */
static void exchange(char *value, char from, char to)
{
    for (; *value != '\0'; value++) {
        *value = *value == from ? to : *value;
    }
}

static enum weft_rc put(const char *key, const char *value)
{
    char sent[WEFT_KVS_VALUE_MAX + 1];
    char words[sizeof(sent) + 128];

    snprintf(sent, sizeof(sent), "%s", value);
    exchange(sent, ';', ' ');
    snprintf(words, sizeof(words), "key=%.64s;value=%s;", key, sent);
    return ask_for_yes("kvs-put", words);
}

static enum weft_rc fence(bool is_collecting)
{
    (void)is_collecting; /* what is put is there for all, afterwards */
    return ask_for_yes("kvs-fence", "");
}

static enum weft_rc get(int rank, const char *key, char *value)
{
    char words[REQUEST / 2];
    char *found;
    enum weft_rc rc;

    (void)rank; /* which the key has in its name */
    snprintf(words, sizeof(words), "jobid=%s;srcid=-1;key=%.64s;", pmi.job, key);
    rc = ask_for_value("kvs-get", words, &found);
    if (rc != WEFT_OK) {
        return rc;
    }
    if (strlen(found) > WEFT_KVS_VALUE_MAX) {
        rc = WEFT_ERR_ARGUMENT;
    } else {
        exchange(found, ' ', ';');
        strcpy(value, found);
    }
    free(found);
    return rc;
}

static bool pmi2_is_lazy(void)
{
    return false;
}

/* PMI-2 has no word for the exit code. */
static void pmi2_abort(int code, const char *cause)
{
    static const char text[] = "    37cmd=abort;isworld=TRUE;msg=MPI_Abort;";

    _Static_assert(sizeof(text) - 1 == DIGITS + 37,
                   "the length that the text begins with");
    (void)code;
    (void)cause;
    if (pmi.fd >= 0 && !weft_pmi_write_all(pmi.fd, text, sizeof(text) - 1)) {
        return; /* the launcher is gone: our exit has to do */
    }
}

static void pmi2_close(void)
{
    if (pmi.fd >= 0) {
        if (ask_for_yes("finalize", "") != WEFT_OK) {
            weft_log_info("PMI-2: the launcher did not confirm the end of this rank");
        }
        close(pmi.fd);
        pmi.fd = -1;
    }
}

const struct weft_kvs_ops *weft_pmi2(void)
{
    static const struct weft_kvs_ops ops = {
        .name = "pmi-2",
        .open = pmi2_open,
        .locations = pmi2_locations,
        .put = put,
        .fence = fence,
        .get = get,
        .is_lazy = pmi2_is_lazy,
        .abort = pmi2_abort,
        .close = pmi2_close,
    };

    return &ops;
}
