/*
 * plan.h - what the command line of mpiexec asks for.
 *
 * Nothing here starts anything: options.c fills a plan or says in one line what is wrong
 * with the command line.
 */
#ifndef WEFT_LAUNCH_PLAN_H
#define WEFT_LAUNCH_PLAN_H

#include "hosts.h"

#include <stdbool.h>

enum bind_to {
    BIND_IF_FITS, /* to cores, if there is one for each rank */
    BIND_CORE,
    BIND_NONE,
};

/* A list of strings that ends with NULL; owned by the plan, the strings are not. */
struct list {
    char **at;
    int count;
};

/* One program and its ranks; MPMD command lines have several. */
struct app {
    char **argv;
    int ranks;        /* 0: not said */
    const char *wdir; /* NULL: where mpiexec stands */
    struct list set;  /* NAME=VALUE, for this program */
};

struct plan {
    struct app *apps;
    int app_count;
    int ranks; /* of all programs */
    enum bind_to bind;
    bool is_reporting_bindings;
    bool is_labelling;
    bool has_empty_environment; /* pass only what is named */
    struct hosts hosts;         /* none: this machine */
    int per_host;               /* ranks on each host; 0: not said */
    bool may_exceed_slots;
    bool is_report;   /* no ranks: which networks would be used? */
    bool keeps_going; /* a rank that fails does not end the others */
    double timeout;   /* seconds; 0: none */
    struct list set;  /* NAME=VALUE, for all programs */
    struct list keep; /* names passed although the environment is empty */
};

enum parsed { PARSED, PARSED_AND_DONE, PARSED_WRONG };

/*
 * Fills `plan` from the command line. PARSED_AND_DONE: --help or --version was answered;
 * PARSED_WRONG: a line on standard error says why.
 */
enum parsed plan_parse(int argc, char **argv, struct plan *plan);

/* Adds a word to a list. */
void list_add(struct list *list, char *word);

/* For messages: the name under which we were called. */
extern const char *program_name;

#endif
