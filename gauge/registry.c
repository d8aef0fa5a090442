/*
 * registry.c - the two lists, and whether a pattern goes with a module.
 */
#include "gauge/registry.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
extern struct gauge_module
    gauge_eth,
    gauge_fabric,
    gauge_ip,
    gauge_mpi,
    gauge_self,
    gauge_shm,
    gauge_sim,
    gauge_tcp,
    gauge_udp,
    gauge_weft;

struct gauge_module *const gauge_modules[] = {
    &gauge_eth,
    &gauge_fabric,
    &gauge_ip,
    &gauge_mpi,
    &gauge_self,
    &gauge_shm,
    &gauge_sim,
    &gauge_tcp,
    &gauge_udp,
    &gauge_weft,
    NULL,
};

extern const struct gauge_pattern
    gauge_clock_pattern,
    gauge_constants,
    gauge_io,
    gauge_loggp,
    gauge_many_one,
    gauge_noise,
    gauge_one_many,
    gauge_one_one,
    gauge_overlap,
    gauge_plogp,
    gauge_queue,
    gauge_rma,
    gauge_stream;

const struct gauge_pattern *const gauge_patterns[] = {
    &gauge_clock_pattern,
    &gauge_constants,
    &gauge_io,
    &gauge_loggp,
    &gauge_many_one,
    &gauge_noise,
    &gauge_one_many,
    &gauge_one_one,
    &gauge_overlap,
    &gauge_plogp,
    &gauge_queue,
    &gauge_rma,
    &gauge_stream,
    NULL,
};
/* clang-format on */

struct gauge_module *gauge_module_find(const char *name)
{
    for (int i = 0; gauge_modules[i] != NULL; i++) {
        if (strcmp(gauge_modules[i]->name, name) == 0) {
            return gauge_modules[i];
        }
    }
    return NULL;
}

const struct gauge_pattern *gauge_pattern_find(const char *name)
{
    for (int i = 0; gauge_patterns[i] != NULL; i++) {
        if (strcmp(gauge_patterns[i]->name, name) == 0) {
            return gauge_patterns[i];
        }
    }
    return NULL;
}

unsigned gauge_module_offers(const struct gauge_module *module)
{
    unsigned offers = module->flags;

    if (module->isendto != NULL && module->irecvfrom != NULL && module->test != NULL) {
        offers |= GAUGE_NONBLOCKING;
    }
    if (module->one_sided != NULL) {
        offers |= GAUGE_ONE_SIDED;
    }
    if (module->files != NULL) {
        offers |= GAUGE_FILES;
    }
    if (module->collective != NULL) {
        offers |= GAUGE_COLLECTIVE;
    }
    return offers;
}

static const struct {
    unsigned bit;
    const char *words;
} needs[] = {
    {GAUGE_RELIABLE, "that nothing is lost"},
    {GAUGE_CHANNEL, "to choose whom it receives from"},
    {GAUGE_THREADS, "calls from several threads"},
    {GAUGE_NONBLOCKING, "non-blocking messages"},
    {GAUGE_ONE_SIDED, "one-sided access"},
    {GAUGE_FILES, "files"},
    {GAUGE_COLLECTIVE, "collective operations"},
};

const char *gauge_refusal(const struct gauge_pattern *pattern,
                          struct gauge_module *module, int ends, bool is_launched)
{
    static char why[300];
    const char *fault = module->configure != NULL ? module->configure(module) : NULL;
    unsigned wanted = pattern->needs;
    unsigned missing = 0;

    if (fault == NULL && module->available != NULL) {
        fault = module->available(module);
    }
    if (fault != NULL) {
        snprintf(why, sizeof(why), "%s: %s", module->name, fault);
        return why;
    }
    if (pattern->more_needs != NULL) {
        wanted |= pattern->more_needs(pattern->options);
    }
    missing = wanted & ~gauge_module_offers(module);
    for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++) {
        if (missing & needs[i].bit) {
            snprintf(why, sizeof(why), "%s needs %s, which %s does not offer",
                     pattern->name, needs[i].words, module->name);
            return why;
        }
    }
    if ((module->flags & GAUGE_ALONE) && ends != 1) {
        snprintf(why, sizeof(why), "%s is one end that talks to itself: give --ends 1",
                 module->name);
        return why;
    }
    if (ends < pattern->least_ends) {
        snprintf(why, sizeof(why), "%s needs at least %d ends, and there %s %d",
                 pattern->name, pattern->least_ends, ends == 1 ? "is" : "are", ends);
        return why;
    }
    if (pattern->has_even_ends && ends % 2 != 0 && ends != 1) {
        snprintf(why, sizeof(why), "%s needs an even number of ends, and there are %d",
                 pattern->name, ends);
        return why;
    }
    if ((module->flags & GAUGE_LAUNCHED) && !is_launched) {
        snprintf(why, sizeof(why),
                 "%s wants its ends started by a launcher: mpiexec -n %d weft-gauge ...",
                 module->name, ends);
        return why;
    }
    return NULL;
}
