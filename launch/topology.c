#include "topology.h"

#include "base/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include <hwloc.h>

static struct {
    int (*init)(hwloc_topology_t *);
    int (*set_components)(hwloc_topology_t, unsigned long, const char *);
    int (*load)(hwloc_topology_t);
    void (*destroy)(hwloc_topology_t);
    int (*type_depth)(hwloc_topology_t, hwloc_obj_type_t);
    unsigned (*count_at)(hwloc_topology_t, int);
    hwloc_obj_t (*object_at)(hwloc_topology_t, int, unsigned);
    int (*next_bit)(hwloc_const_bitmap_t, int);
} hw;

static const hwloc_obj_type_t type_of[LEVELS] = {
    [LEVEL_SOCKET] = HWLOC_OBJ_PACKAGE,
    [LEVEL_NUMA] = HWLOC_OBJ_NUMANODE,
    [LEVEL_CACHE] = HWLOC_OBJ_L3CACHE,
    [LEVEL_CORE] = HWLOC_OBJ_CORE,
};

static bool load_hwloc(void)
{
    const struct weft_symbol symbols[] = {
        {"hwloc_topology_init", &hw.init},
        {"hwloc_topology_set_components", &hw.set_components},
        {"hwloc_topology_load", &hw.load},
        {"hwloc_topology_destroy", &hw.destroy},
        {"hwloc_get_type_depth", &hw.type_depth},
        {"hwloc_get_nbobjs_by_depth", &hw.count_at},
        {"hwloc_get_obj_by_depth", &hw.object_at},
        {"hwloc_bitmap_next", &hw.next_bit},
    };
    void *library = dlopen("libhwloc.so.15", RTLD_NOW | RTLD_LOCAL);

    return library != NULL &&
           weft_library_find(library, symbols, sizeof(symbols) / sizeof(symbols[0])) ==
               NULL;
}

static void copy_set(hwloc_const_bitmap_t from, cpu_set_t *to)
{
    CPU_ZERO(to);
    for (int c = hw.next_bit(from, -1); c >= 0 && c < CPU_SETSIZE;
         c = hw.next_bit(from, c)) {
        CPU_SET((size_t)c, to);
    }
}

/* Adds every core of which we may use at least one processor. */
static bool read_cores(struct topology *to, const cpu_set_t *allowed,
                       hwloc_topology_t from)
{
    int depth = hw.type_depth(from, HWLOC_OBJ_CORE);
    unsigned count;

    to->has[LEVEL_CORE] = depth >= 0;
    if (depth < 0) { /* a machine that does not tell: take processors for cores */
        depth = hw.type_depth(from, HWLOC_OBJ_PU);
    }
    count = hw.count_at(from, depth);
    to->cores = calloc(count, sizeof(*to->cores));
    for (unsigned i = 0; to->cores != NULL && i < count; i++) {
        struct core *core = &to->cores[to->count];

        copy_set(hw.object_at(from, depth, i)->cpuset, &core->set);
        CPU_AND(&core->set, &core->set, allowed);
        core->whole = core->set;
        core->group[LEVEL_CORE] = core->place = (int)i;
        if (CPU_COUNT(&core->set) > to->processors_per_core) {
            to->processors_per_core = CPU_COUNT(&core->set);
        }
        to->count += CPU_COUNT(&core->set) > 0 ? 1 : 0;
    }
    return to->cores != NULL && to->count > 0;
}

/* The number of the first core that has processors of this set, allowed or not. */
static int first_core_in(hwloc_topology_t from, const cpu_set_t *processors)
{
    const int depth = hw.type_depth(from, HWLOC_OBJ_CORE);
    const unsigned count = depth >= 0 ? hw.count_at(from, depth) : 0;

    for (unsigned i = 0; i < count; i++) {
        cpu_set_t set;

        copy_set(hw.object_at(from, depth, i)->cpuset, &set);
        CPU_AND(&set, &set, processors);
        if (CPU_COUNT(&set) > 0) {
            return (int)i;
        }
    }
    return 0;
}

/* Numbers the cores of each object of a level; a core of none stays in group 0. */
static void read_groups(struct topology *to, enum level level, hwloc_topology_t from)
{
    const int depth = hw.type_depth(from, type_of[level]);
    const unsigned count =
        depth == HWLOC_TYPE_DEPTH_UNKNOWN || depth == HWLOC_TYPE_DEPTH_MULTIPLE
            ? 0
            : hw.count_at(from, depth);

    to->has[level] = count > 0;
    for (unsigned g = 0; g < count; g++) {
        cpu_set_t processors;
        int first;

        copy_set(hw.object_at(from, depth, g)->cpuset, &processors);
        first = level == LEVEL_SOCKET ? first_core_in(from, &processors) : 0;
        for (int i = 0; i < to->count; i++) {
            cpu_set_t common;

            CPU_AND(&common, &processors, &to->cores[i].set);
            if (CPU_COUNT(&common) > 0) {
                to->cores[i].group[level] = (int)g;
                to->cores[i].place -= first;
            }
        }
    }
}

int topology_groups(const struct topology *topology, enum level level)
{
    int groups = 0;

    for (int i = 0; i < topology->count; i++) {
        bool is_known = false;

        for (int j = 0; j < i && !is_known; j++) {
            is_known = topology->cores[j].group[level] == topology->cores[i].group[level];
        }
        groups += is_known ? 0 : 1;
    }
    return groups;
}

static bool read_with_hwloc(struct topology *to, const cpu_set_t *allowed)
{
    hwloc_topology_t from;
    bool is_read;

    if (!load_hwloc() || hw.init(&from) != 0) {
        return false;
    }
    /* The x86 component runs on every processor in turn; Linux's own knows enough. */
    hw.set_components(from, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    is_read = hw.load(from) == 0 && read_cores(to, allowed, from);
    for (int level = 0; is_read && level < LEVEL_CORE; level++) {
        read_groups(to, (enum level)level, from);
    }
    hw.destroy(from);
    return is_read;
}

/* What hwloc is to find in the environment, for the time of its work. */
static struct {
    const char *name;
    const char *value;
    char *before; /* what the user has set, which the ranks inherit; or NULL */
} words[] = {
    /* hwloc's plugins look for graphics cards and the like: 2.7 of the 3.7 ms that hwloc
     * takes on a machine of two cores. */
    {"HWLOC_PLUGINS_PATH", "/nonexistent", NULL},
    /* Where there is no /sys, it says so on standard error, and then does its best. */
    {"HWLOC_HIDE_ERRORS", "2", NULL},
};

static void set_words(void)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const char *before = getenv(words[i].name);

        words[i].before = before != NULL ? strdup(before) : NULL;
        setenv(words[i].name, words[i].value, 1);
    }
}

static void restore_words(void)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (words[i].before != NULL) {
            setenv(words[i].name, words[i].before, 1);
        } else {
            unsetenv(words[i].name);
        }
        free(words[i].before);
        words[i].before = NULL;
    }
}

bool topology_read(struct topology *topology, const cpu_set_t *allowed)
{
    bool is_read;

    memset(topology, 0, sizeof(*topology));
    set_words();
    is_read = read_with_hwloc(topology, allowed);
    restore_words();
    if (!is_read) {
        topology_close(topology);
    }
    return is_read;
}

bool topology_split(struct topology *topology)
{
    struct core *threads =
        calloc((size_t)topology->count * (size_t)topology->processors_per_core,
               sizeof(*threads));
    int count = 0;

    if (threads == NULL) {
        return false;
    }
    for (int i = 0; i < topology->count; i++) {
        for (size_t c = 0; c < CPU_SETSIZE; c++) {
            if (CPU_ISSET(c, &topology->cores[i].set)) {
                threads[count] = topology->cores[i];
                CPU_ZERO(&threads[count].set);
                CPU_SET(c, &threads[count].set);
                count++;
            }
        }
    }
    free(topology->cores);
    topology->cores = threads;
    topology->count = count;
    topology->processors_per_core = 1;
    topology->is_of_threads = true;
    return true;
}

void topology_close(struct topology *topology)
{
    free(topology->cores);
    memset(topology, 0, sizeof(*topology));
}
