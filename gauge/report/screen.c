/*
 * screen.c - the table and the live line.
 */
#include "gauge/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 32, CONDITIONS = 160 };

void gauge_time_text(double nanoseconds, char *text, size_t size)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    int unit = 0;

    if (!isfinite(nanoseconds)) {
        snprintf(text, size, "-");
        return;
    }
    while (unit < 3 && fabs(nanoseconds) >= 999.5) {
        nanoseconds /= 1000;
        unit++;
    }
    if (fabs(nanoseconds) >= 99.95) {
        snprintf(text, size, "%.0f %s", nanoseconds, units[unit]);
    } else {
        snprintf(text, size, "%.*f %s", fabs(nanoseconds) >= 9.995 ? 1 : 2, nanoseconds,
                 units[unit]);
    }
}

void gauge_bytes_text(double bytes, char *text, size_t size)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;

    while (unit < 3 && bytes >= 1024) {
        bytes /= 1024;
        unit++;
    }
    snprintf(text, size, "%.4g %s", bytes, units[unit]);
}

/* "delay_ns 1000  n 16", or nothing. */
static void conditions_text(const struct gauge_point *point, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < GAUGE_KEYS && point->key[i].key != NULL && used < size; i++) {
        used += (size_t)snprintf(text + used, size - used, "%s%s %.6g", i > 0 ? "  " : "",
                                 point->key[i].key, point->key[i].value);
    }
}

static int compare_rows(const void *one, const void *two)
{
    const struct gauge_row *a = *(const struct gauge_row *const *)one;
    const struct gauge_row *b = *(const struct gauge_row *const *)two;
    int order = strcmp(a->point.name, b->point.name);

    for (int i = 0; order == 0 && i < GAUGE_KEYS; i++) {
        if (a->point.key[i].key == NULL || b->point.key[i].key == NULL) {
            break;
        }
        order = (a->point.key[i].value > b->point.key[i].value) -
                (a->point.key[i].value < b->point.key[i].value);
    }
    if (order == 0) {
        order = (a->point.size > b->point.size) - (a->point.size < b->point.size);
    }
    return order != 0 ? order : a->end - b->end;
}

static void print_row(const struct gauge_row *row, FILE *out)
{
    const struct gauge_summary *s = &row->summary;
    char size[TEXT], median[TEXT], low[TEXT], high[TEXT], minimum[TEXT], p99[TEXT];
    char p999[TEXT], rate[TEXT] = "-", conditions[CONDITIONS];

    gauge_bytes_text((double)row->point.size, size, sizeof(size));
    gauge_time_text(s->minimum, minimum, sizeof(minimum));
    gauge_time_text(s->median, median, sizeof(median));
    gauge_time_text(s->low, low, sizeof(low));
    gauge_time_text(s->high, high, sizeof(high));
    gauge_time_text(s->p99, p99, sizeof(p99));
    gauge_time_text(s->p999, p999, sizeof(p999));
    if (row->point.bytes > 0) {
        snprintf(rate, sizeof(rate), "%.5g", row->point.bytes / s->median * 1e3);
    }
    conditions_text(&row->point, conditions, sizeof(conditions));
    fprintf(out, "%9s %4d %9s %9s %9s %9s %9s %9s %9s %7zu %c%-7s %s\n", size, row->end,
            minimum, median, low, high, p99, p999, rate, s->count,
            row->batch > 1 ? '*' : ' ', row->stop, conditions);
}

/* An offset of a second has its nanoseconds, too. */
static void print_number(const char *before, double number, FILE *out)
{
    if (fabs(number) >= 1e6 && fabs(number) < 1e15) {
        fprintf(out, "%s%.0f", before, number);
    } else {
        fprintf(out, "%s%.6g", before, number);
    }
}

static void print_finding(const struct gauge_result *r, FILE *out)
{
    fprintf(out, "%14s =", r->name);
    if (isfinite(r->value)) {
        print_number(" ", r->value, out);
    }
    if (isfinite(r->low) && isfinite(r->high) && r->low < r->high) {
        print_number(" [", r->low, out);
        print_number(", ", r->high, out);
        fprintf(out, "]");
    }
    fprintf(out, " %s", isfinite(r->value) ? r->unit : "-");
    if (r->size_to > r->size_from) {
        fprintf(out, ", %.0f to %.0f bytes", r->size_from, r->size_to);
    } else if (r->size_to > 0) {
        fprintf(out, ", %.0f bytes", r->size_to);
    }
    fprintf(out, "%s%s\n", r->note != NULL ? "  " : "", r->note ? r->note : "");
}

/* Sizes were measured in shuffled order; results of one size keep theirs. */
static int compare_findings(const void *one, const void *two)
{
    const struct gauge_finding *a = *(const struct gauge_finding *const *)one;
    const struct gauge_finding *b = *(const struct gauge_finding *const *)two;
    int order = (a->result.size_from > b->result.size_from) -
                (a->result.size_from < b->result.size_from);

    return order != 0 ? order : (a > b) - (a < b);
}

static void print_findings(const struct gauge_report *report, FILE *out)
{
    const struct gauge_finding **findings =
        calloc(report->finding_count + 1, sizeof(*findings));

    for (size_t i = 0; findings != NULL && i < report->finding_count; i++) {
        findings[i] = &report->findings[i];
    }
    if (findings != NULL) {
        qsort(findings, report->finding_count, sizeof(*findings), compare_findings);
        for (size_t i = 0; i < report->finding_count; i++) {
            print_finding(&findings[i]->result, out);
        }
    }
    free(findings);
}

void gauge_screen_table(const struct gauge_report *report, FILE *out)
{
    const struct gauge_row **rows = calloc(report->row_count + 1, sizeof(*rows));
    const char *name = "";

    if (rows == NULL) {
        return;
    }
    for (size_t i = 0; i < report->row_count; i++) {
        rows[i] = &report->rows[i];
    }
    qsort(rows, report->row_count, sizeof(*rows), compare_rows);
    for (size_t i = 0; i < report->row_count; i++) {
        if (strcmp(rows[i]->point.name, name) != 0) {
            name = rows[i]->point.name;
            fprintf(out, "%s over %s: %s\n", rows[i]->pattern, rows[i]->module, name);
            fprintf(out, "%9s %4s %9s %9s %9s %9s %9s %9s %9s %7s %8s\n", "size", "end",
                    "min", "median", "95 % from", "to", "p99", "p99.9", "MB/s", "samples",
                    "stop");
        }
        print_row(rows[i], out);
    }
    print_findings(report, out);
    free(rows);
}

void gauge_screen_alarms(const struct gauge_alarms *alarms, int from, FILE *out)
{
    for (int i = from; i < alarms->count; i++) {
        fprintf(out, "! %s\n", alarms->text[i]);
    }
    fflush(out);
}

void gauge_screen_progress(const char *pattern, size_t size, uint64_t samples,
                           double width, double seconds_left)
{
    char text[TEXT];

    if (!isatty(STDERR_FILENO)) {
        return;
    }
    gauge_bytes_text((double)size, text, sizeof(text));
    fprintf(stderr, "\r\033[K%s  %s  %llu samples", pattern, text,
            (unsigned long long)samples);
    if (isfinite(width) && samples > 0) {
        fprintf(stderr, "  width %.1f %%", 100 * width);
    }
    fprintf(stderr, "  at most %.1f s", fmax(seconds_left, 0));
    fflush(stderr);
}

void gauge_screen_clear(void)
{
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K");
        fflush(stderr);
    }
}
