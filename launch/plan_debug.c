/*
 * plan_debug.c - the options --debug, --debugger and --debug-commands: see plan.h.
 */
#include "plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COMMANDS_MOST = 1024 * 1024, PANES_MOST = 64 };

bool plan_is_debugged(const struct plan *plan, int rank)
{
    return plan->debug != NULL && ranks_have(plan->debug, rank);
}

static enum parsed wrong(const char *option, const char *value, const char *what)
{
    fprintf(stderr, "%s: %s %s: %s\n", program_name, option, value, what);
    return PARSED_WRONG;
}

void plan_set_debugger(struct plan *plan, char *words)
{
    plan->debugger.count = 0;
    for (char *rest, *word = strtok_r(words, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        list_add(&plan->debugger, word);
    }
}

enum parsed plan_read_commands(struct plan *plan, const char *path)
{
    FILE *from = fopen(path, "r");
    char *text = calloc(1, COMMANDS_MOST + 1);
    size_t n;

    if (from == NULL || text == NULL) {
        perror(path);
        free(text);
        return wrong("--debug-commands", path, "the file cannot be read");
    }
    n = fread(text, 1, COMMANDS_MOST + 1, from);
    fclose(from);
    if (n > COMMANDS_MOST || strlen(text) != n) {
        free(text);
        return wrong("--debug-commands", path, "this is no file of commands");
    }
    plan->commands = text;
    plan->is_labelling = true; /* who says what? */
    return PARSED;
}

enum parsed plan_check_debug(struct plan *plan)
{
    static char gdb[] = "gdb";
    long count = 0;

    if (plan->debug == NULL) {
        return plan->commands == NULL && plan->debugger.count == 0
                   ? PARSED
                   : wrong("--debug", "RANKS",
                           "is missing: it says which ranks to debug, as 0,3-5 or all");
    }
    if (plan->debugger.count == 0) {
        list_add(&plan->debugger, gdb);
    }
    switch (ranks_check(plan->debug, plan->ranks)) {
    case RANKS_OF_JOB:
        break;
    case RANKS_NO_LIST:
        return wrong("--debug", plan->debug[0] != '\0' ? plan->debug : "''",
                     "ranks are named as 0,3-5 or all");
    case RANKS_NOT_OF_JOB:
        return wrong("--debug", plan->debug, "the job has no such rank");
    }
    for (int r = 0; r < plan->ranks; r++) {
        count += plan_is_debugged(plan, r) ? 1 : 0;
    }
    return plan->commands != NULL || count <= PANES_MOST
               ? PARSED
               : wrong("--debug", plan->debug,
                       "these are more than 64 ranks, which need --debug-commands FILE");
}
