/*
 * no_cma.c - "no_cma COMMAND...": runs it where no process may read or write another's
 * memory, as in many containers: process_vm_readv and writev fail with EPERM.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int forbid(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {
        .len = sizeof(code) / sizeof(code[0]),
        .filter = code,
    };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
               ? -1
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

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
    if (argc < 2) {
        fprintf(stderr, "usage: no_cma COMMAND...\n");
        return 2;
    }
    if (forbid() != 0 || !is_forbidden()) {
        fprintf(stderr, "no_cma: the kernel takes no filter: %s\n", strerror(errno));
        return 1;
    }
    execvp(argv[1], argv + 1);
    fprintf(stderr, "no_cma: %s: %s\n", argv[1], strerror(errno));
    return 127;
}
