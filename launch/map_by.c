/*
 * map_by.c - the values of --map-by and --rank-by: see plan.h.
 *
 * --map-by takes WHAT[:MODIFIER]..., as Open MPI writes it. What Weft does not do is
 * refused: a job does not start with another placement than the one asked for.
 */
#include "plan.h"
#include "texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const known =
    "Weft knows slot, node, core, socket, numa, ppr:N:node and ppr:N:socket, each "
    "followed by :PE=K for K cores a rank if need be";

static enum parsed refuse(const char *value, const char *why)
{
    fprintf(stderr, "%s: --map-by %s: %s\n", program_name, value, why);
    return PARSED_WRONG;
}

/* A whole number from 1 to 100000; 0 for everything else. */
static int number(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);

    return end != text && *end == '\0' && value >= 1 && value <= 100000 ? (int)value : 0;
}

static bool take_modifier(const char *word, struct plan *plan, struct app *app)
{
    if (strncasecmp(word, "pe=", 3) == 0) {
        app->width = number(word + 3);
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
    if (each == 0 || resource == NULL) {
        return false;
    }
    if (strcasecmp(resource, "node") == 0) {
        plan->per_host = each;
        return true;
    }
    if (strcasecmp(resource, "socket") == 0 || strcasecmp(resource, "package") == 0) {
        plan->spread = (struct spread){.by = MAP_PER_SOCKET, .per_socket = each};
        return true;
    }
    return false;
}

static bool take_what(const char *what, struct plan *plan)
{
    static const struct {
        const char *name;
        enum map_by by;
    } names[] = {
        {"", MAP_EVENLY},   {"slot", MAP_EVENLY},   {"node", MAP_EVENLY},
        {"core", MAP_CORE}, {"socket", MAP_SOCKET}, {"package", MAP_SOCKET},
        {"numa", MAP_NUMA},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcasecmp(what, names[i].name) == 0) {
            plan->spread = (struct spread){.by = names[i].by};
            plan->is_by_node = strcasecmp(what, "node") == 0;
            return true;
        }
    }
    return false;
}

enum parsed plan_map_by(const char *value, struct plan *plan, struct app *app)
{
    char *copy = strdup(value);
    char *rest = copy;
    char *word = copy != NULL ? strsep(&rest, ":") : NULL;
    bool is_known = false;

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
    return is_known ? PARSED : refuse(value, known);
}

enum parsed plan_rank_by(const char *value)
{
    if (strcasecmp(value, "slot") == 0) {
        return PARSED;
    }
    fprintf(stderr, "%s: " TEXT_RANK_BY "\n", program_name, value);
    return PARSED_WRONG;
}
