/*
 * no_cma.c - "no_cma COMMAND...": runs it where no process may read or write another's
 * memory, as in many containers: process_vm_readv and writev fail with EPERM.
 */
#include "refuse.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* It must really be so, else the tests behind this one would prove nothing. */
static int is_forbidden(void)
{
    char from = 1;
    char to = 0;
    const struct iovec local = {.iov_base = &to, .iov_len = 1};
    const struct iovec remote = {.iov_base = &from, .iov_len = 1};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == -1 && errno == EPERM &&
           process_vm_writev(getpid(), &local, 1, &remote, 1, 0) == -1 && errno == EPERM;
}

int main(int argc, char **argv)
{
    static const unsigned calls[] = {SYS_process_vm_readv, SYS_process_vm_writev};

    if (argc < 2) {
        fprintf(stderr, "usage: no_cma COMMAND...\n");
        return 2;
    }
    if (refuse(calls, 2) != 0 || !is_forbidden()) {
        fprintf(stderr, "no_cma: the kernel takes no filter: %s\n", strerror(errno));
        return 1;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "no_cma: %s: %s\n", argv[1], strerror(errno));
    return 127;
}
