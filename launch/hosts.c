/*
 * hosts.c - the names of hosts: from the command line, a file, or Slurm.
 */
#include "hosts.h"

#include "plan.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SLOTS_MOST = 1000000, HOSTS_MOST = 100000 };

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

/* A name that comes again has the slots of both. */
static bool add(struct hosts *hosts, const char *name, size_t length, int slots)
{
    char *copy = strndup(name, length);
    struct host *grown;

    if (copy == NULL) {
        return wrong("no memory", name);
    }
    /* ssh must not take a name for an option, nor a shell for more than a name. */
    if (length == 0 || name[0] == '-' || strcspn(copy, " '\"`$;&|<>()\\") != length) {
        wrong("this is no name of a host", copy);
        free(copy);
        return false;
    }
    for (int i = 0; i < hosts->count; i++) {
        if (strcmp(hosts->at[i].name, copy) == 0 ||
            (hosts_is_here(hosts->at[i].name) && hosts_is_here(copy))) {
            hosts->at[i].slots = (hosts->at[i].slots > 0 ? hosts->at[i].slots : 1) +
                                 (slots > 0 ? slots : 1);
            free(copy);
            return true;
        }
    }
    grown = realloc(hosts->at, ((size_t)hosts->count + 1) * sizeof(*grown));
    if (grown == NULL || hosts->count == HOSTS_MOST) {
        free(copy);
        return wrong("too many hosts", name);
    }
    hosts->at = grown;
    hosts->at[hosts->count++] = (struct host){.name = copy, .slots = slots};
    return true;
}

static bool read_slots(const char *text, const char *about, int *slots)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || (*end != '\0' && !isspace((unsigned char)*end)) || value < 1 ||
        value > SLOTS_MOST) {
        return wrong("the number of slots must be between 1 and 1000000", about);
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
    char line[1024];
    bool is_good = true;
    int before = hosts->count;

    if (file == NULL) {
        perror(path);
        return false;
    }
    while (is_good && fgets(line, sizeof(line), file) != NULL) {
        is_good = add_line(hosts, line);
    }
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
        if (x != NULL && (strchr(*at, ',') == NULL || x < strchr(*at, ','))) {
            *repeat = atoi(x + 2);
        }
    }
    tasks = atoi(*at);
    if (--*repeat <= 0) {
        const char *comma = strchr(*at, ',');

        *repeat = 0;
        *at = comma != NULL ? comma + 1 : *at;
    }
    return tasks > 0 ? tasks : 1;
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

/* "n[1-3,07]-x": one name for each number, with as many digits. */
static bool add_bracket(struct slurm *slurm, const char *text, size_t length)
{
    const char *open = memchr(text, '[', length);
    const char *close =
        open != NULL ? memchr(open, ']', (size_t)(text + length - open)) : NULL;
    char name[512];
    const char *at;

    if (open == NULL || close == NULL) {
        snprintf(name, sizeof(name), "%.*s", (int)length, text);
        return add_slurm_node(slurm, name);
    }
    for (at = open + 1; at < close;) {
        char *end;
        long from = strtol(at, &end, 10);
        int digits = (int)(end - at);
        long to = from;

        if (digits == 0) {
            return wrong("this is no list of nodes", text);
        }
        if (*end == '-') {
            to = strtol(end + 1, &end, 10);
        }
        for (long n = from; n <= to; n++) {
            snprintf(name, sizeof(name), "%.*s%0*ld%.*s", (int)(open - text), text,
                     digits, n, (int)(text + length - close - 1), close + 1);
            if (!add_slurm_node(slurm, name)) {
                return false;
            }
        }
        at = end + 1;
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
