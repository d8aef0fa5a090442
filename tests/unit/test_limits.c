/*
 * test_limits.c - what the files of the kernel say of a cgroup's limits, in a folder that
 * stands for them.
 */
#include "unit.h"

#include "wireup/limits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64];

/* Makes a file, and the folders above it. */
static void put(const char *name, const char *content)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s%s", root, name);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int make_root(void **state)
{
    (void)state;
    snprintf(root, sizeof(root), "/tmp/test_limits.XXXXXX");
    return mkdtemp(root) == NULL ? -1 : 0;
}

static int remove_root(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

static void holds_processors(uint64_t thousandths, uint32_t busy_of_8)
{
    uint64_t found = 0;

    assert_true(weft_limit_processors(root, &found));
    assert_int_equal(found, thousandths);
    assert_int_equal(weft_limit_busy(root, 8), busy_of_8);
}

static void nothing_is_known_without_proc_or_sys(void **state)
{
    uint64_t found;
    uint64_t now;

    (void)state;
    assert_false(weft_limit_processors(root, &found));
    assert_false(weft_limit_memory(root, &found));
    assert_false(weft_limit_processes(root, &found, &now));
    assert_int_equal(weft_limit_busy(root, 8), 8);
    put("/proc/self/cgroup", "0::/a/b\n");
    assert_false(weft_limit_memory(root, &found));
}

static void the_tightest_of_all_above_counts_in_version_2(void **state)
{
    uint64_t found;
    uint64_t now;

    (void)state;
    put("/proc/self/cgroup", "0::/a/b\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/cpu.max", "250000 100000\n");
    holds_processors(2500, 2);
    put("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
    holds_processors(500, 1);
    put("/sys/fs/cgroup/a/b/memory.max", "max\n");
    put("/sys/fs/cgroup/a/memory.max", "201326592\n");
    assert_true(weft_limit_memory(root, &found));
    assert_int_equal(found, 201326592);
    put("/sys/fs/cgroup/a/b/pids.max", "100\n");
    put("/sys/fs/cgroup/a/b/pids.current", "3\n");
    put("/sys/fs/cgroup/a/pids.max", "1000\n");
    put("/sys/fs/cgroup/a/pids.current", "950\n");
    assert_true(weft_limit_processes(root, &found, &now));
    assert_int_equal(found, 1000); /* of which 50 are left */
    assert_int_equal(now, 950);
}

static void a_container_sees_its_own_cgroup_at_the_top(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/system.slice/docker-1234.scope\n");
    put("/sys/fs/cgroup/cpu.max", "100000 100000\n");
    holds_processors(1000, 1);
    put("/proc/self/cgroup", "0::/\n");
    holds_processors(1000, 1);
}

static void version_1_has_a_folder_for_each_controller(void **state)
{
    uint64_t found;
    uint64_t now;

    (void)state;
    put("/proc/self/cgroup", "8:pids:/x\n4:memory:/x\n2:cpu,cpuacct:/x\n0::/\n");
    put("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "800000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    holds_processors(8000, 8);
    put("/sys/fs/cgroup/memory/x/memory.limit_in_bytes", "9223372036854771712\n");
    assert_false(weft_limit_memory(root, &found));
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "4096\n");
    assert_true(weft_limit_memory(root, &found));
    assert_int_equal(found, 4096);
    put("/sys/fs/cgroup/pids/x/pids.max", "max\n");
    put("/sys/fs/cgroup/pids/x/pids.current", "1\n");
    assert_false(weft_limit_processes(root, &found, &now));
}

static void what_makes_no_sense_is_no_limit(void **state)
{
    uint64_t found;

    (void)state;
    put("/proc/self/cgroup", "nonsense\n:\n5::\n0::/\n");
    put("/sys/fs/cgroup/cpu.max", "100000 0\n");
    assert_false(weft_limit_processors(root, &found));
    put("/sys/fs/cgroup/cpu.max", "99999999999999999999999 1\n");
    assert_false(weft_limit_processors(root, &found));
    put("/sys/fs/cgroup/memory.max", "much\n");
    assert_false(weft_limit_memory(root, &found));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(nothing_is_known_without_proc_or_sys, make_root,
                                        remove_root),
        cmocka_unit_test_setup_teardown(the_tightest_of_all_above_counts_in_version_2,
                                        make_root, remove_root),
        cmocka_unit_test_setup_teardown(a_container_sees_its_own_cgroup_at_the_top,
                                        make_root, remove_root),
        cmocka_unit_test_setup_teardown(version_1_has_a_folder_for_each_controller,
                                        make_root, remove_root),
        cmocka_unit_test_setup_teardown(what_makes_no_sense_is_no_limit, make_root,
                                        remove_root),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
