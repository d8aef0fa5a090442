/* refuse.h - for programs that run others where the kernel refuses system calls. */
#ifndef WEFT_TEST_REFUSE_H
#define WEFT_TEST_REFUSE_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

enum { REFUSE_MOST = 4 };

/* From now on these calls fail with EPERM, here and in every child. 0, or -1. */
static inline int refuse(const unsigned *calls, unsigned short count)
{
    struct sock_filter code[2 + 2 * REFUSE_MOST] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    struct sock_fprog program = {.len = 1, .filter = code};

    for (unsigned short i = 0; i < count && i < REFUSE_MOST; i++) {
        code[program.len++] =
            (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], 0, 1);
        code[program.len++] =
            (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    code[program.len++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
               ? -1
               : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#endif
