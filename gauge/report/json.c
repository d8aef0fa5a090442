/*
 * json.c - rows and results as JSON lines; schema.json describes them.
 *
 * Only lines are written, never read, so a library would save some ten lines here and add
 * a dependency to a tool that should run anywhere.
 */
#include "gauge/report/report.h"

#include <math.h>

void gauge_json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\') {
            fprintf(out, "\\%c", c);
        } else if (c < 0x20) {
            fprintf(out, "\\u%04x", c);
        } else {
            fputc(c, out);
        }
    }
    fputc('"', out);
}

void gauge_json_number(FILE *out, double number)
{
    if (isfinite(number)) {
        fprintf(out, "%.12g", number);
    } else {
        fprintf(out, "null");
    }
}

static void put(FILE *out, const char *key, double number)
{
    fprintf(out, ",\"%s\":", key);
    gauge_json_number(out, number);
}

static void put_conditions(FILE *out, const struct gauge_point *point)
{
    bool is_first = true;

    fprintf(out, ",\"conditions\":{");
    for (int i = 0; i < GAUGE_KEYS && point->key[i].key != NULL; i++) {
        fprintf(out, "%s\"%s\":", i > 0 ? "," : "", point->key[i].key);
        gauge_json_number(out, point->key[i].value);
        is_first = false;
    }
    if (point->turns > 1) {
        fprintf(out, "%s\"turn\":%d", is_first ? "" : ",", point->turn);
    }
    fprintf(out, "}");
}

void gauge_json_row(FILE *out, const struct gauge_row *row)
{
    const struct gauge_summary *s = &row->summary;
    double bytes = row->point.bytes;

    fprintf(out, "{\"type\":\"row\",\"pattern\":\"%s\",\"module\":\"%s\",\"name\":\"%s\"",
            row->pattern, row->module, row->point.name);
    fprintf(out, ",\"size_bytes\":%zu,\"end\":%d,\"batch\":%d", row->point.size, row->end,
            row->batch);
    put_conditions(out, &row->point);
    fprintf(out, ",\"samples\":%zu,\"warm_up_samples\":%zu,\"block_samples\":%zu",
            s->count, s->warm_up, s->block);
    fprintf(out, ",\"outliers\":%zu,\"lost\":%zu,\"stop\":\"%s\"", s->outliers, row->lost,
            row->stop);
    put(out, "lag_one_ratio", s->lag_one);
    put(out, "min_ns", s->minimum);
    put(out, "median_ns", s->median);
    put(out, "low_ns", s->low);
    put(out, "high_ns", s->high);
    put(out, "p99_ns", s->p99);
    put(out, "p999_ns", s->p999);
    put(out, "max_ns", s->maximum);
    put(out, "mean_ns", s->mean);
    put(out, "rate_bytes_per_second", bytes > 0 ? bytes / s->median * 1e9 : NAN);
    put(out, "rate_harmonic_bytes_per_second", bytes > 0 ? bytes / s->mean * 1e9 : NAN);
    fprintf(out, ",\"samples_ns\":[");
    for (size_t i = 0; i < row->sample_count; i++) {
        fprintf(out, "%s", i > 0 ? "," : "");
        gauge_json_number(out, row->samples[i]);
    }
    fprintf(out, "]}\n");
}

void gauge_json_finding(FILE *out, const struct gauge_finding *finding)
{
    const struct gauge_result *r = &finding->result;
    bool has_interval = r->low < r->high;

    fprintf(out, "{\"type\":\"result\",\"pattern\":\"%s\",\"module\":\"%s\",\"name\":",
            finding->pattern, finding->module);
    gauge_json_text(out, r->name);
    fprintf(out, ",\"value_%s\":", r->unit);
    gauge_json_number(out, r->value);
    fprintf(out, ",\"low_%s\":", r->unit);
    gauge_json_number(out, has_interval ? r->low : NAN);
    fprintf(out, ",\"high_%s\":", r->unit);
    gauge_json_number(out, has_interval ? r->high : NAN);
    put(out, "from_bytes", r->size_to > 0 ? r->size_from : NAN);
    put(out, "to_bytes", r->size_to > 0 ? r->size_to : NAN);
    fprintf(out, ",\"note\":");
    gauge_json_text(out, r->note != NULL ? r->note : "");
    fprintf(out, "}\n");
}
