/*
 * gnuplot.c - see gnuplot.h.
 *
 * gnuplot reads one script from a pipe, with the data in it. Rows that have name, end and
 * all conditions in common but for the axis are a line. A condition that merely goes
 * along with the axis, such as a pause that depends on the size, does not part a line.
 */
#include "gauge/report/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT = 160 };

/* What all lines have in common. */
struct frame {
    const struct gauge_report *report;
    const char *key;             /* the condition along the axis; NULL: the size */
    bool is_parting[GAUGE_KEYS]; /* conditions that part lines */
    bool is_linear;              /* nothing along the axis is above 0 */
    bool has_ends;               /* several ends have rows of one name */
    FILE *out;
};

static const char *ending(const char *file)
{
    const char *dot = strrchr(file, '.');

    return dot != NULL ? dot : "";
}

static bool is_here(const char *program)
{
    const char *path = getenv("PATH");
    char name[4096];

    while (path != NULL && *path != '\0') {
        size_t length = strcspn(path, ":");

        snprintf(name, sizeof(name), "%.*s/%s", (int)length, path, program);
        if (access(name, X_OK) == 0) {
            return true;
        }
        path += length + (path[length] == ':' ? 1 : 0);
    }
    return false;
}

bool gauge_gnuplot_reserve(const char *file)
{
    int fd = -1;

    if (strcmp(ending(file), ".svg") != 0 && strcmp(ending(file), ".png") != 0) {
        gauge_fail("--plot wants a file that ends in .svg or .png");
        return false;
    }
    if (strpbrk(file, "'\n") != NULL) {
        gauge_fail("--plot wants a file without quotes and line ends in its name");
        return false;
    }
    if (!is_here("gnuplot")) {
        gauge_fail("--plot wants gnuplot, and there is none in the path");
        return false;
    }
    fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) {
        gauge_fail("%s is not written: %s", file, strerror(errno));
        return false;
    }
    close(fd);
    return true;
}

/* The axis */

static double x_of(const struct frame *frame, const struct gauge_row *row)
{
    if (frame->key == NULL) {
        return (double)row->point.size;
    }
    for (int i = 0; i < GAUGE_KEYS && row->point.key[i].key != NULL; i++) {
        if (strcmp(row->point.key[i].key, frame->key) == 0) {
            return row->point.key[i].value;
        }
    }
    return NAN;
}

static const char *choose_key(const struct gauge_report *report)
{
    const struct gauge_row *first = report->rows;

    if (report->picture.key != NULL) {
        return report->picture.key;
    }
    for (size_t i = 1; i < report->row_count; i++) {
        if (strcmp(report->rows[i].point.name, first->point.name) == 0 &&
            report->rows[i].point.size != first->point.size) {
            return NULL;
        }
    }
    for (int k = 0; k < GAUGE_KEYS && first->point.key[k].key != NULL; k++) {
        for (size_t i = 1; i < report->row_count; i++) {
            const struct gauge_point *point = &report->rows[i].point;

            if (strcmp(point->name, first->point.name) == 0 &&
                point->key[k].value != first->point.key[k].value) {
                return first->point.key[k].key;
            }
        }
    }
    return NULL;
}

/* Whether two rows would be one above the other in a line if nothing parted it. */
static bool is_same_place(const struct frame *frame, const struct gauge_row *a,
                          const struct gauge_row *b)
{
    return strcmp(a->point.name, b->point.name) == 0 && a->end == b->end &&
           x_of(frame, a) == x_of(frame, b);
}

static void find_parting(struct frame *frame)
{
    const struct gauge_report *report = frame->report;

    for (size_t i = 0; i < report->row_count; i++) {
        for (size_t j = 0; j < i; j++) {
            const struct gauge_row *a = &report->rows[i];
            const struct gauge_row *b = &report->rows[j];

            frame->has_ends =
                frame->has_ends ||
                (strcmp(a->point.name, b->point.name) == 0 && a->end != b->end);
            for (int k = 0; is_same_place(frame, a, b) && k < GAUGE_KEYS; k++) {
                frame->is_parting[k] =
                    frame->is_parting[k] ||
                    (a->point.key[k].key != NULL && b->point.key[k].key != NULL &&
                     a->point.key[k].value != b->point.key[k].value);
            }
        }
    }
}

static bool is_same_line(const struct frame *frame, const struct gauge_row *a,
                         const struct gauge_row *b)
{
    if (strcmp(a->point.name, b->point.name) != 0 || a->end != b->end) {
        return false;
    }
    for (int k = 0; k < GAUGE_KEYS; k++) {
        if (frame->is_parting[k] && a->point.key[k].value != b->point.key[k].value) {
            return false;
        }
    }
    return true;
}

static bool is_first_of_line(const struct frame *frame, size_t row)
{
    for (size_t i = 0; i < row; i++) {
        if (is_same_line(frame, &frame->report->rows[i], &frame->report->rows[row])) {
            return false;
        }
    }
    return true;
}

/* "gap, messages 16, end 0" */
static void line_name(const struct frame *frame, const struct gauge_row *row, char *text,
                      size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%s", row->point.name);

    for (int k = 0; k < GAUGE_KEYS && row->point.key[k].key != NULL && used < size; k++) {
        if (frame->is_parting[k]) {
            used += (size_t)snprintf(text + used, size - used, ", %s %.6g",
                                     row->point.key[k].key, row->point.key[k].value);
        }
    }
    if (frame->has_ends && used < size) {
        snprintf(text + used, size - used, ", end %d", row->end);
    }
}

/* Data */

struct dot {
    double x, y, low, high;
};

static int compare_dots(const void *a, const void *b)
{
    double x = ((const struct dot *)a)->x;
    double y = ((const struct dot *)b)->x;

    return (x > y) - (x < y);
}

static struct dot make_dot(const struct frame *frame, const struct gauge_row *row,
                           bool is_rate)
{
    const struct gauge_summary *s = &row->summary;
    struct dot dot = {x_of(frame, row), s->median / 1e3, s->low / 1e3, s->high / 1e3};

    if (is_rate) { /* megabytes per second; the slow end of one is the fast of the other
                    */
        dot = (struct dot){dot.x, row->point.bytes / dot.y, row->point.bytes / dot.high,
                           row->point.bytes / dot.low};
    }
    if (isnan(dot.low) || isnan(dot.high)) {
        dot.low = dot.high = dot.y;
    }
    return dot;
}

/* The y axis is logarithmic, and so is the other where it can be. */
static bool is_shown(const struct frame *frame, const struct dot *dot)
{
    return dot->y > 0 && isfinite(dot->y) && (frame->is_linear || dot->x > 0);
}

static bool has_rate(const struct gauge_row *row)
{
    return row->point.bytes > 0;
}

/* Whether a row begins a line of the panel: those that have no dot to show are left out.
 */
static bool begins_line(const struct frame *frame, size_t row, bool is_rate)
{
    const struct gauge_report *report = frame->report;

    for (size_t i = row; is_first_of_line(frame, row) && i < report->row_count; i++) {
        struct dot dot = make_dot(frame, &report->rows[i], is_rate);

        if (is_same_line(frame, &report->rows[row], &report->rows[i]) &&
            (!is_rate || has_rate(&report->rows[i])) && is_shown(frame, &dot)) {
            return true;
        }
    }
    return false;
}

/* With some room around, so that one dot alone has a range, too. */
static void write_ranges(const struct frame *frame, bool is_rate)
{
    struct dot least = {INFINITY, INFINITY, 0, 0};
    struct dot most = {-INFINITY, 0, 0, 0};

    for (size_t i = 0; i < frame->report->row_count; i++) {
        struct dot dot = make_dot(frame, &frame->report->rows[i], is_rate);

        if ((!is_rate || has_rate(&frame->report->rows[i])) && is_shown(frame, &dot)) {
            least = (struct dot){fmin(least.x, dot.x), fmin(least.y, dot.y), 0, 0};
            most = (struct dot){fmax(most.x, dot.x), fmax(most.y, dot.y), 0, 0};
        }
    }
    if (frame->is_linear) {
        fprintf(frame->out, "unset logscale x\nset xrange [%.9g:%.9g]\n", least.x - 1,
                most.x + 1);
    } else {
        fprintf(frame->out, "set xrange [%.9g:%.9g]\n", least.x / 1.5, most.x * 1.5);
    }
    fprintf(frame->out, "set yrange [%.9g:%.9g]\n", least.y / 2, most.y * 2);
}

/* The dots of the line that a row begins, ascending, as a block of data. */
static void write_block(const struct frame *frame, size_t first, bool is_rate)
{
    const struct gauge_report *report = frame->report;
    struct dot *dots = calloc(report->row_count, sizeof(*dots));
    size_t count = 0;

    for (size_t i = first; dots != NULL && i < report->row_count; i++) {
        if (is_same_line(frame, &report->rows[first], &report->rows[i])) {
            struct dot dot = make_dot(frame, &report->rows[i], is_rate);

            if (is_shown(frame, &dot)) {
                dots[count++] = dot;
            }
        }
    }
    if (dots != NULL) {
        qsort(dots, count, sizeof(*dots), compare_dots);
    }
    fprintf(frame->out, "$%s%zu << END\n", is_rate ? "rate" : "time", first);
    for (size_t i = 0; i < count; i++) {
        fprintf(frame->out, "%.9g %.9g %.9g %.9g\n", dots[i].x, dots[i].y, dots[i].low,
                dots[i].high);
    }
    fprintf(frame->out, "END\n");
    free(dots);
}

/* A line needs a quantity in between; numbered ends and peers have none. */
static const char *style_of(const struct frame *frame)
{
    size_t length = frame->key != NULL ? strlen(frame->key) : 0;
    bool is_joined = frame->key == NULL || strcmp(frame->key, "depth") == 0 ||
                     (length > 3 && strcmp(frame->key + length - 3, "_ns") == 0);

    return is_joined ? "yerrorlines" : "yerrorbars";
}

/* g + (s - 1) G over the sizes of each piece, where both were seen. */
static void write_fits(const struct frame *frame)
{
    const struct gauge_report *report = frame->report;

    for (size_t i = 0; frame->key == NULL && i + 1 < report->finding_count; i++) {
        const struct gauge_result *g = &report->findings[i].result;
        const struct gauge_result *byte = &report->findings[i + 1].result;

        if (strcmp(g->name, "g") == 0 && strcmp(byte->name, "G") == 0 &&
            isfinite(g->value) && isfinite(byte->value)) {
            fprintf(frame->out,
                    ", [%.9g:%.9g] (%.9g + (x - 1) * %.9g) / 1e3 with lines linewidth 2 "
                    "title 'fit: %.4g ns + %.4g ns a byte'",
                    g->size_from, g->size_to, g->value, byte->value, g->value,
                    byte->value);
        }
    }
}

static void write_panel(const struct frame *frame, bool is_rate)
{
    const struct gauge_report *report = frame->report;
    size_t lines = 0;

    for (size_t i = 0; i < report->row_count; i++) {
        if (begins_line(frame, i, is_rate)) {
            write_block(frame, i, is_rate);
        }
    }
    write_ranges(frame, is_rate);
    fprintf(frame->out, "set ylabel '%s'\n", is_rate ? "MB/s" : "microseconds");
    for (size_t i = 0; i < report->row_count; i++) {
        char name[TEXT];

        if (begins_line(frame, i, is_rate)) {
            line_name(frame, &report->rows[i], name, sizeof(name));
            fprintf(frame->out, "%s $%s%zu using 1:2:3:4 with %s title '%s%s'",
                    lines++ == 0 ? "plot" : ",", is_rate ? "rate" : "time", i,
                    style_of(frame), is_rate ? "size / " : "", name);
        }
    }
    if (lines > 0 && !is_rate) {
        write_fits(frame);
    }
    fprintf(frame->out, "\n");
}

static void write_script(const struct frame *frame, const char *file)
{
    const struct gauge_report *report = frame->report;
    bool has_rates = false;

    for (size_t i = 0; i < report->row_count; i++) {
        has_rates = has_rates || report->rows[i].point.bytes > 0;
    }
    fprintf(frame->out, "set terminal %s noenhanced size %d,480\nset output '%s'\n",
            strcmp(ending(file), ".svg") == 0 ? "svg background 'white'" : "png",
            has_rates ? 1200 : 700, file);
    fprintf(frame->out, "set logscale xy\nset grid\nset key left top\nset bars small\n");
    fprintf(frame->out,
            "set multiplot layout 1,%d title '%s over %s, medians with 95 %% "
            "intervals'\n",
            has_rates ? 2 : 1, report->rows[0].pattern, report->rows[0].module);
    fprintf(frame->out, "set xlabel '%s'\n",
            frame->key != NULL ? frame->key : "message size in bytes");
    write_panel(frame, false);
    if (has_rates) {
        write_panel(frame, true);
    }
    fprintf(frame->out, "unset multiplot\n");
}

bool gauge_gnuplot_draw(const struct gauge_report *report, const char *file)
{
    struct frame frame = {.report = report};
    int status = 0;

    if (report->row_count == 0) {
        unlink(file); /* nothing was measured: leave no empty file */
        return true;
    }
    frame.key = choose_key(report);
    frame.is_linear = true;
    for (size_t i = 0; i < report->row_count; i++) {
        frame.is_linear = frame.is_linear && !(x_of(&frame, &report->rows[i]) > 0);
    }
    find_parting(&frame);
    frame.out = popen("gnuplot", "w");
    if (frame.out == NULL) {
        gauge_fail("gnuplot cannot be started: %s", strerror(errno));
        return false;
    }
    write_script(&frame, file);
    status = pclose(frame.out);
    if (status != 0) {
        gauge_fail("gnuplot has failed, %s is not complete", file);
    }
    return status == 0;
}
