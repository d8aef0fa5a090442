/*
 * layers.c - see layers.h.
 */
#include "gauge/layers.h"
#include "gauge/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gauge_option gauge_layers_options[] = {
    {"over", GAUGE_TEXT, "", "LIST",
     "modules from the bottom up; default: shm,weft,mpi, as far as they go here"},
    {"network", GAUGE_FLAG, "no", NULL,
     "over a network: tcp,fabric,weft,mpi, and Weft's transport is msg"},
    {"turns", GAUGE_COUNT, "15", "N",
     "how often each is measured; --time is shared between them"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

static const char usual[] = "shm,weft,mpi";
static const char usual_network[] = "tcp,fabric,weft,mpi";
static char left_out[GAUGE_LAYERS][320];
static int left_out_count;

/* The medians of one turn: [layer][size]. On end 0. */
struct measured {
    size_t layers;
    size_t sizes;
    size_t turns;
    double *median; /* [layer][size][turn] */
};

static bool is_taken(const struct gauge_command *command, const char *name)
{
    for (int i = 0; i < command->layers; i++) {
        if (strcmp(command->layer[i]->name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Before any option is read, so that the user may still say something else. */
static void prefer_network(void)
{
    struct gauge_module *weft = gauge_module_find("weft");

    gauge_option_set(gauge_option_find(weft->options, "transport"), "msg");
    setenv("WEFT_TRANSPORT", "msg", 0); /* for Weft's MPI, also inside a node */
}

bool gauge_layers_read(struct gauge_command *command, const char *names, bool is_network)
{
    bool is_usual = names[0] == '\0';

    command->layers = 0;
    if (is_usual) {
        names = is_network ? usual_network : usual;
    }
    if (is_network) {
        prefer_network();
    }
    while (*names != '\0') {
        size_t length = strcspn(names, ",");
        char name[32];

        snprintf(name, sizeof(name), "%.*s", (int)length, names);
        names += length + (names[length] == ',' ? 1 : 0);
        if (gauge_module_find(name) == NULL) {
            gauge_fail("there is no module \"%s\"; weft-gauge list names all", name);
            return false;
        }
        if (command->layers == GAUGE_LAYERS || is_taken(command, name)) {
            gauge_fail("layers are at most %d different modules", GAUGE_LAYERS);
            return false;
        }
        command->layer[command->layers++] = gauge_module_find(name);
    }
    command->has_usual_layers = is_usual;
    return true;
}

const char *gauge_layers_choose(struct gauge_command *command, int ends, bool is_launched)
{
    int kept = 0;

    left_out_count = 0;
    for (int i = 0; i < command->layers; i++) {
        struct gauge_module *module = command->layer[i];
        const char *why = gauge_refusal(command->pattern, module, ends, is_launched);

        if (module->clock != NULL) {
            return "a module with a clock of its own is not comparable with others";
        }
        if (why != NULL && !command->has_usual_layers) {
            return why;
        }
        if (why != NULL) {
            snprintf(left_out[left_out_count++], sizeof(*left_out), "left out: %s", why);
        } else {
            command->layer[kept++] = module;
        }
    }
    command->layers = kept;
    command->module = kept > 0 ? command->layer[kept - 1] : NULL;
    return kept >= 2 ? NULL : "layers wants at least two modules: --over shm,weft";
}

void gauge_layers_alarms(struct gauge_alarms *alarms)
{
    for (int i = 0; i < left_out_count; i++) {
        gauge_alarm(alarms, "%s", left_out[i]);
    }
}

static double *cell(const struct measured *measured, size_t layer, size_t size)
{
    return measured->median + (layer * measured->sizes + size) * measured->turns;
}

/* Measuring */

/* The rows that came last, by the size of their message; of one size, the first end's. */
static void note_rows(const struct measured *measured, const struct gauge_report *report,
                      size_t from, const struct gauge_settings *settings, size_t layer,
                      size_t turn)
{
    for (size_t i = report->row_count; i > from; i--) {
        const struct gauge_row *row = &report->rows[i - 1];

        for (size_t size = 0; size < measured->sizes; size++) {
            if (settings->sizes[size] == row->point.size) {
                cell(measured, layer, size)[turn] = row->summary.median;
            }
        }
    }
}

static void shuffle(int *order, int count, uint64_t *random)
{
    for (int i = 0; i < count; i++) {
        order[i] = i;
    }
    for (int i = count; i > 1; i--) {
        int other = (int)(gauge_mix(random) % (uint64_t)i);
        int kept = order[i - 1];

        order[i - 1] = order[other];
        order[other] = kept;
    }
}

static enum gauge_rc take_turn(const struct gauge_command *command,
                               const struct gauge_settings *settings,
                               struct gauge_control *control, struct gauge_timer *timer,
                               struct gauge_report *report, size_t turn,
                               struct measured *measured)
{
    uint64_t random = settings->seed;
    int order[GAUGE_LAYERS];
    enum gauge_rc rc = GAUGE_OK;

    shuffle(order, command->layers, &random);
    for (int i = 0; rc == GAUGE_OK && i < command->layers; i++) {
        size_t before = report != NULL ? report->row_count : 0;

        rc = gauge_pattern_run(command->pattern, command->layer[order[i]], settings,
                               control, timer, report);
        if (rc == GAUGE_OK && report != NULL) {
            note_rows(measured, report, before, settings, (size_t)order[i], turn);
        }
    }
    return rc;
}

/* Results */

/* Median over the turns, and its interval; turns without a value do not count. */
static struct gauge_result estimate(const char *name, const char *unit,
                                    const double *values, size_t count)
{
    struct gauge_result result = {
        .name = name, .unit = unit, .value = NAN, .low = NAN, .high = NAN};
    double *sorted = calloc(count + 1, sizeof(*sorted));
    size_t known = 0;
    size_t low = 0;
    size_t high = 0;

    for (size_t i = 0; sorted != NULL && i < count; i++) {
        if (isfinite(values[i])) {
            sorted[known++] = values[i];
        }
    }
    if (known > 0) {
        gauge_sort(sorted, known);
        result.value = gauge_quantile(sorted, known, 0.5);
        if (gauge_interval_ranks(known, &low, &high)) {
            result.low = sorted[low - 1];
            result.high = sorted[high - 1];
        }
    }
    free(sorted);
    return result;
}

static bool put(struct gauge_report *report, const struct gauge_command *command,
                size_t layer, size_t size, struct gauge_result result)
{
    struct gauge_finding finding = {command->pattern->name, command->layer[layer]->name,
                                    result};

    finding.result.size_from = finding.result.size_to =
        (double)command->settings.sizes[size];
    return gauge_report_finding(report, &finding);
}

/* The time of a layer, and what it adds to the one below. */
static bool report_layer(struct gauge_report *report, const struct gauge_command *command,
                         const struct measured *measured, size_t layer, size_t size)
{
    const double *mine = cell(measured, layer, size);
    const double *below = layer > 0 ? cell(measured, layer - 1, size) : NULL;
    double *added = calloc(2 * measured->turns, sizeof(*added));
    double *share = added + measured->turns;
    bool is_written = added != NULL;

    for (size_t turn = 0; is_written && below != NULL && turn < measured->turns; turn++) {
        added[turn] = mine[turn] - below[turn];
        share[turn] = added[turn] / below[turn];
    }
    is_written = is_written && put(report, command, layer, size,
                                   estimate("layer", "ns", mine, measured->turns));
    if (is_written && below != NULL) {
        is_written = put(report, command, layer, size,
                         estimate("added", "ns", added, measured->turns)) &&
                     put(report, command, layer, size,
                         estimate("added_share", "ratio", share, measured->turns));
    }
    free(added);
    return is_written;
}

static enum gauge_rc report_all(struct gauge_report *report,
                                const struct gauge_command *command,
                                const struct measured *measured)
{
    for (size_t size = 0; size < measured->sizes; size++) {
        for (size_t layer = 0; layer < measured->layers; layer++) {
            if (!report_layer(report, command, measured, layer, size)) {
                return GAUGE_FAILED;
            }
        }
    }
    return GAUGE_OK;
}

static enum gauge_rc run_open(const struct gauge_command *command,
                              struct gauge_control *control, struct gauge_timer *timer,
                              struct gauge_report *report, struct measured *measured)
{
    struct gauge_settings settings = command->settings;
    size_t count = measured->layers * measured->sizes * measured->turns;
    enum gauge_rc rc = GAUGE_OK;

    measured->median = calloc(count, sizeof(*measured->median));
    if (measured->median == NULL) {
        return gauge_fail("no memory for %zu turns", measured->turns);
    }
    for (size_t i = 0; i < count; i++) {
        measured->median[i] = NAN;
    }
    settings.seconds /= (double)measured->turns;
    for (size_t turn = 0; rc == GAUGE_OK && turn < measured->turns; turn++) {
        settings.seed = command->settings.seed + turn;
        rc = take_turn(command, &settings, control, timer, report, turn, measured);
    }
    if (rc == GAUGE_OK && report != NULL) {
        rc = report_all(report, command, measured);
    }
    free(measured->median);
    return rc;
}

enum gauge_rc gauge_layers_run(const struct gauge_command *command,
                               struct gauge_control *control, struct gauge_timer *timer,
                               struct gauge_report *report,
                               const struct gauge_started *started)
{
    struct gauge_ends ends = gauge_ends_make(control, command->settings.seed);
    size_t turns = gauge_option_bytes(gauge_layers_options, "turns");
    struct measured measured = {
        .layers = (size_t)command->layers,
        .sizes = command->settings.size_count,
        .turns = turns > 0 ? turns : 1,
    };
    int open = 0;
    enum gauge_rc rc = GAUGE_OK;

    while (rc == GAUGE_OK && open < command->layers) {
        rc = gauge_module_open(command->layer[open], &ends);
        open += rc == GAUGE_OK ? 1 : 0;
    }
    if (rc == GAUGE_OK) {
        rc = started->call(started->arg);
    }
    if (rc == GAUGE_OK) {
        rc = run_open(command, control, timer, report, &measured);
    }
    while (open > 0) {
        gauge_module_close(command->layer[--open]);
    }
    return rc;
}

/* The table */

static void print_times(const struct gauge_result *result, FILE *out)
{
    char value[16], low[16], high[16];

    gauge_time_text(result->value, value, sizeof(value));
    gauge_time_text(result->low, low, sizeof(low));
    gauge_time_text(result->high, high, sizeof(high));
    fprintf(out, " %9s %9s %9s", value, low, high);
}

void gauge_layers_table(const struct gauge_report *report, FILE *out)
{
    double size = -1;

    for (size_t i = 0; i < report->finding_count; i++) {
        const struct gauge_finding *finding = &report->findings[i];
        const struct gauge_result *result = &finding->result;
        char text[16] = "";

        if (i == 0) {
            fprintf(out, "%s, layer by layer\n%9s %-6s %9s %9s %9s %9s %9s %9s %9s",
                    finding->pattern, "size", "layer", "median", "95 % from", "to",
                    "added", "95 % from", "to", "of below");
        }
        if (strcmp(result->name, "layer") == 0) {
            if (result->size_to != size) {
                gauge_bytes_text(result->size_to, text, sizeof(text));
            }
            size = result->size_to;
            fprintf(out, "\n%9s %-6s", text, finding->module);
        }
        if (strcmp(result->name, "added_share") == 0) {
            fprintf(out, " %7.1f %%", 100 * result->value);
        } else {
            print_times(result, out);
        }
    }
    fprintf(out, "%s", report->finding_count > 0 ? "\n" : "");
}
