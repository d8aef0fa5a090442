/*
 * provenance.h - where figures come from: the first and the last line of the output.
 *
 * All ends call gauge_provenance_write(), because each tells of its own machine; end 0
 * alone has a report and writes.
 */
#ifndef GAUGE_PROVENANCE_H
#define GAUGE_PROVENANCE_H

#include "gauge/command.h"
#include "gauge/report/report.h"

struct gauge_provenance {
    const struct gauge_command *command;
    int argc;
    char **argv;
    struct gauge_control *control;
    const struct gauge_timer *timer;
    struct gauge_report *report; /* NULL elsewhere than on end 0 */
};

enum gauge_rc gauge_provenance_write(const struct gauge_provenance *about);
/* The last line: how long it took, and whether clock and machine kept still. */
void gauge_provenance_end(const struct gauge_provenance *about, double drift,
                          bool is_complete);

#endif
