/*
 * command.h - what the user asked for: verb, pattern, module, and the core's options.
 *
 * The command line outlives everything that is read from it. The options of the pattern
 * and of the module are stored in their own tables.
 */
#ifndef GAUGE_COMMAND_H
#define GAUGE_COMMAND_H

#include "gauge/bench.h"
#include "gauge/start/start.h"

enum { GAUGE_LAYERS = 8 };

struct gauge_command {
    const char *verb;    /* NULL: none was given */
    const char *word[8]; /* what stands after it, without options */
    int words;
    const struct gauge_pattern *pattern;      /* of `run` and `layers` */
    struct gauge_module *module;              /* of `layers`: the top one */
    struct gauge_module *layer[GAUGE_LAYERS]; /* of `layers`, from the bottom up */
    int layers;
    bool has_usual_layers; /* the user named none */
    struct gauge_settings settings;
    struct gauge_start start;
    const char *json; /* file to write, or NULL */
    const char *csv;
    const char *plot;
    bool is_tour; /* nothing was asked for: show what there is */
};

/* The core's own options, for --help. */
extern struct gauge_option gauge_core_options[];

/* false after saying what is wrong. */
bool gauge_command_read(struct gauge_command *command, int argc, char **argv);
void gauge_command_free(struct gauge_command *command);

/* Of a list such as 0,1,64:4K, where a:b goes up by doubling; ascending. NULL, or a
 * sentence. The list is to be freed. */
const char *gauge_sizes_read(const char *text, size_t **sizes, size_t *count);

#endif
