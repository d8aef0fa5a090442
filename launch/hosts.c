/*
 * hosts.c - the names of hosts: from the command line, or from Slurm.
 */
#include "hosts.h"

#include "plan.h"
#include "texts.h"

#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS_MOST = 1000000, HOSTS_MOST = 100000, NAME_BYTES = 512 };

/* How many ranks a host may take. */
struct room {
    int slots; /* 0: not said */
    int most;  /* 0: not said */
};

static const char *const TOO_MANY_SLOTS = TEXT_HOSTS_SLOTS;

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

/* Makes room for one more host, in the list and in its index, which has twice as many
 * places; also where a list was filled without an index. */
static bool grow(struct hosts *hosts)
{
    int room = 64;
    struct host *at;
    int *index;

    if (2 * hosts->count < hosts->index_room) {
        return true;
    }
    while (room <= 2 * hosts->count) {
        room *= 2;
    }
    at = realloc(hosts->at, (size_t)room / 2 * sizeof(*at));
    hosts->at = at != NULL ? at : hosts->at;
    index = at != NULL ? calloc((size_t)room, sizeof(*index)) : NULL;
    if (index == NULL) {
        return false;
    }
    free(hosts->index);
    hosts->index = index;
    hosts->index_room = room;
    for (int i = 0; i < hosts->count; i++) {
        *place_of(hosts, hosts->at[i].name) = i + 1;
    }
    return true;
}

/* The host with this name, or this machine under another one; NULL: it is new. */
static struct host *find(const struct hosts *hosts, const char *name, bool is_here)
{
    const int number = is_here && hosts->here != 0 ? hosts->here : *place_of(hosts, name);

    return number != 0 ? &hosts->at[number - 1] : NULL;
}

int hosts_find(const struct hosts *hosts, const char *name)
{
    const struct host *found =
        hosts->index_room > 0 ? find(hosts, name, hosts_is_here(name)) : NULL;

    return found != NULL ? (int)(found - hosts->at) : -1;
}

static bool append(struct hosts *hosts, char *name, const struct room *room, bool is_here)
{
    if (hosts->count >= HOSTS_MOST) {
        return wrong(TEXT_HOSTS_TOO_MANY, name);
    }
    *place_of(hosts, name) = hosts->count + 1;
    hosts->at[hosts->count++] =
        (struct host){.name = name, .slots = room->slots, .most = room->most};
    hosts->here = is_here ? hosts->count : hosts->here;
    return true;
}

static bool add_slots(struct host *host, const struct room *room)
{
    const int sum =
        (host->slots > 0 ? host->slots : 1) + (room->slots > 0 ? room->slots : 1);

    if (sum > SLOTS_MOST) {
        return wrong(TOO_MANY_SLOTS, host->name);
    }
    host->slots = sum;
    host->most = host->most > 0 && room->most > 0 ? host->most + room->most : 0;
    return true;
}

/* Control characters must reach neither ssh nor a terminal: makes them question marks. */
static bool replace_controls(char *name)
{
    bool is_any = false;

    for (; *name != '\0'; name++) {
        if ((unsigned char)*name < ' ' || *name == 0x7f) {
            *name = '?';
            is_any = true;
        }
    }
    return is_any;
}

/* A name that comes again has the slots of both. */
static bool add(struct hosts *hosts, const char *name, size_t length,
                const struct room *room)
{
    char *copy = strndup(name, length);
    struct host *known;
    bool is_good;
    bool is_here;

    if (copy == NULL || !grow(hosts)) {
        free(copy);
        return wrong(TEXT_HOSTS_NO_MEMORY, name);
    }
    /* ssh must not take a name for an option, nor a shell for more than a name. */
    if (replace_controls(copy) || length == 0 || name[0] == '-' ||
        strcspn(copy, " '\"`$;&|<>()\\=") != length) {
        wrong(TEXT_HOSTS_NO_NAME, copy);
        free(copy);
        return false;
    }
    is_here = hosts_is_here(copy);
    known = find(hosts, copy, is_here);
    is_good = known != NULL ? add_slots(known, room) : append(hosts, copy, room, is_here);
    if (known != NULL || !is_good) {
        free(copy);
    }
    return is_good;
}

bool hosts_read_slots(const char *text, const char *about, int *slots)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end != '\0' || value < 1 || value > SLOTS_MOST) {
        return wrong(TOO_MANY_SLOTS, about);
    }
    *slots = (int)value;
    return true;
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

/* Nodes that are named together; each gets its number of tasks, or all the same room. */
struct nodes {
    struct hosts *hosts;
    const char *tasks; /* NULL: not said */
    int repeat;
    struct room room;
};

static bool add_node(struct nodes *nodes, const char *name)
{
    struct room room = nodes->room;

    if (nodes->tasks != NULL) {
        room.slots = next_tasks(&nodes->tasks, &nodes->repeat);
    }
    return add(nodes->hosts, name, strlen(name), &room);
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
static bool add_range(struct nodes *nodes, const struct range *range, int before,
                      const char *text, int behind, const char *rest)
{
    char name[NAME_BYTES];

    for (long n = range->from; n <= range->to; n++) {
        const int length = snprintf(name, sizeof(name), "%.*s%0*ld%.*s", before, text,
                                    range->digits, n, behind, rest);

        if (length < 0 || length >= NAME_BYTES) {
            return wrong(TEXT_HOSTS_LONG, text);
        }
        if (!add_node(nodes, name)) {
            return false;
        }
    }
    return true;
}

/* "n[1-3,07]-x": one name for each number, with as many digits. */
static bool add_bracket(struct nodes *nodes, const char *text, size_t length)
{
    const char *open = memchr(text, '[', length);
    const char *close =
        open != NULL ? memchr(open, ']', (size_t)(text + length - open)) : NULL;
    char name[NAME_BYTES];
    const char *at;

    if (open != NULL && close == NULL) {
        return wrong(TEXT_HOSTS_NO_LIST, text);
    }
    if (open == NULL) {
        if (length >= sizeof(name)) {
            return wrong(TEXT_HOSTS_LONG, text);
        }
        snprintf(name, sizeof(name), "%.*s", (int)length, text);
        return add_node(nodes, name);
    }
    for (at = open + 1; at < close;) {
        struct range range;

        if (!read_range(&at, &range)) {
            return wrong(TEXT_HOSTS_NO_LIST, text);
        }
        if (!add_range(nodes, &range, (int)(open - text), text,
                       (int)(text + length - close - 1), close + 1)) {
            return false;
        }
    }
    return true;
}

/* How long the first of several names is, up to a comma that is in no bracket. */
static size_t length_of(const char *names)
{
    size_t length = 0;
    bool is_inside = false;

    while (names[length] != '\0' && (is_inside || names[length] != ',')) {
        is_inside = names[length] == '[' || (is_inside && names[length] != ']');
        length++;
    }
    return length;
}

bool hosts_add(struct hosts *hosts, const char *name, int slots, int most)
{
    struct nodes nodes = {.hosts = hosts, .room = {.slots = slots, .most = most}};
    const char *open = strchr(name, '[');

    if (slots > 0 && most > 0 && slots > most) {
        return wrong(TEXT_HOSTS_MAX_SLOTS, name);
    }
    if (open == NULL || open == name) { /* an address of IPv6 may be in brackets */
        return add(hosts, name, strlen(name), &nodes.room);
    }
    return add_bracket(&nodes, name, strlen(name));
}

bool hosts_add_word(struct hosts *hosts, const char *word, int slots, int most)
{
    const char *close = strrchr(word, ']');
    const char *colon = strchr(close != NULL ? close : word, ':');
    char *name;
    bool is_good;

    if (colon == NULL || strchr(colon + 1, ':') != NULL) {
        return hosts_add(hosts, word, slots, most);
    }
    name = strndup(word, (size_t)(colon - word));
    if (name == NULL) {
        return wrong(TEXT_HOSTS_NO_MEMORY, word);
    }
    is_good = (slots > 0 || hosts_read_slots(colon + 1, word, &slots)) &&
              hosts_add(hosts, name, slots, most);
    free(name);
    return is_good;
}

bool hosts_add_list(struct hosts *hosts, const char *list)
{
    bool is_good = true;

    while (is_good && *list != '\0') {
        const size_t length = length_of(list);
        char *word = strndup(list, length);

        is_good = word != NULL && (length == 0 || hosts_add_word(hosts, word, 0, 0));
        free(word);
        list += length + (list[length] == ',' ? 1 : 0);
    }
    return is_good;
}

bool hosts_add_nodes(struct hosts *hosts, const char *names, const char *tasks)
{
    struct nodes nodes = {.hosts = hosts, .tasks = tasks};

    while (*names != '\0') {
        const size_t length = length_of(names);

        if (!add_bracket(&nodes, names, length)) {
            return false;
        }
        names += length + (names[length] == ',' ? 1 : 0);
    }
    return true;
}

bool hosts_has(const struct hosts *hosts, const char *name)
{
    return hosts->index_room > 0 && *place_of(hosts, name) != 0;
}

void hosts_close(struct hosts *hosts)
{
    for (int i = 0; i < hosts->count; i++) {
        free(hosts->at[i].name);
    }
    free(hosts->at);
    free(hosts->index);
    *hosts = (struct hosts){.at = NULL};
}
