#include "tools/category.h"

#include "base/settings.h"
#include "tools/performance.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

enum {
    SETTINGS,
    COUNTS,
    MESSAGES,
    UNEXPECTED,
    REQUESTS,
    WAITING,
    COLLECTIVES,
    WINDOWS,
    SHARED_MEMORY,
    CONNECTIONS,
    DATAGRAMS,
    CATEGORIES
};

static const struct {
    struct weft_category shown;
    int above;               /* the category it is in, or -1 */
    const char *prefixes[3]; /* of its performance variables */
} table[CATEGORIES] = {
    [SETTINGS] = {{"settings", "What can be set, by environment variables or here."},
                  -1,
                  {NULL}},
    [COUNTS] = {{"counts", "What the library counts."}, -1, {NULL}},
    [MESSAGES] = {{"messages", "Messages, whatever carries them."},
                  COUNTS,
                  {"messages_", "self_"}},
    [UNEXPECTED] =
        {{"unexpected",
          "Unexpected messages: they arrived before a matching receive was posted."},
         COUNTS,
         {"unexpected_"}},
    [REQUESTS] = {{"requests", "Operations that can be waited for."},
                  COUNTS,
                  {"requests"}},
    [WAITING] = {{"waiting", "How calls wait."}, COUNTS, {"polls", "sleeps"}},
    [COLLECTIVES] = {{"collectives",
                      "Calls of collectives, by the algorithm that they took."},
                     COUNTS,
                     {"coll_"}},
    [WINDOWS] = {{"windows",
                  "Windows, by the ways that one-sided operations on them take."},
                 COUNTS,
                 {"rma_"}},
    [SHARED_MEMORY] = {{"transport_shm", "Traffic between ranks of one node."},
                       COUNTS,
                       {"shm_"}},
    [CONNECTIONS] = {{"transport_msg", "Traffic over network connections."},
                     COUNTS,
                     {"msg_"}},
    [DATAGRAMS] = {{"transport_dgram", "Datagrams, where packets go in them."},
                   COUNTS,
                   {"dgram_"}},
};

int weft_category_count(void)
{
    return CATEGORIES;
}

const struct weft_category *weft_category(int index)
{
    assert(index >= 0 && index < weft_category_count());
    return &table[index].shown;
}

int weft_category_find(const char *name)
{
    for (int i = 0; i < CATEGORIES; i++) {
        if (strcmp(table[i].shown.name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static bool has_variable(int index, const char *name)
{
    for (int i = 0; table[index].prefixes[i] != NULL; i++) {
        const char *prefix = table[index].prefixes[i];

        if (strncmp(name, prefix, strlen(prefix)) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_member(int index, enum weft_member kind, int member)
{
    switch (kind) {
    case WEFT_MEMBER_CONTROL:
        return index == SETTINGS;
    case WEFT_MEMBER_PERFORMANCE:
        return has_variable(index, weft_performance_row(member)->name);
    default:
        return table[member].above == index;
    }
}

static int count_of(enum weft_member kind)
{
    switch (kind) {
    case WEFT_MEMBER_CONTROL:
        return WEFT_SET_NUMBERS;
    case WEFT_MEMBER_PERFORMANCE:
        return weft_performance_count();
    default:
        return CATEGORIES;
    }
}

int weft_category_members(int index, enum weft_member kind, int limit, int indices[])
{
    int found = 0;

    for (int i = 0; i < count_of(kind); i++) {
        if (has_member(index, kind, i)) {
            if (found < limit) {
                indices[found] = i;
            }
            found++;
        }
    }
    return found;
}
