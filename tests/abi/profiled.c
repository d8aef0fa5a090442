/*
 * profiled.c - calls every function of the ABI once and asks the profiling library in
 * front whether it saw just that.
 *
 * The arguments are zeros and no function may crash on them; one that does is named.
 * MPI_Abort ends a process of its own. The profiling library is looked for at run time,
 * because where it is preloaded this program was linked without it.
 */
#include "check.h"
#include "profiled.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FUNCTIONS = 657 };

static struct sigaction fault_before; /* the sanitizer's, where there is one */

/* Returning runs into the fault again, which is then no longer ours. */
static void name_the_culprit(int number)
{
    static const char message[] = " crashed on zeros\n";

    if (write(STDERR_FILENO, every_now, strlen(every_now)) < 0 ||
        write(STDERR_FILENO, message, sizeof(message) - 1) < 0) {
        _exit(1);
    }
    sigaction(number, &fault_before, NULL);
}

static void abort_in_a_child(void)
{
    pid_t child = fork();
    int status = -1;

    CHECK(child >= 0);
    if (child == 0) {
        PMPI_Init(NULL, NULL);
        MPI_Abort(MPI_COMM_WORLD, 3);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 3);
}

int main(void)
{
    const struct sigaction on_fault = {.sa_handler = name_the_culprit};
    int (*calls)(const char *name);
    int i;
    int bad = 0;

    *(void **)&calls = dlsym(RTLD_DEFAULT, "profile_calls");
    CHECK(calls != NULL);

    abort_in_a_child();
    CHECK(MPI_Init(NULL, NULL) == MPI_SUCCESS);
    CHECK(PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(PMPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(sigaction(SIGSEGV, &on_fault, &fault_before) == 0);
    call_every();
    CHECK(MPI_Finalize() == MPI_SUCCESS);

    for (i = 0; every_name[i] != NULL; i++) {
        if (calls(every_name[i]) != 1) {
            printf("%s was seen %d times\n", every_name[i], calls(every_name[i]));
            bad++;
        }
    }
    CHECK(i == FUNCTIONS);
    printf("%d of %d functions were seen once\n", i - bad, i);
    return bad != 0;
}
