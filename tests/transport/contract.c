/*
 * contract.c - "contract TRANSPORT reachable|unreachable [CASE]", under mpiexec: all
 * cases of the suite, or one, over one transport. The second word says whether peers'
 * memory must be within reach; WEFT_TEST_SHOW prints how long each case takes.
 */
#include "suite.h"

#include "base/clock.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT_SECONDS = 100 };

static const struct {
    const char *name;
    void (*run)(void);
    int times;
} cases[] = {
    {"table_is_complete", case_table_is_complete, 1},
    {"first_packets_are_seen", case_first_packets_are_seen, 1},
    {"first_contact", case_first_contact, 1},
    {"every_size", case_every_size, 1},
    {"full_queue", case_full_queue, 20},
    {"control_overtakes", case_control_overtakes, 20},
    {"grants", case_grants, 20},
    {"budget", case_budget, 10},
    {"turns", case_turns, 10},
    {"memory", case_memory, 1},
    {"wrong_addresses", case_wrong_addresses, 1},
    {"joints", case_joints, 1},
    {"joint_claims", case_joint_claims, 1},
    {"windows", case_windows, 1},
    {"vectors", case_vectors, 1},
    {"inside", case_inside, 5},
    {"sleep_ends", case_sleep_ends, 1},
    {"no_wakeup_is_lost", case_no_wakeup_is_lost, 1},
    {"counts", case_counts, 1},
};

static int count_entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    if (folder == NULL) {
        return -1;
    }
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

static void on_alarm(int ignored)
{
    static const char text[] = ": this case takes too long\n";

    (void)ignored;
    (void)!write(2, suite.running, strlen(suite.running));
    (void)!write(2, text, sizeof(text) - 1);
    _exit(1);
}

static int run(const char *only)
{
    int count = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t start = weft_clock_ns();

        if (only != NULL && strcmp(only, cases[i].name) != 0) {
            continue;
        }
        suite.running = cases[i].name;
        for (int n = 0; n < cases[i].times; n++) {
            suite_meet();
            cases[i].run();
            suite_meet();
            check(suite.ops->poll(suite.tp, SUITE_BUDGET) == 0); /* nothing is left */
            suite_meet_quietly();
        }
        count++;
        if (suite.me == 0 && getenv("WEFT_TEST_SHOW") != NULL) {
            printf("%-20s %6.1f ms\n", cases[i].name,
                   (double)(weft_clock_ns() - start) / 1e6);
            fflush(stdout);
        }
    }
    suite.running = "closing";
    suite_meet_quietly();
    return count;
}

int main(int argc, char **argv)
{
    int descriptors;
    int threads;
    int count;

    if (argc < 3) {
        fprintf(stderr, "usage: contract TRANSPORT reachable|unreachable [CASE]\n");
        return 2;
    }
    suite.running = "opening";
    signal(SIGALRM, on_alarm);
    alarm(LIMIT_SECONDS);
    suite.is_reachable = strcmp(argv[2], "reachable") == 0;
    suite_open_job();
    descriptors = count_entries("/proc/self/fd");
    threads = count_entries("/proc/self/task");
    suite_open(argv[1]);
    count = run(argc > 3 ? argv[3] : NULL);
    check(count > 0);
    suite_close();
    check(count_entries("/proc/self/fd") == descriptors);
    check(count_entries("/proc/self/task") == threads);
    weft_wireup_close(&suite.job);
    return 0;
}
