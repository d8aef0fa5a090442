/*
 * options.c - the command line of mpiexec: see plan.h.
 *
 * One table has every option, ours and those that hands bring along from other launchers,
 * which work, do nothing harmful, or are answered with the Weft name. One dash or two
 * make no difference.
 */
#include "allocation.h"
#include "habits.h"
#include "plan.h"
#include "rankfile.h"

#include "base/spelling.h"
#include "version.h"
#include "wireup/limits.h"
#include "texts.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum option {
    OPT_RANKS,
    OPT_WDIR,
    OPT_PATH,
    OPT_SOFT,
    OPT_CONFIG,
    OPT_ENV,
    OPT_GENV,
    OPT_X,
    OPT_ENV_NONE,
    OPT_ENV_LIST,
    OPT_BIND,
    OPT_CPU_BIND,
    OPT_MAP,
    OPT_DISTRIBUTION,
    OPT_RANK_BY,
    OPT_RANKFILE,
    OPT_WIDTH,
    OPT_TASK_WIDTH,
    OPT_PER_SOCKET,
    OPT_BIND_AS, /* --bind-to with the value of the table */
    OPT_MAP_AS,  /* --map-by, too */
    OPT_FOREIGN,
    OPT_REPORT,
    OPT_LABEL,
    OPT_OUTPUT,
    OPT_ERROR,
    OPT_OUTPUT_FOLDER,
    OPT_INPUT,
    OPT_VERBOSE,
    OPT_TIMEOUT,
    OPT_HANG_TIMEOUT,
    OPT_GRACE,
    OPT_HANG_STACKS,
    OPT_DEBUG,
    OPT_DEBUGGER,
    OPT_DEBUG_COMMANDS,
    OPT_TRACE,
    OPT_KEEP_GOING,
    OPT_SHIP,
    OPT_SHIP_FILE,
    OPT_HOSTS,
    OPT_HOSTFILE,
    OPT_PER_HOST,
    OPT_EXCEED,
    OPT_NET_REPORT,
    OPT_JSON,
    OPT_NET,
    OPT_LAUNCHER,
    OPT_IGNORED,   /* harmless here: nothing to do, nothing to say */
    OPT_EXPLAINED, /* does nothing; one line says what does */
    OPT_INSTEAD,   /* refused; the line says what to write instead */
    OPT_PARAMETER, /* Open MPI's, by name and value */
    OPT_HELP,
    OPT_VERSION,
};

struct row {
    const char *names; /* without dashes, separated by blanks */
    int words;         /* how many follow */
    enum option option;
    const char *hint; /* what to use, for OPT_EXPLAINED and OPT_INSTEAD; the value, for
                       * OPT_BIND_AS and OPT_MAP_AS */
};

static const struct row table[] = {
    {"n np c ntasks", 1, OPT_RANKS, NULL},
    {"wdir wd", 1, OPT_WDIR, NULL},
    {"path", 1, OPT_PATH, NULL},
    {"soft", 1, OPT_SOFT, NULL},
    {"configfile app", 1, OPT_CONFIG, NULL},
    {"env", 2, OPT_ENV, NULL},
    {"genv", 2, OPT_GENV, NULL},
    {"x", 1, OPT_X, NULL},
    {"envnone genvnone", 0, OPT_ENV_NONE, NULL},
    {"envlist genvlist", 1, OPT_ENV_LIST, NULL},
    {"envall genvall", 0, OPT_IGNORED, NULL},
    {"bind-to", 1, OPT_BIND, NULL},
    {"bind-to-core", 0, OPT_BIND_AS, "core"},
    {"bind-to-socket", 0, OPT_BIND_AS, "socket"},
    {"bind-to-none", 0, OPT_BIND_AS, "none"},
    {"cpu-bind", 1, OPT_CPU_BIND, NULL},
    {"map-by", 1, OPT_MAP, NULL},
    {"byslot", 0, OPT_MAP_AS, "slot"},
    {"bynode rr", 0, OPT_MAP_AS, "node"},
    {"pernode", 0, OPT_MAP_AS, "ppr:1:node"},
    {"npersocket ntasks-per-socket", 1, OPT_PER_SOCKET, NULL},
    {"distribution", 1, OPT_DISTRIBUTION, NULL},
    {"rank-by", 1, OPT_RANK_BY, NULL},
    {"rankfile rf", 1, OPT_RANKFILE, NULL},
    {"cpus-per-rank cpus-per-proc", 1, OPT_WIDTH, NULL},
    {"cpus-per-task", 1, OPT_TASK_WIDTH, NULL},
    {"allow-foreign", 0, OPT_FOREIGN, NULL},
    {"report-bindings", 0, OPT_REPORT, NULL},
    {"label l prepend-rank tag-output", 0, OPT_LABEL, NULL},
    {"output outfile-pattern outfile", 1, OPT_OUTPUT, NULL},
    {"error errfile-pattern errfile", 1, OPT_ERROR, NULL},
    {"output-filename", 1, OPT_OUTPUT_FOLDER, NULL},
    {"stdin s input", 1, OPT_INPUT, NULL},
    {"v verbose display-map display-devel-map display-allocation print-rank-map", 0,
     OPT_VERBOSE, NULL},
    {"timeout", 1, OPT_TIMEOUT, NULL},
    {"hang-timeout", 1, OPT_HANG_TIMEOUT, NULL},
    {"grace", 1, OPT_GRACE, NULL},
    {"hang-stacks", 0, OPT_HANG_STACKS, NULL},
    {"debug", 1, OPT_DEBUG, NULL},
    {"debugger", 1, OPT_DEBUGGER, NULL},
    {"debug-commands", 1, OPT_DEBUG_COMMANDS, NULL},
    {"trace", 1, OPT_TRACE, NULL},
    {"keep-going disable-auto-cleanup enable-recovery", 0, OPT_KEEP_GOING, NULL},
    {"ship", 0, OPT_SHIP, NULL},
    {"ship-file", 1, OPT_SHIP_FILE, NULL},
    {"host hosts H", 1, OPT_HOSTS, NULL},
    {"f hostfile machinefile default-hostfile", 1, OPT_HOSTFILE, NULL},
    {"ppn npernode perhost N ntasks-per-node", 1, OPT_PER_HOST, NULL},
    {"oversubscribe", 0, OPT_EXCEED, NULL},
    {"report", 0, OPT_NET_REPORT, NULL},
    {"json", 0, OPT_JSON, NULL},
    {"allow-run-as-root q quiet noprefix nooversubscribe hetero-nodes", 0, OPT_IGNORED,
     NULL},
    {"mca gmca prtemca pmixmca", 2, OPT_PARAMETER, NULL},
    {"tune am", 1, OPT_EXPLAINED, "settings are lines of weft.conf: man mpiexec, FILES"},
    {"use-hwthread-cpus", 0, OPT_EXPLAINED,
     "--bind-to hwthread binds ranks to hardware threads"},
    {"display", 1, OPT_EXPLAINED,
     "-v prints which ranks run on which host, --report-bindings where they are bound"},
    {"timestamp-output", 0, OPT_EXPLAINED, "pipe the output into ts, of moreutils"},
    {"merge-stderr-to-stdout stderr-to-stdout", 0, OPT_EXPLAINED,
     "2>&1 behind the command merges both"},
    {"prepend-pattern", 1, OPT_EXPLAINED,
     "--label prints the rank in front of each line"},
    {"prefix", 1, OPT_EXPLAINED,
     "Weft has the same path on all hosts, or comes along with --ship"},
    {"rmk", 1, OPT_EXPLAINED, "mpiexec finds the allocation by itself; -v prints which"},
    {"usize", 1, OPT_EXPLAINED, "no ranks can be started later"},
    {"order-nodes", 1, OPT_EXPLAINED, "hosts are used in the order of --hosts"},
    {"profile", 0, OPT_EXPLAINED, "--trace FILE writes the last calls of all ranks"},
    {"cpu-set cpu-list", 1, OPT_INSTEAD,
     "'taskset -c LIST mpiexec ...' confines the job, --rankfile FILE places each rank"},
    {"nolocal", 0, OPT_INSTEAD, "name the other hosts with --hosts"},
    {"localonly", 0, OPT_INSTEAD, "--hosts localhost"},
    {"gdb tv", 0, OPT_INSTEAD,
     "--debug all attaches a debugger to each rank, --debug 0 to rank 0"},
    {"xterm", 1, OPT_INSTEAD,
     "--debug RANKS gives each rank a debugger in a pane of tmux"},
    {"info", 0, OPT_INSTEAD, "weft-info says how Weft was built"},
    {"iface", 1, OPT_NET, NULL},
    {"launcher bootstrap", 1, OPT_LAUNCHER, NULL},
    {"help h ?", 0, OPT_HELP, NULL},
    {"version V", 0, OPT_VERSION, NULL},
};

static const char help[] =
    "usage: mpiexec [options] PROGRAM [arguments] [: [options] PROGRAM [arguments] ...]\n"
    "\n"
    "Starts the ranks of an MPI program on this machine or on several hosts, and waits\n"
    "for them. Several programs, separated by ':', form one job.\n"
    "\n"
    "  -n N, -np N              number of ranks; default: one for each processor, or "
    "fewer\n"
    "                           if a rank needs several\n"
    "  -wdir DIR                working directory of the ranks\n"
    "  -path DIR:DIR            folders to find the program in, instead of PATH\n"
    "  -soft LIST               start fewer ranks than -n, one of 4,8 or 2:16:2, where "
    "the\n"
    "                           hosts have too few slots\n"
    "  -configfile FILE         read the rest of the command line from a file, with a "
    "line\n"
    "                           for each program\n"
    "  -env NAME VALUE          set a variable for this program\n"
    "  -genv NAME VALUE         set a variable for all programs\n"
    "  -x NAME[=VALUE]          as -genv; ranks inherit the whole environment anyway\n"
    "  -envnone, -envlist A,B   pass no variable of the environment, or only these\n"
    "  --bind-to WHAT           bind each rank to cores of its own (core), to hardware "
    "threads\n"
    "                           of its own (hwthread), to the l3cache, numa node or "
    "socket of\n"
    "                           its cores, or do not (none); default: core if all ranks "
    "of a\n"
    "                           host find free ones\n"
    "  --cpus-per-rank N        cores of each rank; default: SLURM_CPUS_PER_TASK, then\n"
    "                           OMP_NUM_THREADS, then 1\n"
    "  --map-by WHAT[:PE=N]     how ranks share the cores of a host: slot (evenly over "
    "its\n"
    "                           sockets, the default), core, hwthread, l3cache, numa, "
    "socket;\n"
    "                           how hosts share ranks: block (the default) or cyclic; "
    "or how\n"
    "                           many ranks each part gets: ppr:N:node, ppr:N:socket,\n"
    "                           ppr:N:numa, ppr:N:l3cache\n"
    "  --rankfile FILE          host and cores of each rank, as 'rank 0=HOST "
    "slot=0:1-2'\n"
    "  --report-bindings        draw where each rank is bound\n"
    "  --allow-foreign          start programs that are linked with another MPI\n"
    "  --label                  print the rank in front of each line of output\n"
    "  --output DIR/%r          write what rank %r prints into this file\n"
    "  --error DIR/%r           the same for standard error\n"
    "  --stdin none|RANKS|all   which ranks get standard input, as 2 or 0,3-5; default: "
    "0\n"
    "  -v                       say which ranks run on which host\n"
    "  --timeout SECONDS        end the job after this time, with exit code 124\n"
    "  --grace SECONDS          time between SIGTERM and SIGKILL for ranks; default: "
    "WEFT_GRACE (1)\n"
    "  --hang-timeout SECONDS   report who waits for whom when no rank has made "
    "progress\n"
    "                           for this time; the job goes on\n"
    "  --hang-stacks            these reports, and those by SIGUSR1, have the stacks of "
    "ranks\n"
    "                           outside MPI\n"
    "  --debug RANKS            attach gdb to these ranks (0,3-5 or all) before main(), "
    "in\n"
    "                           panes of tmux\n"
    "  --debug-commands FILE    let each gdb run the commands of a file, without tmux\n"
    "  --debugger COMMAND       another debugger than gdb, as lldb\n"
    "  --trace FILE             write the last calls of all ranks, for Perfetto, at the "
    "end\n"
    "                           of the job and on SIGUSR1\n"
    "  --keep-going             a rank that fails does not end the others; operations "
    "that\n"
    "                           wait for it end with MPI_ERR_PROC_ABORTED\n"
    "  --hosts A,B:4,N[1-3]     hosts, and how many ranks each may take (slots)\n"
    "  --hostfile FILE          hosts from a file with lines 'NAME slots=4', 'NAME:4' "
    "or\n"
    "                           'NAME' once for each slot; default: HYDRA_HOST_FILE, "
    "then\n"
    "                           the hosts of an allocation\n"
    "  -ppn N                   ranks on each host\n"
    "  --ship                   send Weft, the program and its libraries to hosts that "
    "have\n"
    "                           nothing but sshd; nothing of it stays there\n"
    "  --ship-file FILE         send this file or folder, too; may be repeated\n"
    "  --oversubscribe          allow more ranks than slots\n"
    "  --report                 start no rank; report what each host denies to a "
    "job, at\n"
    "                           what cost, and which network each pair of hosts uses\n"
    "  --json                   print that report as JSON\n"
    "  --version, --help        print the version, or this text\n"
    "\n"
    "Standard input goes to rank 0, or as --stdin says. The exit code is that of the "
    "first rank that "
    "failed,\n"
    "or 128 + the number of the signal that ended it. When a rank fails, the others get\n"
    "one second to end; then they and the processes that they started are killed. "
    "Ctrl-C\n"
    "ends the job; a second Ctrl-C kills it at once. SIGUSR1 to mpiexec makes it report "
    "what\n"
    "each rank does; the job goes on.\n";

static enum parsed wrong(const char *what, const char *about)
{
    fprintf(stderr, "%s: %s%s%s\n", program_name, about != NULL ? about : "",
            about != NULL ? ": " : "", what);
    return PARSED_WRONG;
}

static char *join(const char *name, const char *value)
{
    char *text;

    if (asprintf(&text, "%s=%s", name, value) < 0) {
        perror(program_name);
        exit(1);
    }
    return text;
}

static const struct row *find(const char *word)
{
    const char *name = word + (word[1] == '-' ? 2 : 1);
    size_t length = strlen(name);

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        for (const char *n = table[i].names; n != NULL; n = strchr(n, ' ')) {
            n += *n == ' ' ? 1 : 0;
            if (strncmp(n, name, length) == 0 &&
                (n[length] == ' ' || n[length] == '\0')) {
                return length > 0 ? &table[i] : NULL;
            }
        }
    }
    return NULL;
}

/* The row of --NAME=VALUE, if it is one, and both apart in `pair`; else NULL. */
static const struct row *find_with_value(char **pair)
{
    char *value = strchr(pair[0], '=');
    const struct row *row;

    if (value == NULL) {
        return NULL;
    }
    *value = '\0';
    row = find(pair[0]);
    if (row == NULL || row->words != 1) {
        *value = '=';
        return NULL;
    }
    pair[1] = value + 1;
    return row;
}

/*
 * The name of the table that is nearest to an unknown option, to be freed; NULL if none
 * is near. A longer word may have two letters wrong; one of three letters or fewer is
 * near to nothing.
 */
static char *nearest(const char *word)
{
    const char *name = word + (word[1] == '-' ? 2 : 1);
    int least = strlen(name) > 5 ? 3 : 2;
    char *found = NULL;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const bool is_useful = table[i].option < OPT_IGNORED ||
                               table[i].option == OPT_HELP ||
                               table[i].option == OPT_VERSION;
        char *names = is_useful ? strdup(table[i].names) : NULL;

        for (char *rest, *n = names != NULL ? strtok_r(names, " ", &rest) : NULL;
             n != NULL; n = strtok_r(NULL, " ", &rest)) {
            const int distance = weft_edit_distance(name, n);

            if (distance < least && strlen(n) > 3) {
                least = distance;
                free(found);
                found = strdup(n);
            }
        }
        free(names);
    }
    return found;
}

static enum parsed wrong_option(const char *word)
{
    char *meant = nearest(word);

    fprintf(stderr, "%s: " TEXT_OPTION_UNKNOWN, program_name, word);
    if (meant != NULL) {
        fprintf(stderr, "is --%s meant? ", meant);
    }
    fprintf(stderr, "mpiexec --help lists them\n");
    free(meant);
    return PARSED_WRONG;
}

/* A whole number from 1 to `most`; `what` says so in words. */
static enum parsed parse_number(char **words, long most, const char *what, int *number)
{
    char *end;
    long value = strtol(words[1], &end, 10);

    if (end == words[1] || *end != '\0' || value < 1 || value > most) {
        return plan_refuse(words, what);
    }
    *number = (int)value;
    return PARSED;
}

static enum parsed parse_ranks(char **words, int *ranks)
{
    return parse_number(words, 1000000,
                        "the number of ranks must be between 1 and 1000000", ranks);
}

/* The width of a rank, in cores, or in processors as Slurm counts. */
static enum parsed parse_width(char **words, struct app *app, enum width_by by)
{
    app->width_by = by;
    return parse_number(words, 100000,
                        "the number of cores of a rank must be between 1 and 100000",
                        &app->width);
}

/* ssh is what we use; everything else is named by WEFT_RSH. */
static enum parsed parse_launcher(char **words)
{
    return strcmp(words[1], "ssh") == 0
               ? PARSED
               : plan_refuse(words,
                             "hosts are reached by ssh; set WEFT_RSH to use another "
                             "command");
}

static enum parsed parse_timeout(char **words, double *timeout)
{
    char *end;

    *timeout = strtod(words[1], &end);
    if (end == words[1] || *end != '\0' || !(*timeout > 0) || *timeout > 1e9) {
        return plan_refuse(words, "the time must be a positive number of seconds");
    }
    return PARSED;
}

static enum parsed parse_grace(char **words, struct plan *plan)
{
    char *end;

    plan->grace = strtod(words[1], &end);
    if (end == words[1] || *end != '\0' || !(plan->grace >= 0) ||
        plan->grace > GRACE_MOST) {
        return plan_refuse(words, "the time must be a number of seconds, or 0");
    }
    plan->has_grace = true;
    return PARSED;
}

static void keep_names(struct plan *plan, char *names)
{
    for (char *rest, *n = strtok_r(names, ",", &rest); n != NULL;
         n = strtok_r(NULL, ",", &rest)) {
        list_add(&plan->keep, n);
    }
}

/* Hosts are the whole job's. */
static bool is_for_all(enum option option)
{
    return option == OPT_HOSTS || option == OPT_HOSTFILE || option == OPT_PER_HOST ||
           option == OPT_RANKFILE;
}

static enum parsed parse_per_socket(char **words, struct plan *plan)
{
    plan->spread = (struct spread){.by = MAP_EACH, .level = LEVEL_SOCKET};
    return parse_ranks(words, &plan->spread.each);
}

/* The options that say where ranks are. */
static enum parsed take_placement(const struct row *row, char **words, struct plan *plan,
                                  struct app *app)
{
    char *as[] = {words[0], (char *)(uintptr_t)row->hint, NULL};

    switch (row->option) {
    case OPT_BIND:
        return plan_bind_to(words, plan, app);
    case OPT_BIND_AS:
        return plan_bind_to(as, plan, app);
    case OPT_CPU_BIND:
        return plan_cpu_bind(words, plan);
    case OPT_MAP:
        return plan_map_by(words, plan, app);
    case OPT_MAP_AS:
        return plan_map_by(as, plan, app);
    case OPT_DISTRIBUTION:
        return plan_distribution(words, plan);
    case OPT_RANK_BY:
        return plan_rank_by(words);
    case OPT_PER_SOCKET:
        return parse_per_socket(words, plan);
    case OPT_WIDTH:
        return parse_width(words, app, WIDTH_BY_OPTION);
    case OPT_TASK_WIDTH:
        return parse_width(words, app, WIDTH_BY_TASK);
    case OPT_RANKFILE:
        plan->rankfile = words[1];
        return PARSED;
    default:
        return PARSED_WRONG;
    }
}

/* A file for each rank must have the rank in its name, and the first can be made. */
static enum parsed parse_output(char **words, const char *pattern, const char **output)
{
    int fd;

    if (strstr(pattern, "%r") == NULL) {
        return plan_refuse(words, "the name needs %r, which stands for the rank");
    }
    fd = habits_open_output(pattern, 0);
    if (fd < 0) {
        return plan_refuse(words, strerror(errno));
    }
    close(fd);
    *output = pattern;
    return PARSED;
}

/* Open MPI's way: a folder for each rank, with a file for each of its outputs. */
static enum parsed parse_output_folder(char **words, struct plan *plan)
{
    char *output = NULL;
    char *error = NULL;
    enum parsed result = PARSED_WRONG;

    if (asprintf(&output, "%s/rank.%%r/stdout", words[1]) < 0 ||
        asprintf(&error, "%s/rank.%%r/stderr", words[1]) < 0) {
        perror(program_name);
        return result;
    }
    result = parse_output(words, output, &plan->output);
    return result == PARSED ? parse_output(words, error, &plan->error) : result;
}

/* NAME=VALUE as one word, which hydra takes for -env and -genv, too. */
static bool is_pair(const char *word)
{
    return strchr(word, '=') != NULL;
}

static enum parsed explain_parameter(char **words)
{
    fprintf(stderr, "%s: " TEXT_OPTION_PARAMETER "\n", program_name, words[0], words[1],
            habits_parameter(words[1]));
    return PARSED;
}

static enum parsed take(const struct row *row, char **words, struct plan *plan,
                        struct app *app)
{
    switch (row->option) {
    case OPT_RANKS:
        return parse_ranks(words, &app->ranks);
    case OPT_WDIR:
        app->wdir = words[1];
        break;
    case OPT_PATH:
        app->path = words[1];
        break;
    case OPT_SOFT:
        app->soft = words[1];
        break;
    case OPT_CONFIG: /* as parse_app has done */
        break;
    case OPT_ENV:
        list_add(&app->set, is_pair(words[1]) ? words[1] : join(words[1], words[2]));
        break;
    case OPT_GENV:
        list_add(&plan->set, is_pair(words[1]) ? words[1] : join(words[1], words[2]));
        break;
    case OPT_X:
        if (strchr(words[1], '=') != NULL) {
            list_add(&plan->set, words[1]);
        } else {
            list_add(&plan->keep, words[1]);
        }
        break;
    case OPT_ENV_NONE:
        plan->has_empty_environment = true;
        break;
    case OPT_ENV_LIST:
        plan->has_empty_environment = true;
        keep_names(plan, words[1]);
        break;
    case OPT_BIND:
    case OPT_CPU_BIND:
    case OPT_MAP:
    case OPT_DISTRIBUTION:
    case OPT_RANK_BY:
    case OPT_RANKFILE:
    case OPT_WIDTH:
    case OPT_TASK_WIDTH:
    case OPT_PER_SOCKET:
    case OPT_BIND_AS:
    case OPT_MAP_AS:
        return take_placement(row, words, plan, app);
    case OPT_FOREIGN:
        plan->may_be_foreign = true;
        break;
    case OPT_REPORT:
        plan->is_reporting_bindings = true;
        break;
    case OPT_LABEL:
        plan->is_labelling = true;
        break;
    case OPT_OUTPUT:
        return parse_output(words, words[1], &plan->output);
    case OPT_ERROR:
        return parse_output(words, words[1], &plan->error);
    case OPT_OUTPUT_FOLDER:
        return parse_output_folder(words, plan);
    case OPT_INPUT:
        plan->input = words[1];
        break;
    case OPT_VERBOSE:
        plan->is_verbose = true;
        break;
    case OPT_TIMEOUT:
        return parse_timeout(words, &plan->timeout);
    case OPT_GRACE:
        return parse_grace(words, plan);
    case OPT_HANG_TIMEOUT:
        return parse_timeout(words, &plan->hang_timeout);
    case OPT_HANG_STACKS:
        plan->has_hang_stacks = true;
        break;
    case OPT_DEBUG:
        plan->debug = words[1];
        break;
    case OPT_DEBUGGER:
        plan_set_debugger(plan, words[1]);
        break;
    case OPT_DEBUG_COMMANDS:
        return plan_read_commands(plan, words[1]);
    case OPT_TRACE:
        plan->trace = words[1];
        break;
    case OPT_KEEP_GOING:
        plan->keeps_going = true;
        break;
    case OPT_SHIP_FILE:
        list_add(&plan->ship_files, words[1]);
        plan->is_shipping = true;
        break;
    case OPT_SHIP:
        plan->is_shipping = true;
        break;
    case OPT_HOSTS:
        return hosts_add_list(&plan->hosts, words[1]) ? PARSED : PARSED_WRONG;
    case OPT_HOSTFILE:
        return hosts_add_file(&plan->hosts, words[1]) ? PARSED : PARSED_WRONG;
    case OPT_PER_HOST:
        return parse_ranks(words, &plan->per_host);
    case OPT_EXCEED:
        plan->may_exceed_slots = true;
        break;
    case OPT_NET_REPORT:
        plan->is_report = true;
        break;
    case OPT_JSON:
        plan->is_json = true;
        break;
    case OPT_NET:
        setenv("WEFT_NET", words[1], 1);
        break;
    case OPT_LAUNCHER:
        return parse_launcher(words);
    case OPT_IGNORED:
        break;
    case OPT_EXPLAINED:
        fprintf(stderr, "%s: " TEXT_OPTION_NO_EFFECT "\n", program_name, words[0],
                row->hint);
        break;
    case OPT_INSTEAD:
        return wrong(row->hint, words[0]);
    case OPT_PARAMETER:
        return explain_parameter(words);
    case OPT_HELP:
        fputs(help, stdout);
        return PARSED_AND_DONE;
    case OPT_VERSION:
        printf("mpiexec of Weft %s\n", WEFT_VERSION);
        return PARSED_AND_DONE;
    }
    return PARSED;
}

/* The words of a -configfile, which take the place of those left; NULL after a line. */
static char **enter_config(char **words, char **rest, struct plan *plan)
{
    struct list list = {NULL, 0};

    if (*rest != NULL) {
        plan_refuse(words, "nothing may follow the file");
        return NULL;
    }
    if (plan->has_config) {
        plan_refuse(words, "a file may not name another");
        return NULL;
    }
    plan->has_config = true;
    return habits_read_config(words[1], &list) ? list.at : NULL;
}

/* How many words follow the option that is given here. */
static int words_of(const struct row *row, char **given)
{
    const bool takes_pair = row->option == OPT_ENV || row->option == OPT_GENV;

    return takes_pair && given[1] != NULL && is_pair(given[1]) ? 1 : row->words;
}

/* One option and what follows it; `*at` is then behind both. */
static enum parsed parse_option(char ***at, struct plan *plan, struct app *app)
{
    char **words = *at;
    char *pair[] = {words[0], NULL, NULL};
    const struct row *row = find_with_value(pair);
    char **given = row != NULL ? pair : words;
    int count;

    row = row != NULL ? row : find(words[0]);
    if (row == NULL) {
        return wrong_option(words[0]);
    }
    count = words_of(row, given);
    for (int i = 1; i <= count; i++) {
        if (given[i] == NULL) {
            return wrong(TEXT_OPTION_EMPTY, words[0]);
        }
    }
    if (plan->app_count > 0 && is_for_all(row->option)) {
        return wrong(TEXT_OPTION_HOSTS_LATE, words[0]);
    }
    if (row->option == OPT_CONFIG) {
        *at = enter_config(given, given == words ? words + 2 : words + 1, plan);
        return *at != NULL ? PARSED : PARSED_WRONG;
    }
    *at += given == words ? count + 1 : 1;
    return take(row, given, plan, app);
}

/* The options, the program and its arguments, up to ':' or the end. */
static enum parsed parse_app(char ***at, struct plan *plan, struct app *app)
{
    char **words = *at;

    while (*words != NULL && (*words)[0] == '-' && (*words)[1] != '\0') {
        enum parsed result;

        if (strcmp(*words, "--") == 0) {
            words++;
            break;
        }
        result = parse_option(&words, plan, app);
        if (result != PARSED) {
            return result;
        }
    }
    if (*words == NULL && plan->is_report) {
        static char name[] = "true";
        static char *nothing[] = {name, NULL};

        app->argv = nothing; /* no program is started */
        *at = words;
        return PARSED;
    }
    if (*words == NULL || strcmp(*words, ":") == 0) {
        return wrong(TEXT_OPTION_NO_PROGRAM, NULL);
    }
    app->argv = words;
    if (app->path != NULL) {
        *words = habits_find(app->path, *words);
        if (*words == NULL) {
            return PARSED_WRONG;
        }
    }
    while (*words != NULL && strcmp(*words, ":") != 0) {
        words++;
    }
    *at = words;
    return PARSED;
}

/* As many ranks of this width as mpiexec can keep processors busy for, at least one. */
static int ranks_for_processors(int width)
{
    cpu_set_t set;
    const bool is_known = sched_getaffinity(0, sizeof(set), &set) == 0;
    const int count = (int)weft_limit_busy("", is_known ? (uint32_t)CPU_COUNT(&set) : 1);

    return count > width ? count / width : 1;
}

/* ppr:N:socket says how many ranks a host gets; other hosts are taken to be like this one
 * here, and refuse what does not fit. */
static enum parsed count_per_group(struct plan *plan)
{
    struct topology topology;
    cpu_set_t set;

    if (plan->spread.by != MAP_EACH) {
        return PARSED;
    }
    if (sched_getaffinity(0, sizeof(set), &set) != 0 || !topology_read(&topology, &set)) {
        return wrong(TEXT_OPTION_SOCKETS, "--map-by");
    }
    plan->per_host = topology_groups(&topology, plan->spread.level) * plan->spread.each;
    topology_close(&topology);
    return PARSED;
}

static int ranks_if_unsaid(const struct plan *plan, const struct app *app)
{
    if (plan->slots.count > 0) {
        return plan->slots.count;
    }
    if (plan->hosts.count > 0) {
        return hosts_ranks(&plan->hosts, plan->per_host);
    }
    return plan->per_host > 0 ? plan->per_host : ranks_for_processors(app->width);
}

/*
 * Fewer ranks where -soft allows it: as many as are wanted, or as the slots that the
 * programs before it have left. False after a line.
 */
static bool soften(const struct plan *plan, struct app *app)
{
    int most = app->ranks > 0 ? app->ranks : ranks_if_unsaid(plan, app);

    if (app->soft == NULL) {
        return true;
    }
    if (hosts_are_limited(&plan->hosts, plan->per_host) && !plan->may_exceed_slots) {
        const int left = hosts_ranks(&plan->hosts, plan->per_host) - plan->ranks;

        most = left < most ? left : most;
    }
    app->ranks = habits_soft(app->soft, most);
    return app->ranks > 0;
}

/* The variable of other launchers, which an option overrides. As for them, zero or a
 * negative number means that there is no limit. */
static enum parsed take_timeout_variable(struct plan *plan)
{
    char *words[] = {"MPIEXEC_TIMEOUT", getenv("MPIEXEC_TIMEOUT"), NULL};
    char *end;

    if (plan->timeout > 0 || words[1] == NULL || words[1][0] == '\0' ||
        (strtod(words[1], &end) <= 0 && end != words[1] && *end == '\0')) {
        return PARSED;
    }
    return parse_timeout(words, &plan->timeout);
}

static enum parsed count_ranks(struct plan *plan)
{
    if (take_timeout_variable(plan) != PARSED) {
        return PARSED_WRONG;
    }
    if (plan->is_json && !plan->is_report) {
        return wrong("this goes with --report", "--json");
    }
    if (plan_check_placement(plan) != PARSED ||
        (plan->hosts.count == 0 && !allocation_add_hosts(&plan->hosts)) ||
        (plan->rankfile != NULL && !rankfile_read(plan)) ||
        count_per_group(plan) != PARSED) {
        return PARSED_WRONG;
    }
    plan_choose_widths(plan);
    for (int i = 0; i < plan->app_count; i++) {
        struct app *app = &plan->apps[i];

        if (!soften(plan, app)) {
            return PARSED_WRONG;
        }

        if (app->ranks == 0 && plan->app_count > 1) {
            return wrong(TEXT_OPTION_EACH_N, app->argv[0]);
        }
        if (app->ranks == 0) {
            app->ranks = ranks_if_unsaid(plan, app);
        }
        plan->ranks += app->ranks;
    }
    if (plan->rankfile != NULL && plan->slots.count != plan->ranks) {
        fprintf(stderr, "%s: " TEXT_RANKFILE_COUNT "\n", program_name, plan->rankfile,
                plan->slots.count, plan->ranks);
        return PARSED_WRONG;
    }
    return plan_check_input(plan) == PARSED ? plan_check_debug(plan) : PARSED_WRONG;
}

enum parsed plan_parse(int argc, char **argv, struct plan *plan)
{
    char **at = argv + 1;

    (void)argc;
    memset(plan, 0, sizeof(*plan));
    for (;;) {
        struct app *grown =
            realloc(plan->apps, ((size_t)plan->app_count + 1) * sizeof(*grown));
        enum parsed result;

        if (grown == NULL) {
            perror(program_name);
            return PARSED_WRONG;
        }
        plan->apps = grown;
        memset(&plan->apps[plan->app_count], 0, sizeof(*grown));
        result = parse_app(&at, plan, &plan->apps[plan->app_count]);
        if (result != PARSED) {
            return result;
        }
        plan->app_count++;
        if (*at == NULL) {
            return count_ranks(plan);
        }
        *at++ = NULL; /* the ':' ends the arguments before it */
    }
}
