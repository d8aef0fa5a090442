#include "wireup/near.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_ROOM = 512, LIST_ROOM = 4096 };

/* The first line of a file; false: there is none. */
static bool read_line(const char *path, char *line, int room)
{
    FILE *file = fopen(path, "re");
    bool is_read;

    if (file == NULL) {
        return false;
    }
    is_read = fgets(line, room, file) != NULL;
    fclose(file);
    return is_read;
}

/* Does a list such as "0-3,8" hold one of these processors? */
static bool holds_one(const char *list, const cpu_set_t *processors)
{
    while (*list >= '0' && *list <= '9') {
        char *end;
        const unsigned long first = strtoul(list, &end, 10);
        const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

        for (unsigned long c = first; c <= last && c < CPU_SETSIZE; c++) {
            if (CPU_ISSET(c, processors)) {
                return true;
            }
        }
        list = *end == ',' ? end + 1 : end;
    }
    return false;
}

static bool is_near(const char *interface, const char *sysfs, const cpu_set_t *processors)
{
    char path[PATH_ROOM];
    char line[LIST_ROOM];
    int node;

    snprintf(path, sizeof(path), "%s/class/net/%s/device/numa_node", sysfs, interface);
    if (!read_line(path, line, sizeof(line)) || sscanf(line, "%d", &node) != 1 ||
        node < 0) {
        return true;
    }
    snprintf(path, sizeof(path), "%s/devices/system/node/node%d/cpulist", sysfs, node);
    return !read_line(path, line, sizeof(line)) || holds_one(line, processors);
}

void weft_net_put_near_first(struct weft_net_address *list, int count, const char *sysfs,
                             const cpu_set_t *processors)
{
    int near = 0; /* where the next near one goes, among those that are as fast */

    for (int i = 0; count > 1 && i < count; i++) {
        const struct weft_net_address one = list[i];

        if (i > 0 && one.megabits != list[i - 1].megabits) {
            near = i;
        }
        if (is_near(one.interface, sysfs, processors)) {
            memmove(&list[near + 1], &list[near], (size_t)(i - near) * sizeof(one));
            list[near++] = one;
        }
    }
}
