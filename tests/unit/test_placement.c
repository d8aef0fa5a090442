/*
 * test_placement.c - which cores the ranks of a host get, on machines that hwloc makes
 * up, and how a command line and the environment say how wide a rank is.
 */
#include "unit.h"

#include "launch/claims.h"
#include "launch/placement.h"
#include "launch/plan.h"
#include "launch/spread.h"
#include "launch/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CORES = 256 };

static const struct spread evenly = {.by = MAP_EVENLY};
static const struct spread by_core = {.by = MAP_CORE};
static const struct spread by_socket = {.by = MAP_IN_TURN, .level = LEVEL_SOCKET};
static const struct spread by_numa = {.by = MAP_IN_TURN, .level = LEVEL_NUMA};
static const struct spread two_each = {.by = MAP_EACH, .level = LEVEL_SOCKET, .each = 2};

/* Two sockets of four cores with two hardware threads each. */
static const char two_sockets[] = "package:2 core:4 pu:2";

/*
 * Between placement_open() and the real machine: the processors that we may use, and
 * other jobs that take cores. `stolen` counts the attempts at which another job is
 * faster.
 */
static struct {
    bool is_made_up;
    int taken; /* the first cores */
    int stolen;
} host;

int __real_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set);
void __real_claims_look(struct topology *topology);
void __wrap_claims_look(struct topology *topology);
bool __real_claims_take(struct claims *claims, const cpu_set_t *set);
bool __wrap_claims_take(struct claims *claims, const cpu_set_t *set);

int __wrap_sched_getaffinity(pid_t pid, size_t size, cpu_set_t *set)
{
    if (!host.is_made_up) {
        return __real_sched_getaffinity(pid, size, set);
    }
    CPU_ZERO(set);
    for (size_t c = 0; c < 16; c++) {
        CPU_SET(c, set);
    }
    return 0;
}

void __wrap_claims_look(struct topology *topology)
{
    if (!host.is_made_up) {
        __real_claims_look(topology);
        return;
    }
    for (int c = 0; c < topology->count; c++) {
        topology->cores[c].is_taken = c < host.taken;
    }
}

bool __wrap_claims_take(struct claims *claims, const cpu_set_t *set)
{
    if (!host.is_made_up) {
        return __real_claims_take(claims, set);
    }
    if (host.stolen == 0) {
        return true;
    }
    host.stolen--;
    host.taken++;
    errno = EADDRINUSE;
    return false;
}

static struct topology read_machine(const char *description)
{
    struct topology topology;
    cpu_set_t all;

    memset(&all, 0xff, sizeof(all));
    setenv("HWLOC_SYNTHETIC", description, 1);
    assert_true(topology_read(&topology, &all));
    unsetenv("HWLOC_SYNTHETIC");
    assert_in_range(topology.count, 1, MOST_CORES);
    return topology;
}

/* The rank of each core as text, one letter a core: "aabb...." */
static const char *owners(const struct topology *topology, struct spread spread,
                          const int *widths, int ranks)
{
    static char text[MOST_CORES + 1];
    int owner[MOST_CORES];

    if (!spread_ranks(topology, &spread, widths, ranks, owner)) {
        return "refused";
    }
    for (int c = 0; c < topology->count; c++) {
        text[c] = owner[c] < 0 ? '.' : (char)('a' + owner[c]);
    }
    text[topology->count] = '\0';
    return text;
}

/* The same for `ranks` ranks of one width on a machine of which nothing is taken. */
static const char *placed(const char *machine, struct spread spread, int ranks, int width)
{
    struct topology topology = read_machine(machine);
    int widths[MOST_CORES];
    const char *text;

    for (int r = 0; r < ranks; r++) {
        widths[r] = width;
    }
    text = owners(&topology, spread, widths, ranks);
    topology_close(&topology);
    return text;
}

static void a_topology_has_cores_with_their_processors_and_groups(void **state)
{
    struct topology topology = read_machine("package:2 numa:2 l3:1 core:2 pu:2");

    (void)state;
    assert_int_equal(topology.count, 8);
    assert_int_equal(topology_groups(&topology, LEVEL_SOCKET), 2);
    assert_int_equal(topology.processors_per_core, 2);
    for (int c = 0; c < 8; c++) {
        assert_int_equal(CPU_COUNT(&topology.cores[c].set), 2);
        assert_int_equal(topology.cores[c].group[LEVEL_SOCKET], c / 4);
        assert_int_equal(topology.cores[c].group[LEVEL_NUMA], c / 2);
        assert_int_equal(topology.cores[c].group[LEVEL_CACHE], c / 2);
    }
    topology_close(&topology);
}

static void only_processors_that_we_may_use_count(void **state)
{
    struct topology topology;
    cpu_set_t some;

    (void)state;
    CPU_ZERO(&some);
    CPU_SET(2, &some); /* one thread of the second core, both of the last */
    CPU_SET(14, &some);
    CPU_SET(15, &some);
    setenv("HWLOC_SYNTHETIC", two_sockets, 1);
    assert_true(topology_read(&topology, &some));
    unsetenv("HWLOC_SYNTHETIC");
    assert_int_equal(topology.count, 2);
    assert_int_equal(topology_groups(&topology, LEVEL_SOCKET), 2);
    assert_int_equal(CPU_COUNT(&topology.cores[0].set), 1);
    assert_int_equal(CPU_COUNT(&topology.cores[1].set), 2);
    topology_close(&topology);
}

static void reading_the_topology_leaves_the_environment_as_it_was(void **state)
{
    struct topology topology;

    (void)state;
    unsetenv("HWLOC_PLUGINS_PATH");
    topology = read_machine(two_sockets);
    topology_close(&topology);
    assert_null(getenv("HWLOC_PLUGINS_PATH"));
    setenv("HWLOC_PLUGINS_PATH", "/of/the/user", 1);
    topology = read_machine(two_sockets);
    topology_close(&topology);
    assert_string_equal(getenv("HWLOC_PLUGINS_PATH"), "/of/the/user");
    unsetenv("HWLOC_PLUGINS_PATH");
}

static void ranks_are_spread_evenly_over_sockets_in_blocks(void **state)
{
    (void)state;
    assert_string_equal(placed(two_sockets, evenly, 1, 1), "a.......");
    assert_string_equal(placed(two_sockets, evenly, 2, 1), "a...b...");
    assert_string_equal(placed(two_sockets, evenly, 3, 1), "ab..c...");
    assert_string_equal(placed(two_sockets, evenly, 4, 1), "ab..cd..");
    assert_string_equal(placed(two_sockets, evenly, 8, 1), "abcdefgh");
    assert_string_equal(placed(two_sockets, evenly, 9, 1), "refused");
}

static void a_rank_is_as_wide_as_asked_and_stays_in_a_socket_if_it_fits(void **state)
{
    (void)state;
    assert_string_equal(placed(two_sockets, evenly, 2, 2), "aa..bb..");
    assert_string_equal(placed(two_sockets, evenly, 3, 2), "aabbcc..");
    assert_string_equal(placed(two_sockets, evenly, 2, 3), "aaa.bbb.");
    assert_string_equal(placed(two_sockets, evenly, 2, 4), "aaaabbbb");
    assert_string_equal(placed(two_sockets, evenly, 1, 6), "aaaaaa..");
    assert_string_equal(placed("package:3 core:3 pu:1", evenly, 4, 2), "aabbccdd.");
    assert_string_equal(placed(two_sockets, evenly, 3, 3), "refused");
}

static void numa_nodes_and_caches_of_a_socket_are_filled_evenly_too(void **state)
{
    const char *numa = "package:2 numa:2 core:2 pu:1";
    const char *caches = "package:1 l3:3 core:2 pu:2";

    (void)state;
    assert_string_equal(placed(numa, evenly, 2, 1), "a...b...");
    assert_string_equal(placed(numa, evenly, 4, 1), "a.b.c.d.");
    assert_string_equal(placed(numa, evenly, 5, 1), "abc.d.e.");
    assert_string_equal(placed(caches, evenly, 3, 1), "a.b.c.");
    assert_string_equal(placed(caches, evenly, 2, 2), "aabb..");
}

static void the_other_ways_of_map_by_do_what_they_say(void **state)
{
    (void)state;
    assert_string_equal(placed(two_sockets, by_core, 3, 1), "abc.....");
    assert_string_equal(placed(two_sockets, by_core, 3, 2), "aabbcc..");
    assert_string_equal(placed(two_sockets, by_socket, 4, 1), "ac..bd..");
    assert_string_equal(placed(two_sockets, by_socket, 3, 2), "aaccbb..");
    assert_string_equal(placed(two_sockets, by_socket, 1, 5), "refused");
    assert_string_equal(placed("package:2 numa:2 core:2 pu:1", by_numa, 6, 1),
                        "aebfc.d.");
    assert_string_equal(placed(two_sockets, two_each, 4, 1), "ab..cd..");
    assert_string_equal(placed(two_sockets, two_each, 3, 2), "aabbcc..");
    assert_string_equal(placed(two_sockets, two_each, 5, 1), "refused");
    assert_string_equal(placed(two_sockets, two_each, 4, 3), "refused");
}

static void cores_that_are_taken_are_left_alone(void **state)
{
    struct topology topology = read_machine(two_sockets);
    const int widths[] = {1, 1, 1, 1, 1};

    (void)state;
    topology.cores[0].is_taken = topology.cores[1].is_taken = true;
    topology.cores[2].is_taken = true;
    assert_string_equal(owners(&topology, evenly, widths, 4), "...abcd.");
    assert_string_equal(owners(&topology, evenly, widths, 5), "...abcde");
    topology.cores[7].is_taken = true;
    assert_string_equal(owners(&topology, evenly, widths, 5), "refused");
    topology_close(&topology);
}

static void ranks_of_several_widths_fit_where_there_are_cores_for_all(void **state)
{
    struct topology topology = read_machine(two_sockets);
    const int first_wide[] = {4, 1, 1, 1, 1};
    const int last_wide[] = {1, 1, 5};

    (void)state;
    assert_string_equal(owners(&topology, evenly, first_wide, 5), "aaaabcde");
    assert_string_equal(owners(&topology, evenly, last_wide, 3), "abccccc.");
    topology_close(&topology);
}

/* Every rank has its cores, nobody has a taken one, and rank order is socket order. */
static void check_owners(const struct topology *topology, const int *widths, int ranks,
                         const int *owner)
{
    int cores[MOST_CORES] = {0};
    int last = -1;

    for (int c = 0; c < topology->count; c++) {
        if (owner[c] >= 0) {
            assert_in_range(owner[c], 0, ranks - 1);
            assert_false(topology->cores[c].is_taken);
            assert_true(owner[c] >= last);
            last = owner[c];
            cores[owner[c]]++;
        }
    }
    for (int r = 0; r < ranks; r++) {
        assert_int_equal(cores[r], widths[r]);
    }
}

static void whatever_fits_is_placed_and_whatever_does_not_is_refused(void **state)
{
    static const char *const machines[] = {
        "package:2 core:4 pu:2", "package:4 numa:2 core:3 pu:1",
        "package:2 numa:2 l3:2 core:4 pu:2", "package:1 l3:5 core:3 pu:1"};

    (void)state;
    srand(1);
    for (int i = 0; i < 400; i++) {
        struct topology topology = read_machine(machines[i % 4]);
        const int ranks = 1 + rand() % 12;
        const bool is_uniform = rand() % 2 == 0;
        int widths[12];
        int owner[MOST_CORES];
        int free_cores = 0;
        int wanted = 0;

        for (int r = 0; r < ranks; r++) {
            widths[r] = is_uniform && r > 0 ? widths[0] : 1 + rand() % 4;
            wanted += widths[r];
        }
        for (int c = 0; c < topology.count; c++) {
            topology.cores[c].is_taken = rand() % 4 == 0;
            free_cores += topology.cores[c].is_taken ? 0 : 1;
        }
        assert_int_equal(spread_ranks(&topology, &evenly, widths, ranks, owner),
                         wanted <= free_cores);
        if (wanted <= free_cores) {
            check_owners(&topology, widths, ranks, owner);
        }
        topology_close(&topology);
    }
}

/* A machine of four cores; its processors have numbers that no real job claims. */
static struct topology far_machine(void)
{
    struct topology topology = {.cores = calloc(4, sizeof(struct core)), .count = 4};

    for (size_t c = 0; c < 4; c++) {
        CPU_SET(CPU_SETSIZE - 8 + 2 * c, &topology.cores[c].set);
        CPU_SET(CPU_SETSIZE - 8 + 2 * c + 1, &topology.cores[c].set);
        topology.cores[c].whole = topology.cores[c].set;
    }
    return topology;
}

static void a_claim_is_seen_by_others_until_it_is_dropped(void **state)
{
    struct topology topology = far_machine();
    struct claims ours = {.sockets = NULL};
    struct claims theirs = {.sockets = NULL};
    cpu_set_t one_thread;

    (void)state;
    assert_true(claims_take(&ours, &topology.cores[1].set));
    claims_look(&topology);
    assert_false(topology.cores[0].is_taken);
    assert_true(topology.cores[1].is_taken);
    assert_false(topology.cores[2].is_taken);

    CPU_ZERO(&one_thread); /* one of a core that is taken */
    CPU_SET(CPU_SETSIZE - 5, &one_thread);
    assert_false(claims_take(&theirs, &one_thread));
    assert_int_equal(errno, EADDRINUSE);
    claims_drop(&theirs);

    claims_drop(&ours);
    claims_look(&topology);
    assert_false(topology.cores[1].is_taken);
    topology_close(&topology);
}

static void a_job_inside_a_bound_rank_has_claims_of_its_own(void **state)
{
    struct topology topology = far_machine();
    struct claims outer = {.sockets = NULL};
    struct claims inner = {.sockets = NULL};

    (void)state;
    assert_true(claims_take(&outer, &topology.cores[0].set));
    setenv(CLAIMS_SCOPE, "123456.7", 1);
    claims_look(&topology);
    assert_false(topology.cores[0].is_taken);
    assert_true(claims_take(&inner, &topology.cores[0].set));
    claims_look(&topology);
    assert_true(topology.cores[0].is_taken);
    setenv(CLAIMS_SCOPE, "123456.8", 1); /* another rank */
    claims_look(&topology);
    assert_false(topology.cores[0].is_taken);
    unsetenv(CLAIMS_SCOPE);
    claims_drop(&inner);
    claims_drop(&outer);
    topology_close(&topology);
}

/* A plan of one program with these variables set by -env, or NULL. */
static struct app app_with(char *variable)
{
    struct app app = {.ranks = 2};

    if (variable != NULL) {
        app.set.at = calloc(2, sizeof(char *));
        app.set.at[0] = variable;
        app.set.count = 1;
    }
    return app;
}

static int width_with(struct plan *plan, int app)
{
    plan_choose_widths(plan);
    return plan->apps[app].width;
}

static void width_is_of_the_option_then_slurm_then_threads(void **state)
{
    char four[] = "OMP_NUM_THREADS=4,2";
    struct app apps[] = {app_with(NULL), app_with(four)};
    struct plan plan = {.apps = apps, .app_count = 2};

    (void)state;
    unsetenv("SLURM_CPUS_PER_TASK");
    setenv("OMP_NUM_THREADS", "3", 1);
    assert_int_equal(width_with(&plan, 0), 3);
    assert_int_equal(apps[0].width_by, WIDTH_BY_THREADS);
    assert_int_equal(apps[1].width, 4);
    setenv("SLURM_CPUS_PER_TASK", "6", 1);
    apps[0].width = apps[1].width = 0;
    assert_int_equal(width_with(&plan, 0), 6);
    assert_int_equal(apps[1].width_by, WIDTH_BY_SLURM);
    apps[0].width = 2;
    apps[1].width = 0;
    assert_int_equal(width_with(&plan, 1), 2); /* of the program before it */
    assert_int_equal(apps[1].width_by, WIDTH_BY_OPTION);
    unsetenv("SLURM_CPUS_PER_TASK");
    unsetenv("OMP_NUM_THREADS");
    free(apps[1].set.at);
}

static void what_is_no_number_of_threads_is_none(void **state)
{
    static const char *const texts[] = {"", "0", "-2", "x", "2x", "99999999999", ",2"};
    struct app app = app_with(NULL);
    struct plan plan = {.apps = &app, .app_count = 1};

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        setenv("OMP_NUM_THREADS", texts[i], 1);
        app.width = 0;
        assert_int_equal(width_with(&plan, 0), 1);
        assert_int_equal(app.width_by, WIDTH_BY_DEFAULT);
    }
    setenv("OMP_NUM_THREADS", "2", 1);
    plan.has_empty_environment = true; /* the ranks do not see it */
    app.width = 0;
    assert_int_equal(width_with(&plan, 0), 1);
    unsetenv("OMP_NUM_THREADS");
}

static enum parsed map_by(const char *value, struct plan *plan, struct app *app)
{
    char option[] = "--map-by";
    char copy[64];
    char *words[] = {option, copy, NULL};

    snprintf(copy, sizeof(copy), "%s", value);
    return plan_map_by(words, plan, app);
}

static void map_by_takes_what_weft_does_and_refuses_the_rest(void **state)
{
    static const char *const wrong[] = {
        "moon",      "ppr",     "ppr:0:node", "ppr:2",      "ppr:2:cache",  "slot:PE=0",
        "slot:PE=x", "slot:PE", "core:span",  "ppr:x:node", "ppr:2:node:x", "board"};
    struct plan plan = {.apps = NULL};
    struct app app = {.ranks = 1};

    (void)state;
    assert_int_equal(map_by("slot:PE=2", &plan, &app), PARSED);
    assert_int_equal(app.width, 2);
    assert_int_equal(plan.spread.by, MAP_EVENLY);
    assert_int_equal(map_by("ppr:3:node:pe=4", &plan, &app), PARSED);
    assert_int_equal(plan.per_host, 3);
    assert_int_equal(app.width, 4);
    assert_int_equal(map_by("ppr:5:socket", &plan, &app), PARSED);
    assert_int_equal(plan.spread.by, MAP_EACH);
    assert_int_equal(plan.spread.level, LEVEL_SOCKET);
    assert_int_equal(plan.spread.each, 5);
    assert_int_equal(map_by("socket:OVERSUBSCRIBE", &plan, &app), PARSED);
    assert_int_equal(plan.spread.by, MAP_IN_TURN);
    assert_true(plan.may_exceed_slots);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(map_by(wrong[i], &plan, &app), PARSED_WRONG);
    }
}

/*
 * What --report-bindings tells of a rank of a program on two_sockets, where `taken` cores
 * belong to another job; "refused: WHY" if it is refused.
 */
static const char *told(struct plan *plan, struct app *app, int rank, int taken)
{
    static char text[512];
    struct placement placement;
    int ranks[MOST_CORES];

    host.is_made_up = true;
    host.taken = taken;
    setenv("HWLOC_SYNTHETIC", two_sockets, 1);
    plan->apps = app;
    plan->app_count = 1;
    for (int r = 0; r < app->ranks; r++) {
        ranks[r] = r;
    }
    if (placement_open(&placement, plan, ranks, app->ranks)) {
        placement_describe(&placement, rank, text, sizeof(text));
    } else {
        snprintf(text, sizeof(text), "refused: %s", placement.why);
    }
    placement_close(&placement);
    unsetenv("HWLOC_SYNTHETIC");
    host.is_made_up = false;
    return text;
}

static void threads_get_a_core_each_or_else_a_hardware_thread_each(void **state)
{
    struct plan plan = {.bind = BIND_IF_FITS};
    struct app app = {.ranks = 2, .width = 2, .width_by = WIDTH_BY_THREADS};

    (void)state;
    assert_string_equal(told(&plan, &app, 0, 0), "bound to processors 0-3 [BB..][....]");
    assert_string_equal(told(&plan, &app, 1, 0), "bound to processors 8-11 [....][BB..]");
    app.width = 8;
    assert_string_equal(told(&plan, &app, 0, 0), "bound to processors 0-7 [BBBB][....]");
    app.width = 9;
    assert_string_equal(told(&plan, &app, 0, 0),
                        "not bound: 2 ranks need 18 cores, but there are 16 processors");
}

static void slurm_counts_processors_and_an_option_cores(void **state)
{
    struct plan plan = {.bind = BIND_IF_FITS};
    struct app app = {.ranks = 2, .width = 4, .width_by = WIDTH_BY_SLURM};

    (void)state;
    assert_string_equal(told(&plan, &app, 1, 0), "bound to processors 8-11 [....][BB..]");
    app.width_by = WIDTH_BY_OPTION;
    assert_string_equal(told(&plan, &app, 1, 0), "bound to processors 8-15 [....][BBBB]");
}

static void
without_free_cores_the_default_binds_nobody_and_a_demand_is_refused(void **state)
{
    static const char why[] = "4 ranks need 4 cores, but other jobs have taken 5 of this "
                              "host's 8";
    struct plan plan = {.bind = BIND_IF_FITS};
    struct app app = {.ranks = 4, .width = 1};

    (void)state;
    assert_string_equal(told(&plan, &app, 0, 4), "bound to processors 8-9 [xxxx][B...]");
    assert_memory_equal(told(&plan, &app, 0, 5), "not bound: ", 11);
    assert_string_equal(told(&plan, &app, 0, 5) + 11, why);
    plan.bind = BIND_CORE;
    assert_memory_equal(told(&plan, &app, 0, 5), "refused: ", 9);
    assert_string_equal(told(&plan, &app, 0, 5) + 9, why);
    plan.bind = BIND_IF_FITS;
    plan.spread = by_socket;
    assert_string_equal(told(&plan, &app, 0, 5) + 9, why);
    plan.bind = BIND_NONE;
    assert_string_equal(told(&plan, &app, 0, 0), "not bound: --bind-to none");
}

static void a_width_by_option_is_a_demand_also_of_a_single_rank(void **state)
{
    struct plan plan = {.bind = BIND_IF_FITS};
    struct app app = {.ranks = 1, .width = 1};

    (void)state;
    assert_string_equal(told(&plan, &app, 0, 0),
                        "not bound: a single rank has all cores");
    app.width_by = WIDTH_BY_OPTION;
    assert_string_equal(told(&plan, &app, 0, 0), "bound to processors 0-1 [B...][....]");
    app.width = 9;
    assert_string_equal(told(&plan, &app, 0, 0),
                        "refused: 1 rank needs 9 cores, but this host has 8");
}

static void a_rival_that_claims_first_is_made_room_for(void **state)
{
    struct plan plan = {.bind = BIND_CORE};
    struct app app = {.ranks = 1, .width = 1};

    (void)state;
    host.stolen = 3;
    assert_string_equal(told(&plan, &app, 0, 0), "bound to processors 6-7 [xxxB][....]");
    host.stolen = 1000; /* until nothing is left */
    assert_memory_equal(told(&plan, &app, 0, 0), "refused: 1 rank needs 1 core", 28);
    host.stolen = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_topology_has_cores_with_their_processors_and_groups),
        cmocka_unit_test(only_processors_that_we_may_use_count),
        cmocka_unit_test(reading_the_topology_leaves_the_environment_as_it_was),
        cmocka_unit_test(ranks_are_spread_evenly_over_sockets_in_blocks),
        cmocka_unit_test(a_rank_is_as_wide_as_asked_and_stays_in_a_socket_if_it_fits),
        cmocka_unit_test(numa_nodes_and_caches_of_a_socket_are_filled_evenly_too),
        cmocka_unit_test(the_other_ways_of_map_by_do_what_they_say),
        cmocka_unit_test(cores_that_are_taken_are_left_alone),
        cmocka_unit_test(ranks_of_several_widths_fit_where_there_are_cores_for_all),
        cmocka_unit_test(whatever_fits_is_placed_and_whatever_does_not_is_refused),
        cmocka_unit_test(a_claim_is_seen_by_others_until_it_is_dropped),
        cmocka_unit_test(a_job_inside_a_bound_rank_has_claims_of_its_own),
        cmocka_unit_test(width_is_of_the_option_then_slurm_then_threads),
        cmocka_unit_test(what_is_no_number_of_threads_is_none),
        cmocka_unit_test(map_by_takes_what_weft_does_and_refuses_the_rest),
        cmocka_unit_test(threads_get_a_core_each_or_else_a_hardware_thread_each),
        cmocka_unit_test(slurm_counts_processors_and_an_option_cores),
        cmocka_unit_test(
            without_free_cores_the_default_binds_nobody_and_a_demand_is_refused),
        cmocka_unit_test(a_width_by_option_is_a_demand_also_of_a_single_rank),
        cmocka_unit_test(a_rival_that_claims_first_is_made_room_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
