/*
 * main.c - weft-gauge: measures a network so that the number can be believed.
 */
#include "gauge/command.h"
#include "gauge/layers.h"
#include "gauge/registry.h"
#include "gauge/report/gnuplot.h"
#include "gauge/report/provenance.h"
#include "gauge/tour.h"

#include "version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_TROUBLE = 1, EXIT_USAGE = 2 };

static void print_options(struct gauge_option *table)
{
    for (; table != NULL && table->name != NULL; table++) {
        char head[64];

        snprintf(head, sizeof(head), "--%s %s", table->name,
                 table->argument != NULL ? table->argument : "");
        printf("  %-22s %s", head, table->help);
        if (table->kind != GAUGE_FLAG && table->value[0] != '\0') {
            printf(" [%s]", table->value);
        }
        printf("\n");
    }
}

static int help(void)
{
    printf(
        "usage: weft-gauge                   first measurements, ten seconds at most\n"
        "       weft-gauge run PATTERN MODULE [option ...]\n"
        "       weft-gauge layers [PATTERN] [option ...]\n"
        "       weft-gauge list\n"
        "       weft-gauge describe NAME\n"
        "       weft-gauge --join HOST:PORT --token TEXT\n"
        "       weft-gauge --help | --version\n"
        "\n"
        "A pattern says which processes (ends) communicate and what is timed; a module\n"
        "moves the bytes. Any pattern runs over any module that offers what it needs.\n"
        "Options of run:\n");
    print_options(gauge_core_options);
    printf("Options of layers, besides these and the options of the pattern (default: "
           "one_one)\nand of the modules:\n");
    print_options(gauge_layers_options);
    return EXIT_SUCCESS;
}

static int list(void)
{
    printf("patterns:\n");
    for (int i = 0; gauge_patterns[i] != NULL; i++) {
        printf("  %-10s %s\n", gauge_patterns[i]->name, gauge_patterns[i]->description);
    }
    printf("modules:\n");
    for (int i = 0; gauge_modules[i] != NULL; i++) {
        struct gauge_module *module = gauge_modules[i];
        const char *why = module->available != NULL ? module->available(module) : NULL;

        printf("  %-10s %s%s%s\n", module->name, module->description,
               why != NULL ? "; not here: " : "", why != NULL ? why : "");
    }
    return EXIT_SUCCESS;
}

static int describe(const struct gauge_command *command)
{
    const char *name = command->words > 0 ? command->word[0] : "";
    const struct gauge_pattern *pattern = gauge_pattern_find(name);
    struct gauge_module *module = gauge_module_find(name);

    if (pattern == NULL && module == NULL) {
        gauge_fail("describe wants the name of a pattern or module; see weft-gauge list");
        return EXIT_USAGE;
    }
    if (pattern != NULL) {
        printf("%s: %s\n\n%s", name, pattern->description, pattern->method);
        print_options(pattern->options);
    }
    if (module != NULL) {
        printf("%s: %s\n", name, module->description);
        print_options(module->options);
    }
    return EXIT_SUCCESS;
}

/* NULL, or why what the user asked for does not go with so many ends. */
static const char *refusal_for(struct gauge_command *command, int ends, bool is_launched)
{
    return command->layers > 0
               ? gauge_layers_choose(command, ends, is_launched)
               : gauge_refusal(command->pattern, command->module, ends, is_launched);
}

/* A joined end does what end 0's command line says; all others have their own. */
static enum gauge_rc pass_command(struct gauge_command *command,
                                  struct gauge_control *control, int argc, char **argv)
{
    static char *words[256];
    char *text = NULL;
    size_t size = 0;
    int count = 0;
    const char *why = NULL;
    enum gauge_rc rc = GAUGE_OK;

    if (strcmp(command->start.how, "joined") != 0 &&
        strcmp(command->start.how, "listening") != 0) {
        return GAUGE_OK;
    }
    for (int i = 0; i < argc; i++) {
        size += strlen(argv[i]) + 1;
    }
    text = malloc(size + 1);
    if (text == NULL) {
        return gauge_fail("no memory for the command");
    }
    size = 0;
    for (int i = 0; i < argc; i++) {
        size += (size_t)sprintf(text + size, "%s", argv[i]) + 1;
    }
    if (control->end != 0) {
        free(text);
    }
    rc = gauge_control_share_text(control, &text, &size);
    if (rc != GAUGE_OK || control->end == 0) {
        free(text);
        return rc;
    }
    for (size_t at = 0; at < size && count < 256; at += strlen(text + at) + 1) {
        words[count++] = text + at; /* kept: options point into it */
    }
    gauge_command_free(command);
    if (!gauge_command_read(command, count, words)) {
        return GAUGE_FAILED;
    }
    why = refusal_for(command, control->ends, false);
    return why == NULL ? GAUGE_OK : gauge_fail("this end cannot take part: %s", why);
}

static const char *refusal(struct gauge_command *command)
{
    int end = 0;
    int ends = 0;
    bool is_launched = !command->start.is_forked && command->start.listen == NULL &&
                       gauge_start_launched(&end, &ends);

    if (is_launched && ends == 0 && command->start.ends == 0) {
        return "the launcher tells which end this is, but not how many there are: "
               "give --ends N";
    }
    if (!is_launched || ends == 0) {
        ends = command->start.ends > 0 ? command->start.ends : 2;
    }
    return refusal_for(command, ends, is_launched);
}

/* The module is open: alarms first, then the header. */
static enum gauge_rc on_started(void *arg)
{
    const struct gauge_provenance *about = arg;

    if (about->report != NULL) {
        struct gauge_alarms *alarms = &about->report->alarms;

        gauge_alarms_start(alarms, about->control->ends);
        if (about->timer->why != NULL) {
            gauge_alarm(alarms, "clock_gettime is read: %s", about->timer->why);
        }
        gauge_layers_alarms(alarms);
        gauge_screen_alarms(alarms, 0, stdout);
    }
    return gauge_provenance_write(about);
}

/* Whether the clock kept its rate; what happened meanwhile is said and written. */
static enum gauge_rc finish(const struct gauge_provenance *about, enum gauge_rc rc)
{
    struct gauge_report *report = about->report;
    double drift = gauge_timer_drift(about->timer);
    int known = report != NULL ? report->alarms.count : 0;

    if (rc == GAUGE_OK && fabs(drift) > GAUGE_CLOCK_TOLERANCE) {
        rc = gauge_fail("the counter ran %.0f ppm off the monotonic clock: these figures "
                        "are not to be believed",
                        drift * 1e6);
    }
    if (report != NULL) {
        gauge_alarms_end(&report->alarms);
        gauge_provenance_end(about, drift, rc == GAUGE_OK);
        gauge_screen_clear();
        if (about->command->layers > 0) {
            gauge_layers_table(report, stdout);
        } else {
            gauge_screen_table(report, stdout);
            gauge_picture_draw(report, stdout);
        }
        if (about->command->plot != NULL &&
            !gauge_gnuplot_draw(report, about->command->plot)) {
            rc = GAUGE_FAILED;
        }
        if (about->command->is_tour) {
            gauge_tour_finish(report, stdout);
        }
        gauge_screen_alarms(&report->alarms, known, stdout);
        fflush(stdout);
    }
    return rc;
}

static enum gauge_rc measure_open(struct gauge_command *command, int argc, char **argv,
                                  struct gauge_control *control,
                                  struct gauge_timer *timer, struct gauge_report *report)
{
    struct gauge_provenance about = {command, argc, argv, control, timer, report};
    struct gauge_started started = {on_started, &about};
    enum gauge_rc rc = pass_command(command, control, argc, argv);

    if (rc == GAUGE_OK && command->layers > 0) {
        rc = gauge_layers_run(command, control, timer, report, &started);
    } else if (rc == GAUGE_OK) {
        rc = gauge_bench_run(command->pattern, command->module, &command->settings,
                             control, timer, report, &started);
    }
    return finish(&about, rc);
}

/* A file that exists is refused before anybody waits or works. */
static bool open_output(const struct gauge_command *command, struct gauge_report *report)
{
    int end = 0;
    int ends = 0;

    if (command->start.join != NULL ||
        (!command->start.is_forked && gauge_start_launched(&end, &ends) && end != 0)) {
        return true;
    }
    return gauge_report_open(report, command->json, command->csv) &&
           (command->plot == NULL || gauge_gnuplot_reserve(command->plot));
}

static enum gauge_rc measure(struct gauge_command *command, int argc, char **argv)
{
    struct gauge_report report = {0};
    struct gauge_control control;
    struct gauge_timer timer;
    enum gauge_rc rc = GAUGE_OK;

    if (!open_output(command, &report)) {
        gauge_report_close(&report);
        return GAUGE_FAILED;
    }
    gauge_timer_open(&timer);
    rc = gauge_start(&command->start, &control);
    if (rc == GAUGE_OK) {
        gauge_fail_name(control.end);
        rc = measure_open(command, argc, argv, &control, &timer,
                          control.end == 0 ? &report : NULL);
        gauge_control_close(&control);
    }
    if (!gauge_report_close(&report)) {
        rc = GAUGE_FAILED;
    }
    return gauge_start_end(rc);
}

static int run(struct gauge_command *command, int argc, char **argv)
{
    const char *why = command->start.join == NULL ? refusal(command) : NULL;

    if (why != NULL) {
        gauge_fail("%s", why);
        return EXIT_USAGE;
    }
    return measure(command, argc, argv) == GAUGE_OK ? EXIT_SUCCESS : EXIT_TROUBLE;
}

static int obey(struct gauge_command *command, int argc, char **argv)
{
    if (command->verb == NULL) {
        return command->start.join != NULL ? run(command, argc, argv) : help();
    }
    if (strcmp(command->verb, "run") == 0 || strcmp(command->verb, "layers") == 0) {
        return run(command, argc, argv);
    }
    if (strcmp(command->verb, "list") == 0) {
        return list();
    }
    if (strcmp(command->verb, "describe") == 0) {
        return describe(command);
    }
    gauge_fail("there is no verb \"%s\"; see weft-gauge --help", command->verb);
    return EXIT_USAGE;
}

int main(int argc, char **argv)
{
    struct gauge_command command;
    bool is_tour = false;
    int code = EXIT_USAGE;

    if (argc == 2 && strcmp(argv[1], "--help") == 0) {
        return help();
    }
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        printf("weft-gauge %s\n", WEFT_VERSION);
        return EXIT_SUCCESS;
    }
    if (argc == 1) {
        argc = gauge_tour_count;
        argv = (char **)(uintptr_t)gauge_tour_words;
        is_tour = true;
    }
    if (gauge_command_read(&command, argc, argv)) {
        command.is_tour = is_tour;
        code = obey(&command, argc, argv);
    }
    gauge_command_free(&command);
    return code;
}
