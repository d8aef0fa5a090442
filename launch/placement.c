#include "placement.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
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

static bool load_hwloc(void)
{
    const struct {
        const char *name;
        void *to;
    } symbols[] = {
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

    for (size_t i = 0; library != NULL && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *found = dlsym(library, symbols[i].name);

        if (found == NULL) {
            library = NULL;
            break;
        }
        memcpy(symbols[i].to, &found, sizeof(found));
    }
    return library != NULL;
}

/* Adds every core of which we may use at least one processor. */
static bool read_cores(struct placement *placement, const cpu_set_t *allowed,
                       hwloc_topology_t topology)
{
    int depth = hw.type_depth(topology, HWLOC_OBJ_CORE);
    unsigned count;

    if (depth < 0) { /* a machine that does not tell: take processors for cores */
        depth = hw.type_depth(topology, HWLOC_OBJ_PU);
    }
    count = hw.count_at(topology, depth);
    placement->cores = calloc(count, sizeof(*placement->cores));
    for (unsigned i = 0; placement->cores != NULL && i < count; i++) {
        hwloc_obj_t core = hw.object_at(topology, depth, i);
        cpu_set_t *set = &placement->cores[placement->count];

        CPU_ZERO(set);
        for (int c = hw.next_bit(core->cpuset, -1); c >= 0 && c < CPU_SETSIZE;
             c = hw.next_bit(core->cpuset, c)) {
            if (CPU_ISSET((size_t)c, allowed)) {
                CPU_SET((size_t)c, set);
            }
        }
        placement->count += CPU_COUNT(set) > 0 ? 1 : 0;
    }
    return placement->cores != NULL;
}

static bool read_topology(struct placement *placement, const cpu_set_t *allowed)
{
    hwloc_topology_t topology;
    bool is_read;

    /*
     * Its plugins look for graphics cards and the like: 2.7 of the 3.7 ms that hwloc
     * takes on a machine of two cores. The ranks' environment has been made before.
     */
    setenv("HWLOC_PLUGINS_PATH", "/nonexistent", 1);
    if (!load_hwloc() || hw.init(&topology) != 0) {
        return false;
    }
    /* The x86 component runs on every processor in turn; Linux's own knows enough. */
    hw.set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
    is_read = hw.load(topology) == 0 && read_cores(placement, allowed, topology);
    hw.destroy(topology);
    return is_read;
}

bool placement_open(struct placement *placement, const struct plan *plan, int ranks)
{
    cpu_set_t allowed;

    memset(placement, 0, sizeof(*placement));
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        perror("mpiexec: read the processors");
        return plan->bind != BIND_CORE;
    }
    /* More ranks than processors do not fit, and a single one has nobody to avoid. */
    if (plan->bind == BIND_NONE ||
        (plan->bind == BIND_IF_FITS && (ranks > CPU_COUNT(&allowed) || ranks == 1))) {
        return true;
    }
    if (!read_topology(placement, &allowed)) {
        placement_close(placement);
        if (plan->bind == BIND_CORE) {
            fprintf(stderr,
                    "%s: --bind-to core needs hwloc, which cannot be loaded: "
                    "install libhwloc15\n",
                    program_name);
        }
        return plan->bind != BIND_CORE;
    }
    if (ranks > placement->count) {
        if (plan->bind == BIND_CORE) {
            fprintf(stderr, "%s: %d ranks do not fit on %d cores: they are not bound\n",
                    program_name, ranks, placement->count);
        }
        placement_close(placement);
    }
    return true;
}

const cpu_set_t *placement_of(const struct placement *placement, int local_rank)
{
    return placement->cores != NULL ? &placement->cores[local_rank] : NULL;
}

void placement_report(const struct placement *placement, const struct plan *plan,
                      int first, int ranks)
{
    if (!plan->is_reporting_bindings) {
        return;
    }
    for (int r = 0; r < ranks; r++) {
        const cpu_set_t *set = placement_of(placement, r);

        fprintf(stderr, "%s: rank %d: %s", program_name, first + r,
                set == NULL ? "not bound" : "bound to processors");
        for (int c = 0; set != NULL && c < CPU_SETSIZE; c++) {
            if (CPU_ISSET((size_t)c, set)) {
                fprintf(stderr, " %d", c);
            }
        }
        fprintf(stderr, "\n");
    }
}

void placement_close(struct placement *placement)
{
    free(placement->cores);
    memset(placement, 0, sizeof(*placement));
}
