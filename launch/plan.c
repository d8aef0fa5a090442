/*
 * plan.c - what follows from a plan: a rank's program, and how many cores it gets.
 */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDEST = 100000 };

const char *program_name = "mpiexec";

enum parsed plan_refuse(char **words, const char *why)
{
    fprintf(stderr, "%s: %s %s: %s\n", program_name, words[0], words[1], why);
    return PARSED_WRONG;
}

const struct app *plan_app_of(const struct plan *plan, int rank)
{
    const struct app *app = plan->apps;

    while (rank >= app->ranks) {
        rank -= app->ranks;
        app++;
    }
    return app;
}

void list_add(struct list *list, char *word)
{
    char **grown = realloc(list->at, ((size_t)list->count + 2) * sizeof(*grown));

    if (grown == NULL) {
        perror(program_name);
        exit(1);
    }
    list->at = grown;
    list->at[list->count++] = word;
    list->at[list->count] = NULL;
}

const char *list_value(const struct list *list, const char *name)
{
    const size_t length = strlen(name);

    for (int i = list->count - 1; i >= 0; i--) {
        if (strncmp(list->at[i], name, length) == 0 && list->at[i][length] == '=') {
            return list->at[i] + length + 1;
        }
    }
    return NULL;
}

static bool is_passed_on(const struct plan *plan, const char *name)
{
    bool is_named = !plan->has_empty_environment;

    for (int i = 0; i < plan->keep.count; i++) {
        is_named = is_named || strcmp(plan->keep.at[i], name) == 0;
    }
    return is_named;
}

/* A variable as the ranks of a program will see it; or NULL. */
static const char *value_for(const struct plan *plan, const struct app *app,
                             const char *name)
{
    const char *value = list_value(&app->set, name);

    if (value == NULL) {
        value = list_value(&plan->set, name);
    }
    return value == NULL && is_passed_on(plan, name) ? getenv(name) : value;
}

/* The number at the beginning of a list such as "4,2"; 0 if there is none. */
static int first_number(const char *text)
{
    char *end;
    long value = text != NULL ? strtol(text, &end, 10) : 0;

    if (value < 1 || value > WIDEST) {
        return 0;
    }
    while (*end == ' ') {
        end++;
    }
    return *end == '\0' || *end == ',' ? (int)value : 0;
}

static void choose(const struct plan *plan, struct app *app)
{
    const int by_slurm = first_number(getenv("SLURM_CPUS_PER_TASK"));
    const int by_threads = first_number(value_for(plan, app, "OMP_NUM_THREADS"));

    if (app->width > 0) {
        app->width_by = app->width_by == WIDTH_BY_TASK ? WIDTH_BY_TASK : WIDTH_BY_OPTION;
    } else if (by_slurm > 0) {
        app->width = by_slurm;
        app->width_by = WIDTH_BY_SLURM;
    } else if (by_threads > 0) {
        app->width = by_threads;
        app->width_by = WIDTH_BY_THREADS;
    } else {
        app->width = 1;
        app->width_by = WIDTH_BY_DEFAULT;
    }
}

bool app_has_demanded_width(const struct app *app)
{
    return app->width_by == WIDTH_BY_OPTION || app->width_by == WIDTH_BY_TASK;
}

void plan_choose_widths(struct plan *plan)
{
    for (int i = 0; i < plan->app_count; i++) {
        struct app *app = &plan->apps[i];

        if (app->width == 0 && i > 0 && app_has_demanded_width(&plan->apps[i - 1])) {
            app->width = plan->apps[i - 1].width;
            app->width_by = plan->apps[i - 1].width_by;
        }
        choose(plan, app);
    }
}
