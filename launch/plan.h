/*
 * plan.h - what the command line of mpiexec asks for.
 *
 * Nothing here starts anything: options.c fills a plan or says in one line what is wrong
 * with the command line.
 */
#ifndef WEFT_LAUNCH_PLAN_H
#define WEFT_LAUNCH_PLAN_H

#include "hosts.h"
#include "spread.h"

#include <stdbool.h>

enum bind_to {
    BIND_IF_FITS, /* to cores, if all ranks find free ones */
    BIND_CORE,    /* to cores; if that cannot be, no rank is started */
    BIND_THREAD,  /* to hardware threads; as all that follow, no less is done */
    BIND_CACHE,   /* to all cores of the last-level cache where its cores are */
    BIND_NUMA,    /* of the NUMA node */
    BIND_SOCKET,  /* of the socket */
    BIND_NONE,
};

/* A list of strings that ends with NULL; owned by the plan, the strings are not. */
struct list {
    char **at;
    int count;
};

/* What has said how many processors a rank gets; the first of these decides. */
enum width_by {
    WIDTH_BY_DEFAULT, /* nobody: one core */
    WIDTH_BY_THREADS, /* OMP_NUM_THREADS, as the ranks see it: a core for each thread */
    WIDTH_BY_SLURM,   /* SLURM_CPUS_PER_TASK, which counts processors */
    WIDTH_BY_TASK,    /* --cpus-per-task: processors, and not fewer */
    WIDTH_BY_OPTION,  /* --cpus-per-rank, or PE= of --map-by: cores, and not fewer */
};

/* One program and its ranks; MPMD command lines have several. */
struct app {
    char **argv;
    int ranks; /* 0: not said */
    int width; /* cores of each rank; processors, if Slurm or --cpus-per-task say it */
    enum width_by width_by;
    const char *wdir; /* NULL: mpiexec's own */
    const char *soft; /* numbers of ranks that do as well; NULL: none */
    const char *path; /* folders that have the program; NULL: PATH */
    struct list set;  /* NAME=VALUE, for this program */
};

struct plan {
    struct app *apps;
    int app_count;
    int ranks; /* of all programs */
    enum bind_to bind;
    struct spread spread; /* how ranks share the cores of a host */
    bool may_be_foreign;  /* programs of another MPI are started, too */
    bool is_by_thread;    /* --map-by hwthread */
    bool is_cyclic;       /* one rank to each host in turn */
    const char *rankfile; /* NULL: none */
    struct list slots;    /* of each rank, by the rankfile; empty without one */
    int *host_of;         /* of each rank, by the rankfile: a number in `hosts` */
    bool is_reporting_bindings;
    bool is_labelling;
    bool has_config;    /* a -configfile was read */
    bool is_verbose;    /* says which ranks run on which host */
    const char *output; /* a file for each rank (habits.h); NULL: our standard output */
    const char *error;  /* the same for standard error */
    const char *input;  /* ranks that get standard input, or "none"; NULL: rank 0 */
    bool has_empty_environment; /* pass only what is named */
    struct hosts hosts;         /* none: this machine */
    int per_host;               /* ranks on each host; 0: not said */
    bool may_exceed_slots;
    bool is_report;       /* no ranks: which networks would be used? */
    bool is_json;         /* that report is JSON */
    bool is_held;         /* ranks stop before main(), until a debugger lets them go */
    const char *debug;    /* ranks to debug, as "0,3-5" or "all"; NULL: none */
    struct list debugger; /* its words */
    const char *commands; /* text that debuggers run; NULL: a human types it */
    bool keeps_going;     /* a rank that fails does not end the others */
    double timeout;       /* seconds; 0: none */
    bool has_grace;       /* `grace` was given; else the setting counts */
    double grace;         /* seconds between SIGTERM and SIGKILL */
    double hang_timeout; /* seconds without a move after which ranks are reported; 0: none
                          */
    bool has_hang_stacks;   /* with the stacks of ranks outside MPI */
    bool is_shipping;       /* hosts get what they lack (ship.h) */
    struct list ship_files; /* that the user has named for it */
    const char *trace;      /* the file for what ranks have done last; NULL: none */
    struct list set;        /* NAME=VALUE, for all programs */
    struct list keep;       /* names passed although the environment is empty */
};

enum { GRACE_MOST = 1000000000 /* seconds */ };

enum parsed { PARSED, PARSED_AND_DONE, PARSED_WRONG };

/*
 * Fills `plan` from the command line. PARSED_AND_DONE: --help or --version was answered;
 * PARSED_WRONG: a line on standard error says why.
 */
enum parsed plan_parse(int argc, char **argv, struct plan *plan);

/* The program of a rank, which must be below `plan->ranks`. */
const struct app *plan_app_of(const struct plan *plan, int rank);

/*
 * Fills `width` and `width_by` of every program, where the command line does not say it.
 * A program inherits the width that an option has given to the one before it.
 */
void plan_choose_widths(struct plan *plan);

/* Is the width of this program a demand of the command line? */
bool app_has_demanded_width(const struct app *app);

/*
 * What an option asks of the placement: `words` are its name, as typed, and its value.
 * PARSED_WRONG after a line. --cpu-bind, --distribution are Slurm's.
 */
enum parsed plan_map_by(char **words, struct plan *plan, struct app *app);
enum parsed plan_distribution(char **words, struct plan *plan);
enum parsed plan_rank_by(char **words);
enum parsed plan_bind_to(char **words, struct plan *plan, struct app *app);
enum parsed plan_cpu_bind(char **words, struct plan *plan);

/* Says what is wrong with the value of an option; always PARSED_WRONG. */
enum parsed plan_refuse(char **words, const char *why);

/* Do these wishes go together? PARSED_WRONG after a line. */
enum parsed plan_check_placement(struct plan *plan);

/* Has a list of ranks, "0,3-5" or "all", this one? */
bool ranks_have(const char *list, int rank);

/* Is it such a list, of ranks that a job of `count` ranks has? */
enum ranks_are { RANKS_OF_JOB, RANKS_NO_LIST, RANKS_NOT_OF_JOB };
enum ranks_are ranks_check(const char *list, int count);

/* Does this rank get standard input? The second is for ranks that are counted;
 * PARSED_WRONG after a line. */
bool plan_has_input(const struct plan *plan, int rank);
enum parsed plan_check_input(const struct plan *plan);

/* Is a debugger to be attached to this rank? */
bool plan_is_debugged(const struct plan *plan, int rank);

/* The values of --debugger and --debug-commands, and what both mean together with --debug
 * once ranks are counted; PARSED_WRONG after a line. */
void plan_set_debugger(struct plan *plan, char *words);
enum parsed plan_read_commands(struct plan *plan, const char *path);
enum parsed plan_check_debug(struct plan *plan);

/* The value of NAME in a list of NAME=VALUE, where the last one counts; or NULL. */
const char *list_value(const struct list *list, const char *name);

/* Adds a word to a list. */
void list_add(struct list *list, char *word);

/* For messages: the name under which we were called. */
extern const char *program_name;

#endif
