/*
 * hosts.c - the names of hosts: from the command line, a file, or Slurm.
 */
#include "hosts.h"

#include "plan.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS_MOST = 1000000, HOSTS_MOST = 100000, NAME_BYTES = 512 };

static const char *const TOO_MANY_SLOTS =
    "the number of slots must be between 1 and 1000000";

static bool wrong(const char *what, const char *about)
{
    fprintf(stderr, "%s: host %s: %s\n", program_name, about, what);
    return false;
}

bool hosts_is_here(const char *name)
{
    char host[256] = "";
    const char *slurm = getenv("SLURMD_NODENAME"); /* its own name for this node */
    const char *const names[] = {"localhost", "127.0.0.1", "::1", host,
                                 slurm != NULL ? slurm : host};
    size_t length = strlen(name);

    gethostname(host, sizeof(host) - 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    /* A name without its domain. */
    return strlen(host) > length && host[length] == '.' &&
           strncmp(host, name, length) == 0;
}

/* ---- names that were there before: an open hash, never more than half full ---- */

static size_t hash(const char *name)
{
    uint64_t value = UINT64_C(14695981039346656037);

    for (; *name != '\0'; name++) {
        value = (value ^ (unsigned char)*name) * UINT64_C(1099511628211);
    }
    return (size_t)(value ^ value >> 32);
}

/* The place of a name in the index: of its number, or free. */
static int *place_of(const struct hosts *hosts, const char *name)
{
    size_t at = hash(name) % (size_t)hosts->index_room;

    while (hosts->index[at] != 0 &&
           strcmp(hosts->at[hosts->index[at] - 1].name, name) != 0) {
        at = (at + 1) % (size_t)hosts->index_room;
    }
    return &hosts->index[at];
}

/* Makes room for one more name, also where a list was filled without an index. */
static bool grow_index(struct hosts *hosts)
{
    const int room = hosts->index_room == 0 ? 64 : 2 * hosts->index_room;

    if (2 * hosts->count < hosts->index_room) {
        return true;
    }
    free(hosts->index);
    hosts->index = calloc((size_t)room, sizeof(*hosts->index));
    hosts->index_room = hosts->index != NULL ? room : 0;
    for (int i = 0; hosts->index != NULL && i < hosts->count; i++) {
        *place_of(hosts, hosts->at[i].name) = i + 1;
    }
    return hosts->index != NULL;
}

/* The host with this name, or this machine under another one; NULL: it is new. */
static struct host *find(const struct hosts *hosts, const char *name, bool is_here)
{
    const int number = is_here && hosts->here != 0 ? hosts->here : *place_of(hosts, name);

    return number != 0 ? &hosts->at[number - 1] : NULL;
}

static bool append(struct hosts *hosts, char *name, int slots, bool is_here)
{
    struct host *grown =
        hosts->count < HOSTS_MOST
            ? realloc(hosts->at, ((size_t)hosts->count + 1) * sizeof(*grown))
            : NULL;

    if (grown == NULL) {
        return wrong("too many hosts", name);
    }
    hosts->at = grown;
    *place_of(hosts, name) = hosts->count + 1;
    hosts->at[hosts->count++] = (struct host){.name = name, .slots = slots};
    hosts->here = is_here ? hosts->count : hosts->here;
    return true;
}

static bool add_slots(struct host *host, int slots)
{
    const int sum = (host->slots > 0 ? host->slots : 1) + (slots > 0 ? slots : 1);

    if (sum > SLOTS_MOST) {
        return wrong(TOO_MANY_SLOTS, host->name);
    }
    host->slots = sum;
    return true;
}

/* A name that comes again has the slots of both. */
static bool add(struct hosts *hosts, const char *name, size_t length, int slots)
{
    char *copy = strndup(name, length);
    struct host *known;
    bool is_good;
    bool is_here;

    if (copy == NULL || !grow_index(hosts)) {
        free(copy);
        return wrong("no memory", name);
    }
    /* ssh must not take a name for an option, nor a shell for more than a name. */
    if (length == 0 || name[0] == '-' || strcspn(copy, " '\"`$;&|<>()\\") != length) {
        wrong("this is not a host name", copy);
        free(copy);
        return false;
    }
    is_here = hosts_is_here(copy);
    known = find(hosts, copy, is_here);
    is_good =
        known != NULL ? add_slots(known, slots) : append(hosts, copy, slots, is_here);
    if (known != NULL || !is_good) {
        free(copy);
    }
    return is_good;
}

static bool read_slots(const char *text, const char *about, int *slots)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || (*end != '\0' && !isspace((unsigned char)*end)) || value < 1 ||
        value > SLOTS_MOST) {
        return wrong(TOO_MANY_SLOTS, about);
    }
    *slots = (int)value;
    return true;
}

/* "name" or "name:slots"; an address of IPv6, with its many colons, has no slots. */
static bool add_word(struct hosts *hosts, const char *word)
{
    const char *colon = strchr(word, ':');
    int slots = 0;

    if (colon == NULL || strchr(colon + 1, ':') != NULL) {
        return add(hosts, word, strlen(word), 0);
    }
    return read_slots(colon + 1, word, &slots) &&
           add(hosts, word, (size_t)(colon - word), slots);
}

bool hosts_add_list(struct hosts *hosts, const char *list)
{
    char *copy = strdup(list);
    bool is_good = copy != NULL;

    for (char *rest, *word = is_good ? strtok_r(copy, ",", &rest) : NULL;
         word != NULL && is_good; word = strtok_r(NULL, ",", &rest)) {
        is_good = add_word(hosts, word);
    }
    free(copy);
    return is_good;
}

/* One line of a file: "name", "name:4" or "name slots=4"; other words mean nothing. */
static bool add_line(struct hosts *hosts, char *line)
{
    char *rest;
    char *name;
    int before = hosts->count;

    line[strcspn(line, "#\n")] = '\0';
    name = strtok_r(line, " \t\r", &rest);
    if (name == NULL) {
        return true;
    }
    if (!add_word(hosts, name)) {
        return false;
    }
    for (char *word = strtok_r(NULL, " \t\r", &rest); word != NULL;
         word = strtok_r(NULL, " \t\r", &rest)) {
        int slots;

        if (strncmp(word, "slots=", 6) == 0) {
            if (!read_slots(word + 6, name, &slots)) {
                return false;
            }
            if (hosts->count > before) {
                hosts->at[before].slots = slots;
            }
        }
    }
    return true;
}

bool hosts_add_file(struct hosts *hosts, const char *path)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    bool is_good = true;
    int before = hosts->count;

    if (file == NULL) {
        perror(path);
        return false;
    }
    while (is_good && getline(&line, &room, file) > 0) {
        is_good = add_line(hosts, line);
    }
    free(line);
    fclose(file);
    if (is_good && hosts->count == before && before == 0) {
        fprintf(stderr, "%s: %s: no hosts in this file\n", program_name, path);
        return false;
    }
    return is_good;
}

/* "4(x2),3": what stands for the next node. */
static int next_tasks(const char **at, int *repeat)
{
    int tasks = 0;

    if (*repeat == 0) {
        const char *x;

        *repeat = 1;
        x = strchr(*at, '(');
        if (x != NULL && x[1] == 'x' &&
            (strchr(*at, ',') == NULL || x < strchr(*at, ','))) {
            *repeat = atoi(x + 2);
        }
    }
    tasks = atoi(*at);
    if (--*repeat <= 0) {
        const char *comma = strchr(*at, ',');

        *repeat = 0;
        *at = comma != NULL ? comma + 1 : *at;
    }
    return tasks < 1 ? 1 : tasks < SLOTS_MOST ? tasks : SLOTS_MOST;
}

struct slurm {
    struct hosts *hosts;
    const char *tasks; /* NULL: not said */
    int repeat;
};

static bool add_slurm_node(struct slurm *slurm, const char *name)
{
    const int slots =
        slurm->tasks != NULL ? next_tasks(&slurm->tasks, &slurm->repeat) : 0;

    return add(slurm->hosts, name, strlen(name), slots);
}

/* "1-3" or "07" at *at, behind which a comma or the bracket stands. */
struct range {
    long from;
    long to;
    int digits; /* of the first */
};

static bool read_range(const char **at, struct range *range)
{
    char *end;

    if (!isdigit((unsigned char)**at)) {
        return false;
    }
    range->from = range->to = strtol(*at, &end, 10);
    range->digits = (int)(end - *at);
    if (end[0] == '-' && isdigit((unsigned char)end[1])) {
        range->to = strtol(end + 1, &end, 10);
    }
    *at = end + (*end == ',' ? 1 : 0);
    return (*end == ',' || *end == ']') && range->from <= range->to &&
           range->to < LONG_MAX && range->to - range->from < HOSTS_MOST &&
           range->digits < NAME_BYTES;
}

/* What stands before and behind the bracket, around each number of the range. */
static bool add_range(struct slurm *slurm, const struct range *range, int before,
                      const char *text, int behind, const char *rest)
{
    char name[NAME_BYTES];

    for (long n = range->from; n <= range->to; n++) {
        const int length = snprintf(name, sizeof(name), "%.*s%0*ld%.*s", before, text,
                                    range->digits, n, behind, rest);

        if (length < 0 || length >= NAME_BYTES) {
            return wrong("this name is too long", text);
        }
        if (!add_slurm_node(slurm, name)) {
            return false;
        }
    }
    return true;
}

/* "n[1-3,07]-x": one name for each number, with as many digits. */
static bool add_bracket(struct slurm *slurm, const char *text, size_t length)
{
    const char *open = memchr(text, '[', length);
    const char *close =
        open != NULL ? memchr(open, ']', (size_t)(text + length - open)) : NULL;
    char name[NAME_BYTES];
    const char *at;

    if (open == NULL || close == NULL) {
        if (length >= sizeof(name)) {
            return wrong("this name is too long", text);
        }
        snprintf(name, sizeof(name), "%.*s", (int)length, text);
        return add_slurm_node(slurm, name);
    }
    for (at = open + 1; at < close;) {
        struct range range;

        if (!read_range(&at, &range)) {
            return wrong("this is not a list of nodes", text);
        }
        if (!add_range(slurm, &range, (int)(open - text), text,
                       (int)(text + length - close - 1), close + 1)) {
            return false;
        }
    }
    return true;
}

/*
 * A task of a step has its part of the allocation and no right to the rest. The shell
 * that salloc may start on a node is a step too, with a number of its own kind.
 */
static bool is_in_step(void)
{
    const char *step = getenv("SLURM_STEP_ID");

    return step != NULL && strtoul(step, NULL, 10) < 4294967280ul;
}

bool hosts_add_nodes(struct hosts *hosts, const char *nodes, const char *tasks)
{
    struct slurm slurm = {.hosts = hosts, .tasks = tasks};

    while (*nodes != '\0') {
        size_t length = 0;
        bool is_inside = false;

        while (nodes[length] != '\0' && (is_inside || nodes[length] != ',')) {
            is_inside = nodes[length] == '[' || (is_inside && nodes[length] != ']');
            length++;
        }
        if (!add_bracket(&slurm, nodes, length)) {
            return false;
        }
        nodes += length + (nodes[length] == ',' ? 1 : 0);
    }
    return true;
}

bool hosts_add_slurm(struct hosts *hosts)
{
    const char *nodes = getenv("SLURM_JOB_NODELIST");
    const char *tasks = getenv("SLURM_TASKS_PER_NODE");

    if (nodes == NULL || nodes[0] == '\0' || getenv("SLURM_JOB_ID") == NULL ||
        is_in_step()) {
        return true;
    }
    hosts->is_from_slurm = true;
    return hosts_add_nodes(hosts, nodes, tasks != NULL ? tasks : "1");
}
