/*
 * test_bindings.c - from a command line to the processors of each rank, on machines made
 * up in hwloc's XML (machine.h): the table of placements.tsv, and jobs beside each other.
 */
#include "unit.h"

#include "machine.h"

#include "launch/claims.h"
#include "launch/placement.h"
#include "launch/plan.h"

#include "wireup/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_WORDS = 32, MOST_RANKS = 256, LEAST_ROWS = 60, ROUNDS = 40 };

/* Core c has the processors c and, with two threads, c + the number of cores. */
static const struct machine machines[] = {
    {"small", 2, 1, 0, 4, 2, NULL, NULL}, /* cores 0-3, 4-7 */
    {"big", 2, 1, 8, 8, 2, NULL, NULL},   /* 0-63, 64-127, an L3 for 8 */
    {"numa", 2, 2, 0, 8, 1, NULL, NULL},  /* nodes 0-7, 8-15; 16-23, 24-31 */
    {"cgroup", 2, 1, 8, 8, 2, "8-15,136-143,64-71,192-199", NULL},
    {"lopsided", 2, 1, 8, 8, 2, "0-11,128-139,64-67,192-195", NULL},
    {"taskset", 2, 1, 0, 4, 2, NULL, "0-7"}, /* one thread of each core */
};

static bool is_made_up;    /* instead of the real machine */
static const char *others; /* cores of other jobs, "" for none; NULL: as claims have it */

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
void __real_claims_look(struct topology *topology);
void __wrap_claims_look(struct topology *topology);
bool __real_claims_take(struct claims *claims, const cpu_set_t *set);
bool __wrap_claims_take(struct claims *claims, const cpu_set_t *set);

/* The cgroup of the real machine is not that of a machine which is made up. */
uint32_t weft_limit_busy(const char *root, uint32_t count)
{
    (void)root;
    return count;
}

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    if (!is_made_up) {
        return __real_sched_getaffinity(pid, size, set);
    }
    machine_affinity(set);
    return 0;
}

void __wrap_claims_look(struct topology *topology)
{
    cpu_set_t cores;

    if (others == NULL) {
        __real_claims_look(topology);
        return;
    }
    CPU_ZERO(&cores);
    machine_read_list(others, &cores);
    for (int c = 0; c < topology->count; c++) {
        topology->cores[c].is_taken =
            CPU_ISSET((size_t)topology->cores[c].group[LEVEL_CORE], &cores);
    }
}

bool __wrap_claims_take(struct claims *claims, const cpu_set_t *set)
{
    return others != NULL || __real_claims_take(claims, set);
}

static void use(const char *name)
{
    size_t i = 0;

    while (i < sizeof(machines) / sizeof(machines[0]) &&
           strcmp(machines[i].name, name) != 0) {
        i++;
    }
    assert_true(i < sizeof(machines) / sizeof(machines[0]));
    machine_use(&machines[i]);
    is_made_up = true;
}

/* ---- command lines ---- */

/* A command line: words between blanks; {a;b} is a file with the lines a and b. */
struct command {
    char *text;
    char *words[MOST_WORDS];
    int count;
    int file; /* -1: none */
    char path[64];
    struct plan plan;
    char said[1024]; /* on standard error */
};

static char *write_file(struct command *command, char *lines)
{
    for (char *c = lines; *c != '\0'; c++) {
        *c = *c == ';' ? '\n' : *c;
    }
    command->file = memfd_create("rankfile", 0);
    assert_true(command->file >= 0);
    assert_int_equal(write(command->file, lines, strlen(lines)), strlen(lines));
    snprintf(command->path, sizeof(command->path), "/proc/self/fd/%d", command->file);
    return command->path;
}

static void split(struct command *command)
{
    static char name[] = "mpiexec";
    static char program[] = "x";
    char *at = command->text;

    command->words[command->count++] = name;
    while (*at != '\0') {
        const char end = *at == '{' ? '}' : ' ';
        char *stop = strchr(at + 1, end);

        assert_true(command->count < MOST_WORDS - 2);
        if (stop != NULL) {
            *stop = '\0';
        }
        command->words[command->count++] = end == '}' ? write_file(command, at + 1) : at;
        at = stop != NULL ? stop + 1 : at + strlen(at);
        at += *at == ' ' ? 1 : 0;
    }
    command->words[command->count++] = program;
}

/* Reads a command line; keeps what it says. */
static enum parsed command_open(struct command *command, const char *text)
{
    const int spoken = memfd_create("said", 0);
    const int before = dup(STDERR_FILENO);
    enum parsed parsed;
    ssize_t n;

    memset(command, 0, sizeof(*command));
    command->file = -1;
    command->text = strdup(text);
    split(command);
    fflush(stderr);
    assert_true(dup2(spoken, STDERR_FILENO) >= 0);
    parsed = plan_parse(command->count, command->words, &command->plan);
    fflush(stderr);
    assert_true(dup2(before, STDERR_FILENO) >= 0);
    n = pread(spoken, command->said, sizeof(command->said) - 1, 0);
    command->said[n > 0 ? n : 0] = '\0';
    close(before);
    close(spoken);
    return parsed;
}

static void command_close(struct command *command)
{
    if (command->file >= 0) {
        close(command->file);
    }
    for (int r = 0; r < command->plan.slots.count; r++) {
        if (command->plan.host_of[r] >= 0) {
            free(command->plan.slots.at[r]);
        }
    }
    hosts_close(&command->plan.hosts);
    free(command->plan.slots.at);
    free(command->plan.host_of);
    free(command->plan.apps);
    free(command->text);
}

static bool open_placement(struct placement *placement, const struct plan *plan)
{
    int ranks[MOST_RANKS];

    assert_in_range(plan->ranks, 1, MOST_RANKS);
    for (int r = 0; r < plan->ranks; r++) {
        ranks[r] = r;
    }
    return placement_open(placement, plan, ranks, plan->ranks);
}

/* ---- the table ---- */

/*
 * What a command line does: the processors of each rank, "unbound: WHY", "refused: WHY"
 * or "wrong: WHAT IT SAYS".
 */
static void find_out(const char *words, char *text, size_t size)
{
    struct placement placement;
    struct command command;
    size_t used = 0;

    if (command_open(&command, words) != PARSED) {
        snprintf(text, size, "wrong: %s", command.said);
        command_close(&command);
        return;
    }
    if (!open_placement(&placement, &command.plan)) {
        snprintf(text, size, "refused: %s", placement.why);
    } else if (placement.sets == NULL) {
        snprintf(text, size, "unbound: %s", placement.why);
    } else {
        for (int r = 0; r < command.plan.ranks && used + 2 < size; r++) {
            used += (size_t)snprintf(text + used, size - used, "%s", r > 0 ? " " : "");
            used += placement_list(&placement.sets[r], text + used, size - used);
        }
    }
    placement_close(&placement);
    command_close(&command);
}

/* Is what comes out what is expected? Of a reason, it is enough that it is said. */
static bool is_as_expected(const char *expected, const char *got)
{
    const char *reason = strstr(expected, ": ");

    if (reason == NULL) {
        return strcmp(expected, got) == 0;
    }
    return strncmp(expected, got, (size_t)(reason + 2 - expected)) == 0 &&
           strstr(got, reason + 2) != NULL;
}

/* machine, cores of other jobs, NAME=VALUE, words, expected */
static bool hold_row(char *row, int number)
{
    char *fields[5];
    char got[8192];
    char *value;

    for (int i = 0; i < 5; i++) {
        fields[i] = strsep(&row, "\t");
        assert_non_null(fields[i]);
    }
    use(fields[0]);
    others = strcmp(fields[1], "-") == 0 ? "" : fields[1];
    value = strchr(fields[2], '=');
    if (value != NULL) {
        *value = '\0';
        setenv(fields[2], value + 1, 1);
    }
    find_out(fields[3], got, sizeof(got));
    unsetenv(fields[2]);
    if (!is_as_expected(fields[4], got)) {
        print_error("placements.tsv, line %d: %s on %s\n  expected: %s\n  got:      %s\n",
                    number, fields[3], fields[0], fields[4], got);
        return false;
    }
    return true;
}

static void every_row_of_the_table_is_placed_as_it_says(void **state)
{
    char path[4096];
    char *line = NULL;
    size_t room = 0;
    FILE *from;
    int number = 0;
    int rows = 0;
    int wrong = 0;

    (void)state;
    snprintf(path, sizeof(path), "%s/tests/unit/placements.tsv", getenv("WEFT_SOURCE"));
    from = fopen(path, "r");
    assert_non_null(from);
    while (getline(&line, &room, from) > 0) {
        number++;
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0') {
            continue;
        }
        rows++;
        wrong += hold_row(line, number) ? 0 : 1;
    }
    free(line);
    fclose(from);
    assert_int_equal(wrong, 0);
    assert_true(rows >= LEAST_ROWS);
}

/* ---- pictures ---- */

static void hold_picture(const char *machine, const char *taken, const char *words,
                         int rank, const char *expected)
{
    struct placement placement;
    struct command command;
    char text[1024];

    use(machine);
    others = taken;
    assert_int_equal(command_open(&command, words), PARSED);
    assert_true(open_placement(&placement, &command.plan));
    placement_describe(&placement, rank, text, sizeof(text));
    assert_string_equal(text, expected);
    placement_close(&placement);
    command_close(&command);
}

static void a_binding_is_drawn_with_sockets_nodes_and_cores(void **state)
{
    (void)state;
    hold_picture("small", "0-1", "-n 2 --cpus-per-rank 2", 0,
                 "bound to processors 2-3,10-11 [xxBB][....]");
    hold_picture("small", "", "-n 4 --bind-to hwthread", 3,
                 "bound to processors 5 [....][.b..]");
    hold_picture("small", "", "-n 2 --bind-to hwthread:2", 1,
                 "bound to processors 4,12 [....][B...]");
    hold_picture("numa", "", "-n 4 --bind-to numa", 1,
                 "bound to processors 8-15 [........|BBBBBBBB][........|........]");
    hold_picture("cgroup", "", "-n 2", 1,
                 "bound to processors 64,192 [........][B.......]");
    hold_picture("small", "", "-n 2 --bind-to none", 1, "not bound: --bind-to none");
}

/* ---- hosts ---- */

/* The hosts of ranks, by rank, and PMI-1's map of them. */
static void hold_layout(const char *list, int ranks, const struct sharing *sharing,
                        const char *hosts_of_ranks, const char *map)
{
    struct hosts hosts = {.at = NULL};
    struct layout layout;
    char got[64] = "";
    char *mapping;

    assert_true(hosts_add_list(&hosts, list));
    assert_true(layout_make(&layout, &hosts, ranks, sharing));
    for (int r = 0; r < ranks; r++) {
        const int place = layout_place(&layout, r);
        const struct station *station = &layout.stations[layout_daemon_of(&layout, r)];

        assert_int_equal(layout_rank(&layout, place), r);
        assert_in_range(place, station->first, station->first + station->ranks - 1);
        got[r] = station->name[0];
    }
    assert_string_equal(got, hosts_of_ranks);
    mapping = layout_mapping(&layout);
    assert_string_equal(mapping, map);
    free(mapping);
    free(layout.stations[0].name);
    free(layout.stations);
    free(layout.by_node);
    free(layout.rank_at);
    free(layout.place_of);
    hosts_close(&hosts);
}

static void hosts_share_ranks_in_blocks_in_turn_or_as_a_rankfile_says(void **state)
{
    const struct sharing blocks = {.per_host = 0};
    const struct sharing in_turn = {.is_cyclic = true};
    const struct sharing two_each = {.is_cyclic = true, .per_host = 2};
    const struct sharing twice = {.is_cyclic = true, .may_exceed = true};
    const int file[] = {2, 0, 2, 2, 1};
    const struct sharing by_file = {.host_of = file};

    (void)state;
    hold_layout("x-a,y-b,z-c", 5, &blocks, "xxyyz", "(vector,(0,2,2),(2,1,1))");
    hold_layout("x-a,y-b,z-c", 7, &in_turn, "xyzxyzx", "(vector,(0,3,1))");
    hold_layout("x-a:3,y-b:1,z-c:2", 6, &in_turn, "xyzxzx",
                "(vector,(0,3,1),(0,1,1),(2,1,1))");
    hold_layout("x-a,y-b", 4, &two_each, "xyxy", "(vector,(0,2,1))");
    hold_layout("x-a:1,y-b:2", 6, &twice, "xyxyyy", "(vector,(0,2,1),(0,1,1),(1,1,3))");
    hold_layout("x-a,y-b,z-c", 5, &by_file, "zxzzy",
                "(vector,(2,1,1),(0,1,1),(2,1,2),(1,1,1))");
}

/* ---- jobs beside each other ---- */

static int count_cores(const struct placement *placement, int ranks, cpu_set_t *all)
{
    cpu_set_t cores;

    CPU_ZERO(all);
    CPU_ZERO(&cores);
    for (int r = 0; r < ranks; r++) {
        CPU_OR(all, all, &placement->sets[r]);
    }
    for (size_t c = 0; c < 256; c++) {
        if (CPU_ISSET(c, all)) {
            CPU_SET(c % 128, &cores); /* both threads of a core are one */
        }
    }
    return CPU_COUNT(&cores);
}

static void a_hybrid_program_of_two_ranks_with_16_threads_has_32_cores(void **state)
{
    struct placement placement;
    struct command command;
    cpu_set_t all;

    (void)state;
    use("big");
    others = "";
    setenv("OMP_NUM_THREADS", "16", 1);
    assert_int_equal(command_open(&command, "-n 2"), PARSED);
    unsetenv("OMP_NUM_THREADS");
    assert_true(open_placement(&placement, &command.plan));
    assert_non_null(placement.sets);
    assert_int_equal(count_cores(&placement, 2, &all), 32);
    placement_close(&placement);
    command_close(&command);
}

/* Claims of this test alone. */
static void claim_apart(void)
{
    char scope[32];

    snprintf(scope, sizeof(scope), "%d.test", (int)getpid());
    setenv(CLAIMS_SCOPE, scope, 1);
    others = NULL;
}

/* Two jobs, one after the other, each of half the machine; then nothing is left. */
static void hold_halves(const char *words, int ranks)
{
    struct placement jobs[3];
    struct command command;
    cpu_set_t sets[2];
    cpu_set_t common;

    assert_int_equal(command_open(&command, words), PARSED);
    for (int i = 0; i < 2; i++) {
        assert_true(open_placement(&jobs[i], &command.plan));
        assert_non_null(jobs[i].sets);
        assert_int_equal(count_cores(&jobs[i], ranks, &sets[i]), 64);
    }
    CPU_AND(&common, &sets[0], &sets[1]);
    assert_int_equal(CPU_COUNT(&common), 0);
    open_placement(&jobs[2], &command.plan);
    assert_null(jobs[2].sets);
    assert_non_null(strstr(jobs[2].why, "other jobs have taken 128 of this host's 128"));
    for (int i = 0; i < 3; i++) {
        placement_close(&jobs[i]);
    }
    command_close(&command);
}

static void two_jobs_of_half_a_node_never_share_a_core(void **state)
{
    (void)state;
    use("big");
    claim_apart();
    hold_halves("-n 64", 64);
    hold_halves("-n 64 --map-by core", 64);
    hold_halves("-n 64 --map-by socket", 64);
    hold_halves("-n 4 --cpus-per-rank 16", 4);
    hold_halves("-n 1 --bind-to socket", 1);
    setenv("OMP_NUM_THREADS", "64", 1);
    hold_halves("-n 1", 1);
    unsetenv("OMP_NUM_THREADS");
    unsetenv(CLAIMS_SCOPE);
}

/* A job of hardware threads has whole cores, so that no other job is beside it there. */
static void jobs_of_hardware_threads_do_not_share_cores_either(void **state)
{
    struct placement jobs[2];
    struct command command;
    cpu_set_t sets[2];

    (void)state;
    use("small");
    claim_apart();
    assert_int_equal(command_open(&command, "-n 4 --bind-to hwthread"), PARSED);
    for (int i = 0; i < 2; i++) {
        assert_true(open_placement(&jobs[i], &command.plan));
        CPU_ZERO(&sets[i]);
        for (int r = 0; r < 4; r++) {
            for (size_t c = 0; c < 16; c++) {
                if (CPU_ISSET(c, &jobs[i].sets[r])) {
                    CPU_SET(c % 8, &sets[i]);
                }
            }
        }
        assert_int_equal(CPU_COUNT(&sets[i]), 4);
    }
    CPU_AND(&sets[0], &sets[0], &sets[1]);
    assert_int_equal(CPU_COUNT(&sets[0]), 0);
    placement_close(&jobs[0]);
    placement_close(&jobs[1]);
    command_close(&command);
    unsetenv(CLAIMS_SCOPE);
}

/* The life of one of two jobs that start at the same time: tells its processors. */
static void rival(int start, int told, int end, const struct plan *plan)
{
    struct placement placement;
    cpu_set_t all;
    char byte;

    CPU_ZERO(&all);
    if (read(start, &byte, 1) < 0) { /* its end: the other one is there, too */
        _exit(1);
    }
    if (open_placement(&placement, plan) && placement.sets != NULL) {
        count_cores(&placement, plan->ranks, &all);
    }
    if (write(told, &all, sizeof(all)) != sizeof(all) || read(end, &byte, 1) < 0) {
        _exit(1);
    }
    _exit(0);
}

static void two_jobs_that_start_at_once_never_share_a_core(void **state)
{
    struct command command;

    (void)state;
    use("big");
    claim_apart();
    assert_int_equal(command_open(&command, "-n 4 --cpus-per-rank 16"), PARSED);
    for (int i = 0; i < ROUNDS; i++) {
        cpu_set_t sets[2];
        int start[2];
        int told[2];
        int end[2];

        assert_int_equal(pipe(start) | pipe(told) | pipe(end), 0);
        for (int j = 0; j < 2; j++) {
            if (fork() == 0) {
                close(start[1]);
                close(end[1]);
                rival(start[0], told[1], end[0], &command.plan);
            }
        }
        close(start[1]);
        assert_int_equal(read(told[0], &sets[0], sizeof(sets[0])), sizeof(sets[0]));
        assert_int_equal(read(told[0], &sets[1], sizeof(sets[1])), sizeof(sets[1]));
        close(end[1]);
        while (wait(NULL) > 0) {
        }
        close(start[0]);
        close(told[0]);
        close(told[1]);
        close(end[0]);
        assert_int_equal(CPU_COUNT(&sets[0]), 128);
        assert_int_equal(CPU_COUNT(&sets[1]), 128);
        CPU_AND(&sets[0], &sets[0], &sets[1]);
        assert_int_equal(CPU_COUNT(&sets[0]), 0);
    }
    command_close(&command);
    unsetenv(CLAIMS_SCOPE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_table_is_placed_as_it_says),
        cmocka_unit_test(a_binding_is_drawn_with_sockets_nodes_and_cores),
        cmocka_unit_test(hosts_share_ranks_in_blocks_in_turn_or_as_a_rankfile_says),
        cmocka_unit_test(a_hybrid_program_of_two_ranks_with_16_threads_has_32_cores),
        cmocka_unit_test(two_jobs_of_half_a_node_never_share_a_core),
        cmocka_unit_test(jobs_of_hardware_threads_do_not_share_cores_either),
        cmocka_unit_test(two_jobs_that_start_at_once_never_share_a_core),
    };

    unsetenv("OMP_NUM_THREADS");
    unsetenv("SLURM_CPUS_PER_TASK");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
