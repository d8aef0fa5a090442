/*
 * contract.c - "contract TRANSPORT reachable|unreachable [CASE...]", under mpiexec: all
 * cases of the suite, or some, over one transport. The second word says whether peers'
 * memory must be within reach; WEFT_TEST_SHOW prints how long each case takes, and
 * WEFT_TEST_POOL gives a network as many receive buffers and its smallest window, and
 * WEFT_STREAMS as many streams.
 */
#include "suite.h"

#include "base/clock.h"
#include "transport/ofi/msg/msg.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 16 /* ranks; more repeat less */ };

enum { NODE = 1, NETWORK = 2, BOTH = NODE | NETWORK };

static const struct {
    const char *name;
    void (*run)(void);
    int times;
    int where;
} cases[] = {
    {"table_is_complete", case_table_is_complete, 1, BOTH},
    {"first_packets_are_seen", case_first_packets_are_seen, 1, NODE},
    {"first_contact", case_first_contact, 1, BOTH},
    {"every_size", case_every_size, 1, BOTH},
    {"full_queue", case_full_queue, 20, BOTH},
    {"control_overtakes", case_control_overtakes, 20, BOTH},
    {"kept_packets_are_offered_again", case_kept_packets_are_offered_again, 20, BOTH},
    {"grants", case_grants, 20, BOTH},
    {"budget", case_budget, 10, BOTH},
    {"turns", case_turns, 10, BOTH},
    {"memory", case_memory, 1, NODE},
    {"wrong_addresses", case_wrong_addresses, 1, NODE},
    {"shares", case_shares, 1, NODE},
    {"share_claims", case_share_claims, 1, NODE},
    {"stages", case_stages, 1, NODE},
    {"vectors", case_vectors, 1, NODE},
    {"inside", case_inside, 5, NODE},
    {"sleep_ends", case_sleep_ends, 1, NODE},
    {"no_wakeup_is_lost", case_no_wakeup_is_lost, 1, NODE},
    {"network_sleep", case_network_sleep, 1, NETWORK},
    {"held_packets_wait", case_held_packets_wait, 20, NETWORK},
    {"idle_is_quiet", case_idle_is_quiet, 1, NETWORK},
    {"all_pairs_at_once", case_all_pairs_at_once, 1, NETWORK},
    {"late_close", case_late_close, 1, NETWORK},
    {"paths", case_paths, 5, NETWORK},
    {"flush", case_flush, 20, NETWORK},
    {"told", case_told, 20, NETWORK},
    {"atomics", case_atomics, 1, NETWORK},
    {"lost_with_pending_stream", case_lost_with_pending_stream, 1, NETWORK},
    {"lost_before_new_stream", case_lost_before_new_stream, 1, NETWORK},
    {"impostor", case_impostor, 1, NETWORK},
    {"ports", case_ports, 1, NETWORK},
    {"counts", case_counts, 1, BOTH},
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

static bool is_wanted(size_t i, char *const *names)
{
    const char *name = cases[i].name;
    bool is_named = *names == NULL;

    for (; *names != NULL; names++) {
        is_named = is_named || strcmp(*names, name) == 0;
    }
    return is_named && (cases[i].where & (suite_is_network() ? NETWORK : NODE)) != 0;
}

static int run(char *const *names)
{
    int count = 0;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const int times = suite.size <= FEW ? cases[i].times : (cases[i].times + 4) / 5;
        uint64_t start = weft_clock_ns();

        if (!is_wanted(i, names)) {
            continue;
        }
        suite.running = cases[i].name;
        for (int n = 0; n < times; n++) {
            suite_meet();
            cases[i].run();
            suite_meet();
            suite_expect_nothing(); /* is left */
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

/*
 * What a network's libraries open stays open until exit. So it is opened twice, and what
 * was open in between is what must be open at the end.
 */
static void open_once(const char *name)
{
    const char *pool = getenv("WEFT_TEST_POOL");

    if (pool != NULL) {
        weft_ofi_slots_limit((struct weft_ofi_slots_limits){
            .receives = (uint32_t)atoi(pool),
            .window = 2 * (sizeof(struct weft_frame) + WEFT_MSG_PACKET_MAX),
        });
    }
    suite_open(name);
    suite_meet_quietly();
    suite_close();
}

int main(int argc, char **argv)
{
    int descriptors;
    int threads;
    int count;

    if (argc < 3) {
        fprintf(stderr, "usage: contract TRANSPORT reachable|unreachable [CASE...]\n");
        return 2;
    }
    suite.running = "opening";
    suite.is_reachable = strcmp(argv[2], "reachable") == 0;
    suite_watch();
    suite_open_job();
    open_once(argv[1]);
    descriptors = count_entries("/proc/self/fd");
    threads = count_entries("/proc/self/task");
    suite_open(argv[1]);
    count = run(argv + 3);
    check(count > 0);
    suite_close();
    check(count_entries("/proc/self/fd") == descriptors);
    check(count_entries("/proc/self/task") == threads);
    weft_wireup_close(&suite.job);
    return 0;
}
