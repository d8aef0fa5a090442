/*
 * confine.c - becomes a program that the kernel refuses some system calls, as a container
 * runtime's seccomp filter does.
 *
 *   confine CALL=ERRNO[,CALL=ERRNO...] [-r RANK] PROGRAM [ARGUMENT...]
 *
 * ERRNO is EPERM or ENOSYS: runtimes differ in it. With -r, only the rank of that number
 * is confined. The filter outlives exec, and it is inherited.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 16 };

static const struct {
    const char *name;
    long number;
} calls[] = {
    {"process_vm_readv", SYS_process_vm_readv},
    {"process_vm_writev", SYS_process_vm_writev},
    {"memfd_create", SYS_memfd_create},
    {"membarrier", SYS_membarrier},
    {"ptrace", SYS_ptrace},
    {"getrandom", SYS_getrandom},
    {"sched_getaffinity", SYS_sched_getaffinity},
    {"sched_setaffinity", SYS_sched_setaffinity},
    {"close_range", SYS_close_range},
    {"pidfd_open", SYS_pidfd_open},
};

static _Noreturn void give_up(const char *what)
{
    fprintf(stderr, "confine: %s: %s\n", what, strerror(errno));
    exit(99);
}

static long number_of(const char *name)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        if (strcmp(calls[i].name, name) == 0) {
            return calls[i].number;
        }
    }
    errno = EINVAL;
    give_up(name);
}

static int is_for_me(const char *rank)
{
    const char *own = getenv("PMI_RANK");

    return rank == NULL || (own != NULL && strcmp(own, rank) == 0);
}

static void refuse(char *words)
{
    struct sock_filter filter[2 * MOST + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    };
    struct sock_fprog program = {.len = 1, .filter = filter};

    for (char *rest, *word = strtok_r(words, ",", &rest);
         word != NULL && program.len < 2 * MOST; word = strtok_r(NULL, ",", &rest)) {
        char *error = strchr(word, '=');
        const int code = error != NULL && strcmp(error, "=EPERM") == 0 ? EPERM : ENOSYS;

        if (error != NULL) {
            *error = '\0';
        }
        filter[program.len++] = (struct sock_filter)BPF_JUMP(
            BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number_of(word), 0, 1);
        filter[program.len++] = (struct sock_filter)BPF_STMT(
            BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)code);
    }
    filter[program.len++] =
        (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        give_up("seccomp");
    }
}

int main(int argc, char **argv)
{
    const char *rank = NULL;
    int at = 2;

    if (argc > 4 && strcmp(argv[2], "-r") == 0) {
        rank = argv[3];
        at = 4;
    }
    if (at >= argc) {
        fprintf(stderr, "usage: confine CALL=ERRNO,... [-r RANK] PROGRAM\n");
        return 2;
    }
    if (is_for_me(rank)) {
        refuse(argv[1]);
    }
    execvp(argv[at], argv + at);
    give_up(argv[at]);
}
