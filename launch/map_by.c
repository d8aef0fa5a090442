/*
 * map_by.c - the values of --map-by, --rank-by and --distribution: see plan.h.
 *
 * --map-by takes WHAT[:MODIFIER]..., as Open MPI writes it. What Weft does not do is
 * refused: a job does not start with another placement than the one asked for.
 */
#include "plan.h"
#include "texts.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A whole number from 1 to 100000; 0 for everything else. */
static int number(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);

    return end != text && *end == '\0' && value >= 1 && value <= 100000 ? (int)value : 0;
}

/* The level of a word for a part of a host; false if it is none. */
static bool level_of(const char *word, enum level *level)
{
    static const struct {
        const char *name;
        enum level level;
    } names[] = {
        {"socket", LEVEL_SOCKET}, {"package", LEVEL_SOCKET}, {"numa", LEVEL_NUMA},
        {"l3cache", LEVEL_CACHE}, {"l3", LEVEL_CACHE},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(word, names[i].name) == 0) {
            *level = names[i].level;
            return true;
        }
    }
    return false;
}

static bool take_modifier(const char *word, struct plan *plan, struct app *app)
{
    if (strncasecmp(word, "pe=", 3) == 0) {
        app->width = number(word + 3);
        app->width_by = WIDTH_BY_OPTION;
        return app->width > 0;
    }
    if (strcasecmp(word, "oversubscribe") == 0) {
        plan->may_exceed_slots = true;
        return true;
    }
    return strcasecmp(word, "nooversubscribe") == 0;
}

static bool take_per_resource(int each, const char *resource, struct plan *plan)
{
    enum level level;

    if (each == 0 || resource == NULL) {
        return false;
    }
    if (strcasecmp(resource, "node") == 0) {
        plan->per_host = each;
        return true;
    }
    if (!level_of(resource, &level)) {
        return false;
    }
    plan->spread = (struct spread){.by = MAP_EACH, .level = level, .each = each};
    return true;
}

static bool take_what(const char *what, struct plan *plan)
{
    static const struct {
        const char *name;
        enum map_by by;
        bool is_cyclic;
        bool is_by_thread;
    } names[] = {
        {"", MAP_EVENLY, false, false},      {"slot", MAP_EVENLY, false, false},
        {"block", MAP_EVENLY, false, false}, {"node", MAP_EVENLY, true, false},
        {"cyclic", MAP_EVENLY, true, false}, {"core", MAP_CORE, false, false},
        {"hwthread", MAP_CORE, false, true},
    };
    enum level level;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(what, names[i].name) == 0) {
            plan->spread = (struct spread){.by = names[i].by};
            plan->is_cyclic = names[i].is_cyclic;
            plan->is_by_thread = names[i].is_by_thread;
            return true;
        }
    }
    if (!level_of(what, &level)) {
        return false;
    }
    plan->spread = (struct spread){.by = MAP_IN_TURN, .level = level};
    return true;
}

enum parsed plan_map_by(char **words, struct plan *plan, struct app *app)
{
    char *copy = strdup(words[1]);
    char *rest = copy;
    char *word = copy != NULL ? strsep(&rest, ":") : NULL;
    bool is_known = false;

    plan->is_cyclic = plan->is_by_thread = false;
    if (word != NULL && strcasecmp(word, "ppr") == 0) {
        const char *each = strsep(&rest, ":");

        is_known =
            each != NULL && take_per_resource(number(each), strsep(&rest, ":"), plan);
    } else if (word != NULL) {
        is_known = take_what(word, plan);
    }
    while (is_known && (word = strsep(&rest, ":")) != NULL) {
        is_known = take_modifier(word, plan, app);
    }
    free(copy);
    return is_known ? PARSED : plan_refuse(words, TEXT_MAP_BY);
}

enum parsed plan_distribution(char **words, struct plan *plan)
{
    const char *sockets = strchr(words[1], ':');
    const size_t length =
        sockets != NULL ? (size_t)(sockets - words[1]) : strlen(words[1]);
    const bool is_cyclic = length == 6 && strncasecmp(words[1], "cyclic", 6) == 0;

    if (!is_cyclic && (length != 5 || strncasecmp(words[1], "block", 5) != 0)) {
        return plan_refuse(words, TEXT_DISTRIBUTION);
    }
    plan->is_cyclic = is_cyclic;
    if (sockets == NULL) {
        return PARSED;
    }
    if (strcasecmp(sockets, ":block") == 0) {
        plan->spread = (struct spread){.by = MAP_CORE};
    } else if (strcasecmp(sockets, ":cyclic") == 0) {
        plan->spread = (struct spread){.by = MAP_IN_TURN, .level = LEVEL_SOCKET};
    } else {
        return plan_refuse(words, TEXT_DISTRIBUTION);
    }
    return PARSED;
}

enum parsed plan_rank_by(char **words)
{
    return strcasecmp(words[1], "slot") == 0 ? PARSED : plan_refuse(words, TEXT_RANK_BY);
}
