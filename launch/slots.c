#include "slots.h"

#include <stdio.h>
#include <stdlib.h>

enum { NO_SOCKET = -1, MOST = 100000 };

/* One part of a list: cores `first` to `last` of a socket, or of the host. */
struct part {
    int socket;
    int first;
    int last;
    bool is_all; /* of the socket */
};

/* A whole number up to MOST; moves on behind it. */
static bool read_number(const char **at, int *number)
{
    char *end;
    const long value = strtol(*at, &end, 10);

    if (**at < '0' || **at > '9' || value > MOST) {
        return false;
    }
    *number = (int)value;
    *at = end;
    return true;
}

/* Reads the next part, with the socket of the one before it; moves on behind its comma.
 */
static bool read_part(const char **at, struct part *part)
{
    int number = 0;

    part->is_all = **at == '*' && part->socket != NO_SOCKET;
    if (!part->is_all && !read_number(at, &number)) {
        return false;
    }
    if (!part->is_all && **at == ':') {
        part->socket = number;
        ++*at;
        part->is_all = **at == '*';
        if (!part->is_all && !read_number(at, &number)) {
            return false;
        }
    }
    part->first = part->last = number;
    if (part->is_all) {
        ++*at;
    } else if (**at == '-') {
        ++*at;
        if (!read_number(at, &part->last) || part->last < part->first) {
            return false;
        }
    }
    if (**at == ',' && (*at)[1] != '\0') {
        ++*at;
        return true;
    }
    return **at == '\0';
}

bool slots_are_sound(const char *text)
{
    struct part part = {.socket = NO_SOCKET};

    do {
        if (!read_part(&text, &part)) {
            return false;
        }
    } while (*text != '\0');
    return true;
}

static bool is_in(const struct core *core, const struct part *part, int number)
{
    if (part->socket == NO_SOCKET) {
        return core->group[LEVEL_CORE] == number;
    }
    return core->group[LEVEL_SOCKET] == part->socket &&
           (part->is_all || core->place == number);
}

/* Adds the cores that match `number` of a part; says which if there is none. */
static bool add(const struct part *part, int number, const struct topology *topology,
                cpu_set_t *set, char *why, size_t size)
{
    char name[64];
    bool is_found = false;

    if (part->socket == NO_SOCKET) {
        snprintf(name, sizeof(name), "core %d", number);
    } else if (part->is_all) {
        snprintf(name, sizeof(name), "socket %d", part->socket);
    } else {
        snprintf(name, sizeof(name), "core %d of socket %d", number, part->socket);
    }
    for (int c = 0; c < topology->count; c++) {
        if (!is_in(&topology->cores[c], part, number)) {
            continue;
        }
        if (topology->cores[c].is_taken) {
            snprintf(why, size, "another job has taken %s%s",
                     part->is_all ? "cores of " : "", name);
            return false;
        }
        CPU_OR(set, set, &topology->cores[c].set);
        is_found = true;
    }
    if (!is_found) {
        snprintf(why, size, "the rankfile wants %s, which mpiexec does not have here",
                 name);
    }
    return is_found;
}

bool slots_find(const char *text, const struct topology *topology, cpu_set_t *set,
                char *why, size_t size)
{
    struct part part = {.socket = NO_SOCKET};

    do {
        if (!read_part(&text, &part)) {
            snprintf(why, size, "the slots of the rankfile make no sense");
            return false;
        }
        for (int number = part.first; number <= part.last; number++) {
            if (!add(&part, number, topology, set, why, size)) {
                return false;
            }
        }
    } while (*text != '\0');
    return true;
}
