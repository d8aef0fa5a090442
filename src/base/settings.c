#include "base/settings.h"

#include "base/spelling.h"
#include "base/texts.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct weft_setting_row table[WEFT_SET_COUNT] = {
    [WEFT_SET_LOG] = {"WEFT_LOG", "level", "error", "none|error|warn|info|debug",
                      "What the library reports on standard error. It costs nothing in "
                      "the data path."},
    [WEFT_SET_CHECKSUM] =
        {"WEFT_CHECKSUM", "flag", "0", "0|1",
         "Checks every message with CRC32C, from the sender's buffer to "
         "the receiver's. Both sides read the data once more: long "
         "messages take up to 2.5 times as long inside a node, and a "
         "third longer over a network."},
    [WEFT_SET_PROGRESS] = {"WEFT_PROGRESS", "flag", "1", "0|1",
                           "Messages advance while the program computes: senders store "
                           "into receives that are posted, and a progress thread, asleep "
                           "until a peer needs an answer, does the rest."},
    [WEFT_SET_HEARTBEAT] =
        {"WEFT_HEARTBEAT", "seconds", "5", NULL,
         "The job ends when mpiexec has not heard from a host for this "
         "time; hosts send a heartbeat four times in it. A rank whose "
         "host does not answer for twice as long is lost."},
    [WEFT_SET_GRACE] =
        {"WEFT_GRACE", "seconds", "1", NULL,
         "Time between the signal by which mpiexec asks ranks to end, SIGTERM or the one "
         "that it got itself, and SIGKILL. A program that writes a checkpoint then needs "
         "more; a job that fails ends later by it if a rank does not end. --grace of "
         "mpiexec comes first."},
    [WEFT_SET_WARM] =
        {"WEFT_WARM", "milliseconds", "1000", NULL,
         "Time after MPI_Init at which a rank of a job on several nodes loads "
         "libfabric in the background, so that its first message to another node "
         "does not wait for it. 0: load it with that message."},
    [WEFT_SET_STREAMS] =
        {"WEFT_STREAMS", "connections", "1", NULL,
         "Connections to each peer, at most 8, over which this process spreads "
         "its long messages. More than one helps where the network limits the "
         "bandwidth of a connection."},
    [WEFT_SET_RECEIVE_POOL] =
        {"WEFT_RECEIVE_POOL", "KiB", "8192", NULL,
         "Memory of a rank for datagrams of messages that are not complete or wait for "
         "their turn, whatever the number of peers; at least 128. What does not fit is "
         "dropped, counted (dgram_dropped), and sent again."},
    [WEFT_SET_LONG] = {"WEFT_LONG", "protocol", "auto", "auto|push|fetch",
                       "How long messages cross a network. push: the sender writes, "
                       "fetch: the receiver reads, auto: fetch where the hardware "
                       "reads remote memory (verbs), else push."},
    [WEFT_SET_NET] = {"WEFT_NET", "interfaces or networks", "", "",
                      "Network between hosts, as eth1 or 10.78.0.0/16. Without it, all "
                      "networks that hosts of the job share, except bridges."},
    [WEFT_SET_TRANSPORT] =
        {"WEFT_TRANSPORT", "transport", "auto",
         "auto|msg|shm|shm+msg|rdm|shm+rdm|tagged|shm+tagged|dgram|shm+dgram|dgram+msg|"
         "shm+dgram+msg",
         "auto: shared memory (shm) inside a node, and between "
         "nodes connections (msg), or endpoints without them (rdm) where libfabric's "
         "first choice of a network has no others. msg, shm, rdm: only that one; "
         "shm+msg: shared memory, and msg; "
         "shm+rdm: shared "
         "memory, and rdm. tagged, shm+tagged: as rdm and shm+rdm, but the network "
         "matches all messages between two ranks, also of one "
         "node, for jobs of one rank per node whose network "
         "adapters match; Weft does not authenticate peers "
         "then. dgram, shm+dgram: datagrams (UDP) that Weft repeats "
         "itself, without connections. dgram+msg, shm+dgram+msg: every peer begins by "
         "dgram; the busy ones, at most 64, and those that no datagram reaches get a "
         "connection; chosen only by this setting."},
    [WEFT_SET_CONNECT] =
        {"WEFT_CONNECT", "when", "lazy", "lazy|all",
         "lazy: ranks of different nodes connect at their first message; all: "
         "every rank connects to all others in MPI_Init, which takes longer."},
    [WEFT_SET_REPRODUCIBLE] =
        {"WEFT_REPRODUCIBLE", "flag", "0", "0|1",
         "Reductions have the same bits wherever their ranks run: the order of their "
         "operands depends on the number of ranks, the bytes and the root alone. They "
         "may be slower, mostly where several ranks share a node. It is the same on all "
         "ranks."},
    [WEFT_SET_RMA] =
        {"WEFT_RMA", "how", "auto", "auto|messages",
         "auto: one-sided operations go straight to memory where that can be reached; "
         "messages: the target's process does all of them, which is slower and is for "
         "comparison. One rank that says messages is enough for its windows."},
    [WEFT_SET_COLL] =
        {"WEFT_COLL", "collective=algorithm,...", "", "",
         "Collectives use these algorithms, as in allreduce=doubling,bcast=split, "
         "wherever they fit a call; they may be slower than what is chosen without it. "
         "It must be the same on all ranks. weft-info --algorithms lists them."},
    [WEFT_SET_RSH] =
        {"WEFT_RSH", "command", "", "",
         "Command with which mpiexec reaches other hosts, instead of ssh, or "
         "of srun in an allocation of Slurm. The host and the command to run "
         "there are appended."},
    [WEFT_SET_PORTS] = {"WEFT_PORTS", "range of ports", "47000-47999", "",
                        "Range of TCP and UDP ports for messages between hosts. Open "
                        "both in a firewall; if only TCP is open, Weft uses connections "
                        "alone."},
};

const struct weft_setting_row *weft_setting_row(enum weft_setting which)
{
    assert((int)which >= 0 && which < WEFT_SET_COUNT);
    return &table[which];
}

/* The position of `word` in "a|b|c", or -1. */
static int64_t position(const char *words, const char *word)
{
    size_t length = strlen(word);
    int64_t at = 0;

    for (const char *w = words; w != NULL; at++) {
        const char *bar = strchr(w, '|');
        size_t n = bar != NULL ? (size_t)(bar - w) : strlen(w);

        if (n == length && strncmp(w, word, n) == 0) {
            return at;
        }
        w = bar != NULL ? bar + 1 : NULL;
    }
    return -1;
}

static int64_t parse_number(const char *text, int *is_bad)
{
    char *end;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    *is_bad = end == text || *end != '\0' || errno != 0 || value < 0;
    return value;
}

static int64_t parse(const struct weft_setting_row *row, const char *text, int *is_bad)
{
    int64_t value;

    if (row->values == NULL) {
        return parse_number(text, is_bad);
    }
    if (row->values[0] == '\0') { /* any text: weft_setting_text() */
        *is_bad = 0;
        return 0;
    }
    value = position(row->values, text);
    *is_bad = value < 0;
    return value;
}

int64_t weft_setting_parse(enum weft_setting which, const char *source, int *is_bad)
{
    const struct weft_setting_row *row = &table[which];
    int64_t value;
    int is_fallback_bad;

    *is_bad = 0;
    if (source != NULL && source[0] != '\0') {
        value = parse(row, source, is_bad);
        if (!*is_bad) {
            return value;
        }
    }
    return parse(row, row->fallback, &is_fallback_bad);
}

static struct {
    bool is_written;
    int64_t value;
} written[WEFT_SET_COUNT];

void weft_setting_write(enum weft_setting which, int64_t value)
{
    written[which].value = value;
    written[which].is_written = true;
}

/* What a file has said. */
static struct {
    char *text; /* NULL: nothing */
    char *path;
    int line;
    enum weft_setting_from from;
} offered[WEFT_SET_COUNT];

void weft_setting_offer(enum weft_setting which, const char *text,
                        enum weft_setting_from from, const char *path, int line)
{
    free(offered[which].text);
    free(offered[which].path);
    offered[which].text = strdup(text);
    offered[which].path = strdup(path);
    offered[which].line = line;
    offered[which].from = from;
}

const char *weft_setting_offered(enum weft_setting which)
{
    return getenv(table[which].name) == NULL ? offered[which].text : NULL;
}

struct weft_setting_origin weft_setting_origin(enum weft_setting which)
{
    struct weft_setting_origin origin = {.from = WEFT_FROM_DEFAULT};
    const char *text = getenv(table[which].name);
    int is_bad = 0;

    if (text != NULL) {
        (void)weft_setting_parse(which, text, &is_bad);
        origin.from = is_bad ? WEFT_FROM_DEFAULT : WEFT_FROM_ENVIRONMENT;
    } else if (offered[which].text != NULL) {
        origin.from = offered[which].from;
        origin.path = offered[which].path;
        origin.line = offered[which].line;
    }
    return origin;
}

/* What the environment says of a setting, else what a file does; or NULL. */
static const char *said_of(enum weft_setting which)
{
    const char *text = getenv(table[which].name);

    return text != NULL ? text : offered[which].text;
}

/* What was said when the library was opened. */
static struct {
    pthread_once_t once;
    _Atomic bool is_kept;
    char *texts[WEFT_SET_COUNT]; /* NULL: nothing */
} kept = {.once = PTHREAD_ONCE_INIT};

static void keep_all(void)
{
    for (int i = 0; i < WEFT_SET_COUNT; i++) {
        const char *text = said_of((enum weft_setting)i);

        kept.texts[i] = text != NULL ? strdup(text) : NULL;
    }
    atomic_store_explicit(&kept.is_kept, true, memory_order_release);
}

void weft_settings_keep(void)
{
    pthread_once(&kept.once, keep_all);
}

/* What is said of it, or NULL. */
static const char *source_of(enum weft_setting which)
{
    return atomic_load_explicit(&kept.is_kept, memory_order_acquire) ? kept.texts[which]
                                                                     : said_of(which);
}

int64_t weft_setting(enum weft_setting which)
{
    const char *source = source_of(which);
    int is_bad;

    if (written[which].is_written) {
        return written[which].value;
    }
    return weft_setting_parse(which, source, &is_bad);
}

const char *weft_setting_text(enum weft_setting which)
{
    const struct weft_setting_row *row = &table[which];
    const char *source = source_of(which);

    return source != NULL && source[0] != '\0' ? source : row->fallback;
}

const char *weft_setting_say(enum weft_setting which, char room[WEFT_SETTING_ROOM])
{
    const struct weft_setting_row *row = &table[which];
    const char *word = row->values;

    if (word != NULL && word[0] == '\0') {
        return weft_setting_text(which);
    }
    if (word == NULL) {
        snprintf(room, WEFT_SETTING_ROOM, "%lld", (long long)weft_setting(which));
        return room;
    }
    for (int64_t left = weft_setting(which); left > 0; left--) {
        word = strchr(word, '|') + 1;
    }
    snprintf(room, WEFT_SETTING_ROOM, "%.*s", (int)strcspn(word, "|"), word);
    return room;
}

/* ---- misspelt names ---- */

enum { NAME_MOST = 32 }; /* longer ones are no misspelt settings */

/* Variables that are no settings of the table, but the launcher's own. */
static const char *const others[] = {"WEFT_JOB",   "WEFT_INSIDE",   "WEFT_KEPT",
                                     "WEFT_BOUND", "WEFT_NETWORKS", "WEFT_STDOUT"};
enum { OTHERS = sizeof(others) / sizeof(others[0]) };

static const char *known_name(int i)
{
    return i < WEFT_SET_COUNT ? table[i].name : others[i - WEFT_SET_COUNT];
}

/* The longer the name, the more letters may be wrong; WEFT_NETWORK is WEFT_NET, too. */
static bool is_similar(const char *name, const char *setting)
{
    const int allowed = strlen(setting) > strlen("WEFT_LONG") ? 2 : 1;

    return weft_edit_distance(name, setting) <= allowed ||
           strncasecmp(name, setting, strlen(setting)) == 0;
}

const char *weft_setting_nearest(const char *name)
{
    const char *found = NULL;

    if (strlen(name) >= NAME_MOST || strncasecmp(name, "WEFT_", 5) != 0) {
        return NULL;
    }
    for (int i = 0; i < WEFT_SET_COUNT + OTHERS; i++) {
        if (strcmp(name, known_name(i)) == 0) {
            return NULL;
        }
        if (i < WEFT_SET_COUNT && is_similar(name, known_name(i)) &&
            (found == NULL ||
             weft_edit_distance(name, known_name(i)) < weft_edit_distance(name, found))) {
            found = known_name(i);
        }
    }
    return found;
}

/* Says that a setting has a value that it does not take. */
static void warn_of_value(const char *who, const char *entry)
{
    for (int i = 0; i < WEFT_SET_COUNT; i++) {
        const size_t length = strlen(table[i].name);
        const char *values = table[i].values;
        int is_bad = 0;

        if (strncmp(entry, table[i].name, length) == 0 && entry[length] == '=') {
            (void)weft_setting_parse((enum weft_setting)i, entry + length + 1, &is_bad);
        }
        if (is_bad && values != NULL) {
            fprintf(stderr, "%s: " WEFT_S_SETTING_WORD "\n", who, entry, values,
                    table[i].fallback);
        } else if (is_bad) {
            fprintf(stderr, "%s: " WEFT_S_SETTING_NUMBER "\n", who, entry, table[i].unit,
                    table[i].fallback);
        }
    }
}

void weft_settings_warn(const char *who, char *const *entries)
{
    for (; entries != NULL && *entries != NULL; entries++) {
        char name[NAME_MOST + 1];
        const char *nearest;

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entries, "="), *entries);
        nearest = weft_setting_nearest(name);
        if (nearest != NULL) {
            fprintf(stderr, "%s: " WEFT_S_SETTING_NAME "\n", who, name, nearest);
        }
        warn_of_value(who, *entries);
    }
}
