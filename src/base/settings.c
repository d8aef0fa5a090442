#include "base/settings.h"

#include "base/spelling.h"

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
                      "How much the library tells on standard error; it costs nothing "
                      "in the data path."},
    [WEFT_SET_CHECKSUM] = {"WEFT_CHECKSUM", "flag", "0", "0|1",
                           "Checks every message with crc32c, from the user's buffer to "
                           "the user's buffer. Both sides read the data once more: long "
                           "messages take up to 2.5 times as long inside a node, and a "
                           "third longer over a network."},
    [WEFT_SET_PROGRESS] = {"WEFT_PROGRESS", "flag", "1", "0|1",
                           "Messages advance while the program computes: by senders that "
                           "know a posted receive's buffer, and by a thread that sleeps "
                           "until a peer needs an answer."},
    [WEFT_SET_HEARTBEAT] = {"WEFT_HEARTBEAT", "seconds", "5", NULL,
                            "Silence after which mpiexec takes a host for dead and ends "
                            "the job; each host is heard four times in it. A rank whose "
                            "host does not answer for twice as long is lost."},
    [WEFT_SET_WARM] =
        {"WEFT_WARM", "milliseconds", "1000", NULL,
         "When, after MPI_Init, a rank of a job on several nodes loads what "
         "a network needs, so that its first message there finds it; 0: "
         "not before that message."},
    [WEFT_SET_STREAMS] =
        {"WEFT_STREAMS", "connections", "1", NULL,
         "Connections to a peer, at most 8, over which this process spreads "
         "its long messages; more pay where one is not given all of "
         "the network's bandwidth."},
    [WEFT_SET_LONG] = {"WEFT_LONG", "choice", "auto", "auto|push|fetch",
                       "How long messages cross a network: pushed by their senders, "
                       "fetched by their receivers, or fetched where the network's "
                       "hardware does it (verbs)."},
    [WEFT_SET_NET] = {"WEFT_NET", "interfaces or networks", "", "",
                      "Which network is used between hosts, as eth1 or 10.78.0.0/16; "
                      "without it those that the hosts share, and no bridges."},
    [WEFT_SET_TRANSPORT] = {"WEFT_TRANSPORT", "choice", "auto", "auto|msg|shm",
                            "How ranks reach each other: by shared memory inside a node "
                            "and connections between nodes, or by one of them alone."},
    [WEFT_SET_CONNECT] =
        {"WEFT_CONNECT", "when", "lazy", "lazy|all",
         "When ranks of different nodes connect: at their first message, "
         "or all with all in MPI_Init, which then takes longer."},
    [WEFT_SET_PORTS] = {"WEFT_PORTS", "range of ports", "47000-47999", "",
                        "TCP ports that hosts of a job must reach of each other."},
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

/* What the environment said when the library was opened. */
static struct {
    pthread_once_t once;
    _Atomic bool is_kept;
    char *texts[WEFT_SET_COUNT]; /* NULL: nothing */
} kept = {.once = PTHREAD_ONCE_INIT};

static void keep_all(void)
{
    for (int i = 0; i < WEFT_SET_COUNT; i++) {
        const char *text = getenv(table[i].name);

        kept.texts[i] = text != NULL ? strdup(text) : NULL;
    }
    atomic_store_explicit(&kept.is_kept, true, memory_order_release);
}

void weft_settings_keep(void)
{
    pthread_once(&kept.once, keep_all);
}

/* What the environment says of it, or NULL. */
static const char *source_of(enum weft_setting which)
{
    return atomic_load_explicit(&kept.is_kept, memory_order_acquire)
               ? kept.texts[which]
               : getenv(table[which].name);
}

int64_t weft_setting(enum weft_setting which)
{
    const struct weft_setting_row *row = &table[which];
    const char *source = source_of(which);
    int is_bad;
    int64_t value;

    if (written[which].is_written) {
        return written[which].value;
    }
    value = weft_setting_parse(which, source, &is_bad);
    if (is_bad) {
        fprintf(stderr, "weft: %s=%s: not %s%s; using %s\n", row->name, source,
                row->values != NULL ? "one of " : "a number",
                row->values != NULL ? row->values : "", row->fallback);
    }
    return value;
}

const char *weft_setting_text(enum weft_setting which)
{
    const struct weft_setting_row *row = &table[which];
    const char *source = source_of(which);

    return source != NULL && source[0] != '\0' ? source : row->fallback;
}

/* ---- misspelt names ---- */

enum { NAME_MOST = 32 }; /* longer ones are no misspelt settings */

/* Variables that are no settings of the table: the user's, and the launcher's own. */
static const char *const others[] = {"WEFT_RSH",  "WEFT_JOB",   "WEFT_INSIDE",
                                     "WEFT_KEPT", "WEFT_BOUND", "WEFT_NETWORKS"};
enum { OTHERS = sizeof(others) / sizeof(others[0]), FOR_USERS = 1 };

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
        if (i < WEFT_SET_COUNT + FOR_USERS && is_similar(name, known_name(i)) &&
            (found == NULL ||
             weft_edit_distance(name, known_name(i)) < weft_edit_distance(name, found))) {
            found = known_name(i);
        }
    }
    return found;
}

void weft_settings_warn(void)
{
    extern char **environ;

    for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
        char name[NAME_MOST + 1];
        const char *nearest;

        snprintf(name, sizeof(name), "%.*s", (int)strcspn(*entry, "="), *entry);
        nearest = weft_setting_nearest(name);
        if (nearest != NULL) {
            fprintf(stderr, "weft: %s is no setting and has no effect: is %s meant?\n",
                    name, nearest);
        }
    }
}
