#include "rankfile.h"

#include "slots.h"
#include "texts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 1000000 };

/* A file that is being read. */
struct reading {
    struct plan *plan;
    int line;
    bool makes_hosts; /* the job has no list of hosts */
};

static bool wrong(const struct reading *reading, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Says what is wrong with the line; always false. */
static bool wrong(const struct reading *reading, const char *format, ...)
{
    va_list args;

    fprintf(stderr, "%s: %s, line %d: ", program_name, reading->plan->rankfile,
            reading->line);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return false;
}

/* The number of a host in the list; -1 after a line. */
static int host_of(const struct reading *reading, const char *name)
{
    struct hosts *hosts = &reading->plan->hosts;
    char *end;
    long number;

    if (name[0] == '+' && name[1] == 'n') {
        number = strtol(name + 2, &end, 10);
        if (end != name + 2 && *end == '\0' && number >= 0 && number < hosts->count) {
            return (int)number;
        }
        wrong(reading, TEXT_RANKFILE_NTH, name, hosts->count);
        return -1;
    }
    number = hosts_find(hosts, name);
    if (number < 0 && reading->makes_hosts) {
        number = hosts_add_list(hosts, name) ? hosts_find(hosts, name) : -1;
    }
    if (number < 0) {
        wrong(reading, TEXT_RANKFILE_HOST, name);
    }
    return (int)number;
}

/* Makes room for a rank. */
static bool grow(struct plan *plan, int ranks)
{
    static char none[] = "";
    int *grown;

    if (ranks <= plan->slots.count) {
        return true;
    }
    grown = realloc(plan->host_of, (size_t)ranks * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    plan->host_of = grown;
    while (plan->slots.count < ranks) {
        grown[plan->slots.count] = -1;
        list_add(&plan->slots, none);
    }
    return true;
}

static bool take(const struct reading *reading, long rank, const char *host,
                 const char *slots)
{
    struct plan *plan = reading->plan;
    int at;

    if (!slots_are_sound(slots)) {
        return wrong(reading, TEXT_RANKFILE_SLOT, slots);
    }
    if (!grow(plan, (int)rank + 1)) {
        return wrong(reading, "%s", strerror(errno));
    }
    if (plan->host_of[rank] >= 0) {
        return wrong(reading, TEXT_RANKFILE_TWICE, rank);
    }
    at = host_of(reading, host);
    if (at < 0) {
        return false;
    }
    plan->host_of[rank] = at;
    plan->slots.at[rank] = strdup(slots);
    return plan->slots.at[rank] != NULL;
}

/* "rank 2=b slot=0:0-1", with blanks at will. */
static bool take_line(const struct reading *reading, char *line)
{
    static const char form[] = TEXT_RANKFILE_LINE;
    char *rest = line + strcspn(line, "#\n");
    const char *word;
    const char *host;
    char *end;
    long rank;

    *rest = '\0';
    word = strtok_r(line, " \t\r=", &rest);
    if (word == NULL) {
        return true;
    }
    if (strcmp(word, "rank") != 0 || (word = strtok_r(NULL, " \t=", &rest)) == NULL) {
        return wrong(reading, "%s", form);
    }
    rank = strtol(word, &end, 10);
    if (end == word || *end != '\0' || rank < 0 || rank >= MOST_RANKS) {
        return wrong(reading, "rank %s: %s", word, form);
    }
    host = strtok_r(NULL, " \t=", &rest);
    word = host != NULL ? strtok_r(NULL, " \t=", &rest) : NULL;
    if (word == NULL || (strcmp(word, "slot") != 0 && strcmp(word, "slots") != 0)) {
        return wrong(reading, "%s", form);
    }
    word = strtok_r(NULL, " \t\r=", &rest);
    if (word == NULL || strtok_r(NULL, " \t\r", &rest) != NULL) {
        return wrong(reading, "%s", form);
    }
    return take(reading, rank, host, word);
}

static bool is_whole(const struct plan *plan)
{
    if (plan->slots.count == 0) {
        fprintf(stderr, "%s: " TEXT_RANKFILE_EMPTY "\n", program_name, plan->rankfile);
        return false;
    }
    for (int r = 0; r < plan->slots.count; r++) {
        if (plan->host_of[r] < 0) {
            fprintf(stderr, "%s: " TEXT_RANKFILE_MISSING "\n", program_name,
                    plan->rankfile, r);
            return false;
        }
    }
    return true;
}

bool rankfile_read(struct plan *plan)
{
    struct reading reading = {.plan = plan, .makes_hosts = plan->hosts.count == 0};
    FILE *from = fopen(plan->rankfile, "r");
    char *line = NULL;
    size_t room = 0;
    bool is_good = true;

    if (from == NULL) {
        fprintf(stderr, "%s: %s: %s\n", program_name, plan->rankfile, strerror(errno));
        return false;
    }
    while (is_good && getline(&line, &room, from) >= 0) {
        reading.line++;
        is_good = take_line(&reading, line);
    }
    free(line);
    fclose(from);
    return is_good && is_whole(plan);
}
