/*
 * registry.h - the modules and patterns there are. A new one is a file of its own and a
 * line in registry.c, and a line in meson.build that compiles it.
 */
#ifndef GAUGE_REGISTRY_H
#define GAUGE_REGISTRY_H

#include "gauge/module.h"
#include "gauge/pattern.h"

/* Lists that end with NULL. */
extern struct gauge_module *const gauge_modules[];
extern const struct gauge_pattern *const gauge_patterns[];

struct gauge_module *gauge_module_find(const char *name); /* or NULL */
const struct gauge_pattern *gauge_pattern_find(const char *name);

/* What a module offers: its flags and what follows from its tables. */
unsigned gauge_module_offers(const struct gauge_module *module);

/* NULL when the pattern goes with the module and so many ends, or a sentence, in a static
 * buffer, that says why not. Asks configure() too; options must be set. */
const char *gauge_refusal(const struct gauge_pattern *pattern,
                          struct gauge_module *module, int ends, bool is_launched);

#endif
