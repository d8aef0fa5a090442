/* hosts.c - names of hosts: from the command line, from a file, and from Slurm or Flux.
 */
#include "fuzz.h"

#include "hosts.h"
#include "plan.h"

#include <sys/mman.h>
#include <unistd.h>

enum { RANKS = 17 };

static bool read_file(struct hosts *hosts, const char *text)
{
    const int fd = memfd_create("hosts", 0);
    char path[64];
    bool is_good;

    demand(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), "no file");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    is_good = hosts_add_file(hosts, path);
    close(fd);
    return is_good;
}

static bool read_nodes(struct hosts *hosts, char *text)
{
    char *tasks = strchr(text, '|');

    if (tasks != NULL) {
        *tasks++ = '\0';
    }
    return hosts_add_nodes(hosts, text, tasks);
}

static void place(const struct hosts *hosts)
{
    const struct sharing sharing = {.may_exceed = true,
                                    .is_cyclic = hosts->count % 2 == 0};
    struct layout layout;
    char *mapping;

    memset(&layout, 0, sizeof(layout));
    if (layout_make(&layout, hosts, RANKS, &sharing)) {
        for (int r = 0; r < RANKS; r++) {
            demand(layout_daemon_of(&layout, r) < layout.count, "a rank nowhere");
        }
        mapping = layout_mapping(&layout);
        demand(mapping != NULL, "no map");
        free(mapping);
    }
    free(layout.count > 0 ? layout.stations[0].name : NULL);
    free(layout.stations);
    free(layout.by_node);
    free(layout.rank_at);
    free(layout.place_of);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    const uint64_t how = input_number(&in, 1) % 3;
    char *text = input_text(&in);
    struct hosts hosts;
    bool is_good;

    memset(&hosts, 0, sizeof(hosts));
    is_good = how == 0   ? hosts_add_list(&hosts, text)
              : how == 1 ? read_file(&hosts, text)
                         : read_nodes(&hosts, text);
    if (is_good && hosts.count > 0) {
        place(&hosts);
    }
    for (int i = 0; i < hosts.count; i++) {
        demand(hosts.at[i].slots >= 0 && hosts.at[i].name[0] != '\0', "no such host");
    }
    hosts_close(&hosts);
    free(text);
    return 0;
}
