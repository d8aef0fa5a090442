/*
 * bind_to.c - the values of --bind-to and --cpu-bind, and which wishes for a placement go
 * together: see plan.h.
 */
#include "plan.h"

#include "texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct word {
    const char *name;
    enum bind_to bind;
};

/* The binding that the first `length` characters name; BIND_IF_FITS if they name none. */
static enum bind_to look_up(const struct word *table, const char *name, size_t length)
{
    while (table->name != NULL && (strlen(table->name) != length ||
                                   strncasecmp(table->name, name, length) != 0)) {
        table++;
    }
    return table->bind;
}

enum parsed plan_bind_to(char **words, struct plan *plan, struct app *app)
{
    static const struct word names[] = {
        {"core", BIND_CORE}, {"hwthread", BIND_THREAD}, {"l3cache", BIND_CACHE},
        {"l3", BIND_CACHE},  {"numa", BIND_NUMA},       {"socket", BIND_SOCKET},
        {"none", BIND_NONE}, {"package", BIND_SOCKET},  {NULL, BIND_IF_FITS},
    };
    const char *count = strchr(words[1], ':');
    const size_t length = count != NULL ? (size_t)(count - words[1]) : strlen(words[1]);
    const enum bind_to bind = look_up(names, words[1], length);
    char *end = NULL;
    const long width = count != NULL ? strtol(count + 1, &end, 10) : 0;

    if (bind == BIND_IF_FITS ||
        (count != NULL &&
         ((bind != BIND_CORE && bind != BIND_THREAD) || end == count + 1 ||
          *end != '\0' || width < 1 || width > 100000))) {
        return plan_refuse(words, TEXT_BIND_TO);
    }
    plan->bind = bind;
    if (count != NULL) {
        app->width = (int)width;
        app->width_by = WIDTH_BY_OPTION;
    }
    return PARSED;
}

enum parsed plan_cpu_bind(char **words, struct plan *plan)
{
    static const struct word names[] = {
        {"cores", BIND_CORE}, {"threads", BIND_THREAD}, {"sockets", BIND_SOCKET},
        {"ldoms", BIND_NUMA}, {"none", BIND_NONE},      {"no", BIND_NONE},
        {NULL, BIND_IF_FITS},
    };
    const enum bind_to bind = look_up(names, words[1], strlen(words[1]));

    if (bind == BIND_IF_FITS) {
        return plan_refuse(words, TEXT_CPU_BIND);
    }
    plan->bind = bind;
    return PARSED;
}

static enum parsed conflict(const char *what)
{
    fprintf(stderr, "%s: %s\n", program_name, what);
    return PARSED_WRONG;
}

static bool has_demanded_width(const struct plan *plan)
{
    for (int i = 0; i < plan->app_count; i++) {
        if (plan->apps[i].width > 0) {
            return true;
        }
    }
    return false;
}

enum parsed plan_check_placement(struct plan *plan)
{
    if (plan->is_by_thread && plan->bind == BIND_IF_FITS) {
        plan->bind = BIND_THREAD;
    }
    if (plan->is_by_thread && plan->bind != BIND_THREAD && plan->bind != BIND_NONE) {
        return conflict(TEXT_MAP_BY_THREAD);
    }
    if (plan->rankfile == NULL) {
        return PARSED;
    }
    if (plan->is_cyclic || plan->spread.by != MAP_EVENLY || plan->per_host > 0 ||
        has_demanded_width(plan)) {
        return conflict(TEXT_RANKFILE_ALONE);
    }
    if (plan->bind != BIND_IF_FITS && plan->bind != BIND_CORE &&
        plan->bind != BIND_NONE) {
        return conflict(TEXT_RANKFILE_BIND);
    }
    return PARSED;
}
