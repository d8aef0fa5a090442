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
     "modules from the bottom up; default: shm,weft,mpi, those available here"},
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

/* What is compared: a quantity at a size, or a parameter, which has none. On end 0. */
struct item {
    char name[GAUGE_NAME];
    const char *unit;
    double size;    /* -1: of a parameter */
    double *median; /* [layer][turn] */
};

struct measured {
    size_t layers;
    size_t turns;
    struct item *items;
    size_t count;
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

static double *cell(const struct measured *measured, const struct item *item,
                    size_t layer)
{
    return item->median + layer * measured->turns;
}

/* Measuring */

/* The item of that name and size, made when it is new; NULL without memory. */
static struct item *find_item(struct measured *measured, const char *name,
                              const char *unit, double size)
{
    size_t cells = measured->layers * measured->turns;
    struct item *items = measured->items;

    for (size_t i = 0; i < measured->count; i++) {
        if (items[i].size == size && strcmp(items[i].name, name) == 0) {
            return &items[i];
        }
    }
    items = realloc(items, (measured->count + 1) * sizeof(*items));
    if (items == NULL) {
        return NULL;
    }
    measured->items = items;
    items += measured->count;
    *items = (struct item){.unit = unit, .size = size};
    snprintf(items->name, sizeof(items->name), "%s", name);
    items->median = malloc(cells * sizeof(*items->median));
    if (items->median == NULL) {
        return NULL;
    }
    measured->count++;
    for (size_t i = 0; i < cells; i++) {
        items->median[i] = NAN;
    }
    return items;
}

/* The first value of a turn counts: that of the first end, or of the smallest sizes. */
static enum gauge_rc note(struct measured *measured, const char *name, const char *unit,
                          double size, size_t layer, size_t turn, double value)
{
    struct item *item = find_item(measured, name, unit, size);

    if (item == NULL) {
        return gauge_fail("no memory for another layer");
    }
    if (isnan(cell(measured, item, layer)[turn])) {
        cell(measured, item, layer)[turn] = value;
    }
    return GAUGE_OK;
}

/* What the report got since it had so many rows and findings. */
static enum gauge_rc note_all(struct measured *measured,
                              const struct gauge_pattern *pattern,
                              const struct gauge_report *report, size_t rows,
                              size_t findings, size_t layer, size_t turn)
{
    enum gauge_rc rc = GAUGE_OK;

    for (size_t i = rows;
         rc == GAUGE_OK && !pattern->has_parameters && i < report->row_count; i++) {
        const struct gauge_row *row = &report->rows[i];

        rc = note(measured, row->point.name, "ns", (double)row->point.size, layer, turn,
                  row->summary.median);
    }
    /* Parameters of the region of the smallest sizes. */
    for (size_t i = findings;
         rc == GAUGE_OK && pattern->has_parameters && i < report->finding_count; i++) {
        const struct gauge_result *result = &report->findings[i].result;

        if (!result->is_bound &&
            result->size_from <= report->findings[findings].result.size_from) {
            rc = note(measured, result->name, result->unit, -1, layer, turn,
                      result->value);
        }
    }
    return rc;
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
        size_t rows = report != NULL ? report->row_count : 0;
        size_t findings = report != NULL ? report->finding_count : 0;

        rc = gauge_pattern_run(command->pattern, command->layer[order[i]], settings,
                               control, timer, report);
        if (rc == GAUGE_OK && report != NULL) {
            rc = note_all(measured, command->pattern, report, rows, findings,
                          (size_t)order[i], turn);
        }
    }
    return rc;
}

/* Results */

/* A parameter has its name as the note and no size; a time both. */
static bool put(struct gauge_report *report, const struct gauge_command *command,
                const struct item *item, size_t layer, const char *name, const char *unit,
                const double *values, size_t count)
{
    struct gauge_estimate found = gauge_estimate(values, count);
    double size = item->size > 0 ? item->size : 0;
    struct gauge_finding finding = {
        command->pattern->name,
        command->layer[layer]->name,
        {
            .name = name,
            .unit = unit,
            .value = found.value,
            .low = found.low,
            .high = found.high,
            .note = item->name,
            .size_from = size,
            .size_to = size,
        },
    };

    return gauge_report_finding(report, &finding);
}

/* A layer's own, and what it adds to the one below. */
static bool report_layer(struct gauge_report *report, const struct gauge_command *command,
                         const struct measured *measured, const struct item *item,
                         size_t layer)
{
    size_t turns = measured->turns;
    const double *mine = cell(measured, item, layer);
    const double *below = layer > 0 ? cell(measured, item, layer - 1) : NULL;
    double *added = calloc(2 * turns, sizeof(*added));
    double *share = added + turns;
    bool is_written = added != NULL;

    for (size_t turn = 0; is_written && below != NULL && turn < turns; turn++) {
        added[turn] = mine[turn] - below[turn];
        share[turn] = added[turn] / below[turn];
    }
    is_written =
        is_written && put(report, command, item, layer, "layer", item->unit, mine, turns);
    if (is_written && below != NULL) {
        is_written =
            put(report, command, item, layer, "added", item->unit, added, turns) &&
            put(report, command, item, layer, "added_share", "ratio", share, turns);
    }
    free(added);
    return is_written;
}

static int compare_items(const void *a, const void *b)
{
    const struct item *one = a;
    const struct item *two = b;
    int order = (one->size > two->size) - (one->size < two->size);

    return order != 0 ? order : strcmp(one->name, two->name);
}

static enum gauge_rc report_all(struct gauge_report *report,
                                const struct gauge_command *command,
                                const struct measured *measured)
{
    if (measured->count > 0) {
        qsort(measured->items, measured->count, sizeof(*measured->items), compare_items);
    }
    for (size_t i = 0; i < measured->count; i++) {
        for (size_t layer = 0; layer < measured->layers; layer++) {
            if (!report_layer(report, command, measured, &measured->items[i], layer)) {
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
    enum gauge_rc rc = GAUGE_OK;

    settings.seconds /= (double)measured->turns;
    for (size_t turn = 0; rc == GAUGE_OK && turn < measured->turns; turn++) {
        settings.seed = command->settings.seed + turn;
        rc = take_turn(command, &settings, control, timer, report, turn, measured);
    }
    if (rc == GAUGE_OK && report != NULL) {
        rc = report_all(report, command, measured);
    }
    for (size_t i = 0; i < measured->count; i++) {
        free(measured->items[i].median);
    }
    free(measured->items);
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
        gauge_module_close(command->layer[--open], rc);
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

/* Findings of a pattern's own come before; those of layers have a known name. */
static bool is_of_layers(const struct gauge_result *result)
{
    return strcmp(result->name, "layer") == 0 || strcmp(result->name, "added") == 0 ||
           strcmp(result->name, "added_share") == 0;
}

void gauge_layers_table(const struct gauge_report *report, FILE *out)
{
    const struct gauge_result *last = NULL;

    for (size_t i = 0; i < report->finding_count; i++) {
        const struct gauge_finding *finding = &report->findings[i];
        const struct gauge_result *result = &finding->result;
        char text[16] = "";

        if (!is_of_layers(result)) {
            continue;
        }
        if (last == NULL) {
            fprintf(out, "%s, layer by layer\n%9s %-10s %-6s %9s %9s %9s %9s %9s %9s %9s",
                    finding->pattern, "size", "what", "layer", "median", "95 % from",
                    "to", "added", "95 % from", "to", "of below");
        }
        if (strcmp(result->name, "layer") == 0) {
            bool is_new = last == NULL || last->size_to != result->size_to ||
                          strcmp(last->note, result->note) != 0;

            if (is_new && result->size_to > 0) {
                gauge_bytes_text(result->size_to, text, sizeof(text));
            }
            fprintf(out, "\n%9s %-10s %-6s", text, is_new ? result->note : "",
                    finding->module);
        }
        if (strcmp(result->name, "added_share") == 0) {
            fprintf(out, " %7.1f %%", 100 * result->value);
        } else {
            print_times(result, out);
        }
        last = result;
    }
    fprintf(out, "%s", last != NULL ? "\n" : "");
}
