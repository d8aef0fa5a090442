/*
 * no_membarrier.c - "no_membarrier COMMAND...": runs it where membarrier() fails with
 * EPERM, as filters of some containers have it.
 */
#include "refuse.h"

#include <linux/membarrier.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* It must really be so, else the tests behind this one would prove nothing. */
static int is_refused(void)
{
    return syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0) == -1 && errno == EPERM;
}

int main(int argc, char **argv)
{
    static const unsigned calls[] = {SYS_membarrier};

    if (argc < 2) {
        fprintf(stderr, "usage: no_membarrier COMMAND...\n");
        return 2;
    }
    if (refuse(calls, 1) != 0 || !is_refused()) {
        fprintf(stderr, "no_membarrier: the kernel takes no filter: %s\n",
                strerror(errno));
        return 1;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "no_membarrier: %s: %s\n", argv[1], strerror(errno));
    return 127;
}
