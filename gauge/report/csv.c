/*
 * csv.c - the rows without their samples. What is not a number is an empty field.
 */
#include "gauge/report/report.h"

#include <math.h>

void gauge_csv_head(FILE *out)
{
    fprintf(out, "pattern,module,name,size_bytes,end,conditions,batch,samples,"
                 "warm_up_samples,block_samples,outliers,lost,stop,lag_one_ratio,min_ns,"
                 "median_ns,low_ns,high_ns,p99_ns,p999_ns,max_ns,mean_ns,"
                 "rate_bytes_per_second,rate_harmonic_bytes_per_second\n");
}

static void put(FILE *out, double number)
{
    if (isfinite(number)) {
        fprintf(out, ",%.12g", number);
    } else {
        fprintf(out, ",");
    }
}

void gauge_csv_row(FILE *out, const struct gauge_row *row)
{
    const struct gauge_summary *s = &row->summary;
    double bytes = row->point.bytes;

    fprintf(out, "%s,%s,%s,%zu,%d,", row->pattern, row->module, row->point.name,
            row->point.size, row->end);
    for (int i = 0; i < GAUGE_KEYS && row->point.key[i].key != NULL; i++) {
        fprintf(out, "%s%s=%.12g", i > 0 ? ";" : "", row->point.key[i].key,
                row->point.key[i].value);
    }
    if (row->point.turns > 1) {
        fprintf(out, "%sturn=%d", row->point.key[0].key != NULL ? ";" : "",
                row->point.turn);
    }
    fprintf(out, ",%d,%zu,%zu,%zu,%zu,%zu,%s", row->batch, s->count, s->warm_up, s->block,
            s->outliers, row->lost, row->stop);
    put(out, s->lag_one);
    put(out, s->minimum);
    put(out, s->median);
    put(out, s->low);
    put(out, s->high);
    put(out, s->p99);
    put(out, s->p999);
    put(out, s->maximum);
    put(out, s->mean);
    put(out, bytes > 0 ? bytes / s->median * 1e9 : NAN);
    put(out, bytes > 0 ? bytes / s->mean * 1e9 : NAN);
    fprintf(out, "\n");
}
