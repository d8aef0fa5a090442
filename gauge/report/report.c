/*
 * report.c - keeps what was measured, and hands it on to whoever writes it down.
 */
#include "gauge/report/report.h"

#include <math.h>
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

bool gauge_report_row(struct gauge_report *report, const struct gauge_row *row)
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
    rows[report->row_count] = *row;
    rows[report->row_count++].samples = samples;
    return true;
}

bool gauge_report_finding(struct gauge_report *report,
                          const struct gauge_finding *finding)
{
    struct gauge_finding *findings =
        grow(report->findings, report->finding_count, sizeof(*findings));

    if (findings == NULL) {
        gauge_fail("no memory for another result");
        return false;
    }
    report->findings = findings;
    findings[report->finding_count++] = *finding;
    return true;
}

void gauge_report_close(struct gauge_report *report)
{
    for (size_t i = 0; i < report->row_count; i++) {
        free(report->rows[i].samples);
    }
    free(report->rows);
    free(report->findings);
    *report = (struct gauge_report){0};
}
