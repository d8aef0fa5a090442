/*
 * layers.h - the verb `layers`: one pattern over several modules that stand on each
 * other, and what each adds to the one below.
 *
 * All modules are open at the same time, in the same processes. A turn measures each of
 * them once, in an order drawn anew; what a layer adds is taken within a turn, so that a
 * machine that grows slower or faster does not matter. The interval of what it adds is
 * that of the median over the turns. Compared are the times of each size, and of a
 * pattern that fits a model its parameters, for the smallest sizes if there are several
 * regions.
 */
#ifndef GAUGE_LAYERS_H
#define GAUGE_LAYERS_H

#include "gauge/command.h"

extern struct gauge_option gauge_layers_options[];

/* Reads the names of --over into command->layer; false after saying what is wrong. Of a
 * network, where no names are given: its layers, and Weft's go over it. */
bool gauge_layers_read(struct gauge_command *command, const char *names, bool is_network);

/* Leaves out of the default layers what does not go here, and keeps why; of those that
 * the user named, none may be left out. NULL, or a sentence. */
const char *gauge_layers_choose(struct gauge_command *command, int ends,
                                bool is_launched);

/* What was left out, as alarms. */
void gauge_layers_alarms(struct gauge_alarms *alarms);

/* On every end; results go to the report, which end 0 alone has. */
enum gauge_rc gauge_layers_run(const struct gauge_command *command,
                               struct gauge_control *control, struct gauge_timer *timer,
                               struct gauge_report *report,
                               const struct gauge_started *started);

/* The results of a run, layer by layer. */
void gauge_layers_table(const struct gauge_report *report, FILE *out);

#endif
