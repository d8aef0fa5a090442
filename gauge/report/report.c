/*
 * report.c - keeps what was measured, and hands it on to whoever writes it down.
 */
#include "gauge/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Room for one more in a list that grows by doubling; NULL without memory. */
static void *grow(void *list, size_t count, size_t each)
{
    if (count > 0 && (count & (count - 1)) != 0) {
        return list;
    }
    return realloc(list, (count == 0 ? 1 : 2 * count) * each);
}

static bool is_same_point(const struct gauge_row *a, const struct gauge_row *b)
{
    if (a->pattern != b->pattern || a->module != b->module || a->end != b->end ||
        strcmp(a->point.name, b->point.name) != 0 || a->point.size != b->point.size) {
        return false;
    }
    for (int i = 0; i < GAUGE_KEYS; i++) {
        if (a->point.key[i].value != b->point.key[i].value) {
            return false;
        }
    }
    return true;
}

/* The row of the turn before, or NULL. */
static struct gauge_row *turn_before(struct gauge_report *report,
                                     const struct gauge_row *row)
{
    for (size_t i = report->row_count; row->point.turn > 1 && i > 0; i--) {
        struct gauge_row *before = &report->rows[i - 1];

        if (before->point.turn == row->point.turn - 1 && is_same_point(before, row)) {
            return before;
        }
    }
    return NULL;
}

/* Adds a turn to a row. What ended one of them early is what is told of all. */
static bool add_turn(struct gauge_row *into, const struct gauge_row *row)
{
    size_t count = into->sample_count + row->sample_count;
    double *samples = realloc(into->samples, count * sizeof(*samples) + 1);
    struct gauge_estimate estimate;

    if (samples == NULL) {
        return gauge_fail("no memory for another turn") == GAUGE_OK;
    }
    memcpy(samples + into->sample_count, row->samples,
           row->sample_count * sizeof(*samples));
    into->samples = samples;
    into->sample_count = count;
    into->point.turn = row->point.turn;
    into->turn_median[row->point.turn - 1] = row->summary.median;
    into->lost += row->lost;
    into->stop = strcmp(row->stop, "width") != 0 ? row->stop : into->stop;
    if (row->point.turn < row->point.turns) {
        return true; /* sorting all samples is left to the last turn */
    }
    if (!gauge_summarise(samples, count, &into->summary)) {
        return false;
    }
    estimate = gauge_estimate(into->turn_median, (size_t)into->point.turn);
    into->summary.median = estimate.value;
    into->summary.low = estimate.low;
    into->summary.high = estimate.high;
    return true;
}

static bool add_row(struct gauge_report *report, const struct gauge_row *row)
{
    struct gauge_row *rows = grow(report->rows, report->row_count, sizeof(*rows));
    double *samples = malloc(row->sample_count * sizeof(*samples) + 1);

    if (rows != NULL) {
        report->rows = rows;
    }
    if (rows == NULL || samples == NULL) {
        free(samples);
        gauge_fail("no memory for another row");
        return false;
    }
    memcpy(samples, row->samples, row->sample_count * sizeof(*samples));
    rows += report->row_count++;
    *rows = *row;
    rows->samples = samples;
    rows->turn_median[0] = row->summary.median;
    return true;
}

bool gauge_report_row(struct gauge_report *report, const struct gauge_row *row)
{
    struct gauge_row *before = turn_before(report, row);

    if (!(before != NULL ? add_turn(before, row) : add_row(report, row))) {
        return false;
    }
    if (report->json != NULL) {
        gauge_json_row(report->json, row);
    }
    if (report->csv != NULL) {
        gauge_csv_row(report->csv, row);
    }
    return true;
}

bool gauge_report_finding(struct gauge_report *report,
                          const struct gauge_finding *finding)
{
    struct gauge_finding *findings =
        grow(report->findings, report->finding_count, sizeof(*findings));
    const char *note = finding->result.note;
    char *name_copy = strdup(finding->result.name);
    char *note_copy = note != NULL ? strdup(note) : NULL;

    if (findings != NULL) {
        report->findings = findings;
    }
    if (findings == NULL || name_copy == NULL || (note != NULL && note_copy == NULL)) {
        free(name_copy);
        free(note_copy);
        gauge_fail("no memory for another result");
        return false;
    }
    findings += report->finding_count++;
    *findings = *finding;
    findings->result.name = name_copy;
    findings->result.note = note_copy;
    if (report->json != NULL) {
        gauge_json_finding(report->json, finding);
    }
    return true;
}

/* A new file; one that exists is somebody's measurement. */
static bool open_new(const char *name, FILE **out)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (*out == NULL) {
        gauge_fail("%s is not written: %s", name, strerror(errno));
    }
    return *out != NULL;
}

bool gauge_report_open(struct gauge_report *report, const char *json, const char *csv)
{
    if ((json != NULL && !open_new(json, &report->json)) ||
        (csv != NULL && !open_new(csv, &report->csv))) {
        return false;
    }
    if (report->csv != NULL) {
        gauge_csv_head(report->csv);
    }
    return true;
}

static bool close_file(FILE *file)
{
    bool is_bad = false;

    if (file == NULL) {
        return true;
    }
    is_bad = ferror(file) != 0;
    if (fclose(file) != 0 || is_bad) {
        gauge_fail("the output could not be written: %s", strerror(errno));
        return false;
    }
    return true;
}

bool gauge_report_close(struct gauge_report *report)
{
    bool is_written = close_file(report->json);

    is_written = close_file(report->csv) && is_written;
    for (size_t i = 0; i < report->row_count; i++) {
        free(report->rows[i].samples);
    }
    for (size_t i = 0; i < report->finding_count; i++) {
        free((char *)(uintptr_t)report->findings[i].result.name);
        free((char *)(uintptr_t)report->findings[i].result.note);
    }
    free(report->rows);
    free(report->findings);
    *report = (struct gauge_report){0};
    return is_written;
}
