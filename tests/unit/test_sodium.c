/* test_sodium.c - libsodium, where it cannot be loaded. */
#include "unit.h"

#include "transport/ofi/sodium.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Loads libsodium in a child with so many descriptors; `said` is what it logs. */
static int load_with(rlim_t descriptors, char *said, size_t size)
{
    int ends[2];
    int status = 0;
    ssize_t n;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        const struct rlimit limit = {.rlim_cur = descriptors, .rlim_max = descriptors};

        dup2(ends[1], STDERR_FILENO);
        _exit(setrlimit(RLIMIT_NOFILE, &limit) == 0 && weft_sodium_open() == WEFT_OK ? 0
                                                                                     : 1);
    }
    close(ends[1]);
    n = read(ends[0], said, size - 1);
    said[n > 0 ? n : 0] = '\0';
    close(ends[0]);
    assert_true(waitpid(pid, &status, 0) == pid && WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void descriptors_that_have_run_out_are_not_told_as_a_missing_library(void **state)
{
    char said[1024];

    (void)state;
    assert_int_equal(load_with(64, said, sizeof(said)), 0);
    assert_string_equal(said, "");
    assert_int_equal(load_with(3, said, sizeof(said)), 1);
    assert_non_null(strstr(said, "ulimit -n"));
    assert_null(strstr(said, "install"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(descriptors_that_have_run_out_are_not_told_as_a_missing_library),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
