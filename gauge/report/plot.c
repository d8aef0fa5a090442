/*
 * plot.c - see plot.h.
 */
#include "gauge/report/plot.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { COLUMNS = 60, LINES = 14, LABEL = 12 };

struct axis {
    double from, to; /* logarithms */
    int steps;
};

static void widen(struct axis *axis, double value)
{
    if (value > 0 && isfinite(value)) {
        axis->from = fmin(axis->from, log2(value));
        axis->to = fmax(axis->to, log2(value));
    }
}

static int place(const struct axis *axis, double value)
{
    double span = fmax(axis->to - axis->from, 1e-9);
    double at = (log2(value) - axis->from) / span * (axis->steps - 1);

    return (int)lround(fmin(fmax(at, 0), axis->steps - 1));
}

static double value_at(const struct axis *axis, int step)
{
    return exp2(axis->from + (axis->to - axis->from) * step / (axis->steps - 1));
}

static bool is_shown(const struct gauge_dot *dot)
{
    return dot->x > 0 && dot->y > 0 && isfinite(dot->x) && isfinite(dot->y);
}

static void paint(char canvas[LINES][COLUMNS + 1], const struct axis *x,
                  const struct axis *y, const struct gauge_dot *dot)
{
    int column = place(x, dot->x);
    char mark = dot->mark != 0 ? dot->mark : 'o';
    char *there = &canvas[place(y, dot->y)][column];

    if (dot->low > 0 && isfinite(dot->high)) {
        for (int line = place(y, dot->low); line <= place(y, dot->high); line++) {
            if (canvas[line][column] == ' ') {
                canvas[line][column] = '|';
            }
        }
    }
    *there = *there == ' ' || *there == '|' || *there == mark ? mark : '*';
}

void gauge_plot_draw(const struct gauge_plot *plot, const struct gauge_dot *dots,
                     size_t count, FILE *out)
{
    struct axis x = {INFINITY, -INFINITY, COLUMNS};
    struct axis y = {INFINITY, -INFINITY, LINES};
    char canvas[LINES][COLUMNS + 1];
    char text[LABEL * 2];
    char right[LABEL * 2];

    for (size_t i = 0; i < count; i++) {
        if (is_shown(&dots[i])) {
            widen(&x, dots[i].x);
            widen(&y, dots[i].y);
        }
    }
    if (!isfinite(x.from)) {
        return;
    }
    memset(canvas, ' ', sizeof(canvas));
    for (size_t i = 0; i < count; i++) {
        if (is_shown(&dots[i])) {
            paint(canvas, &x, &y, &dots[i]);
        }
    }
    fprintf(out, "\n%*s%s\n", LABEL + 2, "", plot->title);
    for (int line = LINES - 1; line >= 0; line--) {
        int used = COLUMNS;

        while (used > 0 && canvas[line][used - 1] == ' ') {
            used--;
        }
        plot->y_text(value_at(&y, line), text, sizeof(text));
        fprintf(out, "%*s |%.*s\n", LABEL, line % 4 == 1 || line == LINES - 1 ? text : "",
                used, canvas[line]);
    }
    fprintf(out, "%*s +%.*s\n", LABEL, "", COLUMNS,
            "------------------------------------------------------------------------");
    plot->x_text(value_at(&x, 0), text, sizeof(text));
    plot->x_text(value_at(&x, COLUMNS - 1), right, sizeof(right));
    fprintf(out, "%*s  %-*s%*s\n", LABEL, "", COLUMNS / 2, text, COLUMNS / 2, right);
    fprintf(out, "%*s  %*s\n", LABEL, "", COLUMNS / 2 + (int)strlen(plot->x_title) / 2,
            plot->x_title);
}
