/*
 * report.h - where finished points go: the screen, JSON lines, CSV. On end 0 only.
 */
#ifndef GAUGE_REPORT_H
#define GAUGE_REPORT_H

#include "gauge/pattern.h"

#include <stdio.h>

/* A finished point of one end. Samples are nanoseconds per operation, in their order. */
struct gauge_row {
    const char *pattern;
    const char *module;
    struct gauge_point point;
    int end;
    int batch;
    size_t lost;
    const char *stop; /* "width", "time", "samples" or "lost" */
    struct gauge_summary summary;
    double *samples;
    size_t sample_count;
    double turn_median[GAUGE_TURNS]; /* where a point has turns */
};

/* A result with what it came from. */
struct gauge_finding {
    const char *pattern;
    const char *module;
    struct gauge_result result;
};

/* What of the surroundings makes the figures doubtful, one sentence each. */
struct gauge_alarms {
    char text[12][120];
    int count;
};

/* What a pattern wants drawn; no title: nothing. */
struct gauge_picture {
    const char *title;
    const char *key; /* the condition along the axis */
    const char *name[2];
};

struct gauge_report {
    FILE *json; /* or NULL */
    FILE *csv;  /* or NULL */
    struct gauge_alarms alarms;
    struct gauge_row *rows;
    size_t row_count;
    struct gauge_finding *findings;
    size_t finding_count;
    struct gauge_picture picture;
};

/* Opens new files, NULL names none; false, reported, when one exists already. */
bool gauge_report_open(struct gauge_report *report, const char *json, const char *csv);

/* Take copies. false: no memory or no room on the disk, reported. Each turn of a point is
 * written; here they are kept as one row, whose interval is that of the turns' medians.
 */
bool gauge_report_row(struct gauge_report *report, const struct gauge_row *row);
bool gauge_report_finding(struct gauge_report *report,
                          const struct gauge_finding *finding);
/* Frees it all; false when something could not be written. */
bool gauge_report_close(struct gauge_report *report);

/* json.c and csv.c: one line each. Text is escaped, what is not a number becomes null. */
void gauge_json_text(FILE *out, const char *text);
void gauge_json_number(FILE *out, double number);
void gauge_json_row(FILE *out, const struct gauge_row *row);
void gauge_json_finding(FILE *out, const struct gauge_finding *finding);
void gauge_csv_head(FILE *out);
void gauge_csv_row(FILE *out, const struct gauge_row *row);

/* alarms.c: what can be seen at the start, and what has happened since. */
void gauge_alarms_start(struct gauge_alarms *alarms, int ends);
void gauge_alarms_end(struct gauge_alarms *alarms);
void gauge_alarm(struct gauge_alarms *alarms, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* First line of a file of the system, without its end; "unknown" when there is none. */
const char *gauge_system_text(const char *path);

/* A time with three digits and a unit: "1.23 us". */
void gauge_time_text(double nanoseconds, char *text, size_t size);
void gauge_bytes_text(double bytes, char *text, size_t size);

/* screen.c: the table, sorted by name, conditions, end and size; then the results. */
void gauge_screen_table(const struct gauge_report *report, FILE *out);

/* picture.c: what the pattern asked for, in the terminal; nothing else. */
void gauge_picture_draw(const struct gauge_report *report, FILE *out);

/* The alarms from a number on, one line each. */
void gauge_screen_alarms(const struct gauge_alarms *alarms, int from, FILE *out);
/* The live line, on a terminal only; an empty one clears it. */
void gauge_screen_progress(const char *pattern, size_t size, uint64_t samples,
                           double width, double seconds_left);
void gauge_screen_clear(void);

/* From now on gauge_fail() names this end. */
void gauge_fail_name(int end);

#endif
