/*
 * test_memory_killer.c - what the files of the kernel say of the memory killer, in a
 * folder that stands for them.
 */
#include "memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { PID = 4711 };

static char root[64];
static struct memory memory;
static char text[256];

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
    snprintf(root, sizeof(root), "/tmp/test_memory.XXXXXX");
    if (mkdtemp(root) == NULL) {
        return -1;
    }
    put("/proc/vmstat", "nr_free_pages 1\noom_kill 7\nunevictable_pgs_culled 0\n");
    return 0;
}

static int remove_root(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", root);
    return system(command);
}

static bool ask(void)
{
    text[0] = '\0';
    return memory_has_killed(&memory, PID, text, sizeof(text));
}

static void put_events(const char *folder, int kills)
{
    char name[128];
    char content[128];

    snprintf(name, sizeof(name), "/sys/fs/cgroup%s/memory.events", folder);
    snprintf(content, sizeof(content), "low 0\nhigh 0\nmax 3\noom 2\noom_kill %d\n",
             kills);
    put(name, content);
}

static void the_cgroup_of_the_rank_says_it(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/job\n");
    put("/proc/4711/cgroup", "0::/job/step\n");
    put_events("/job", 1);
    put_events("/job/step", 0);
    put("/sys/fs/cgroup/job/memory.max", "34359738368\n");
    put("/sys/fs/cgroup/job/memory.peak", "33500744909\n");
    put("/sys/fs/cgroup/job/step/memory.max", "max\n");
    memory_open(&memory, root);
    assert_false(ask());
    put_events("/job/step", 1);
    assert_true(ask());
    assert_string_equal(text, "killed by the memory killer, peak 31.2 GiB of 32");
}

static void kills_before_the_job_do_not_count(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/job\n");
    put("/proc/4711/cgroup", "0::/job (deleted)\n");
    put_events("/job", 5);
    put("/sys/fs/cgroup/job/memory.max", "67108864\n");
    memory_open(&memory, root);
    assert_false(ask());
    put_events("/job", 6);
    assert_true(ask());
    assert_string_equal(text, "killed by the memory killer: its cgroup may use 64 MiB");
    assert_false(ask()); /* each kill counts once */
}

static void version_1_has_other_files(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/job\n0::/\n");
    put("/proc/4711/cgroup", "9:name=systemd:/\n4:memory:/\n0::/\n");
    put("/sys/fs/cgroup/memory/job/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    put("/sys/fs/cgroup/memory/memory.oom_control", "oom_kill 4\n");
    put("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "67108864\n");
    put("/sys/fs/cgroup/memory/job/memory.max_usage_in_bytes", "66060288\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    memory_open(&memory, root);
    assert_false(ask());
    put("/sys/fs/cgroup/memory/job/memory.oom_control", "oom_kill 1\n");
    assert_true(ask());
    assert_string_equal(text, "killed by the memory killer, peak 63 MiB of 64");
}

static void a_cgroup_without_a_limit_still_counts(void **state)
{
    (void)state;
    put("/proc/self/cgroup", "0::/\n");
    put("/proc/4711/cgroup", "0::/free\n");
    put_events("/free", 1);
    memory_open(&memory, root);
    assert_true(ask());
    assert_string_equal(text, "killed by the memory killer (signal 9, Killed)");
}

static void the_host_alone_gives_a_perhaps(void **state)
{
    (void)state;
    memory_open(&memory, root);
    assert_false(ask());
    put("/proc/vmstat", "oom_kill 8\n");
    assert_true(ask());
    assert_string_equal(text,
                        "killed by signal 9, Killed: perhaps by the memory killer, which "
                        "has killed a process on this host since the job began");
    assert_false(ask());
}

static void without_files_nothing_is_said(void **state)
{
    struct memory none = {.root = NULL};

    (void)state;
    memory_open(&memory, "/nowhere");
    assert_false(ask());
    assert_false(memory_has_killed(&none, PID, text, sizeof(text)));
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(the_cgroup_of_the_rank_says_it),
        IN_FOLDER(kills_before_the_job_do_not_count),
        IN_FOLDER(version_1_has_other_files),
        IN_FOLDER(a_cgroup_without_a_limit_still_counts),
        IN_FOLDER(the_host_alone_gives_a_perhaps),
        IN_FOLDER(without_files_nothing_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
