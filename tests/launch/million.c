/*
 * million.c - starts one rank of a job of 1,000,000 and measures what that costs.
 *
 *   million COMMAND...    "million milliseconds=2.1 kibibytes=3500", after the rank's own
 *                         words; fails as the command does
 *
 * The job has 64 ranks a node. The rank is the first of its node and the only one there
 * that runs; it gets a segment with the whole map, as a launcher would give it.
 */
#include "wireup/segment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS = 1000000, PER_NODE = 64, NODE = 10000, RANK = NODE * PER_NODE };

static _Noreturn void give_up(const char *what)
{
    perror(what);
    exit(98);
}

/* The descriptor of the segment; it is not mapped here, so that a fork does not have it.
 */
static int make_segment(void)
{
    const struct weft_segment_plan plan = {
        .job = 1,
        .job_size = RANKS,
        .node_count = RANKS / PER_NODE,
        .node = NODE,
        .local_size = 1,
        .is_by_launcher = true,
    };
    struct weft_segment segment;
    int fd;

    if (weft_segment_create(&plan, &segment) != WEFT_OK) {
        give_up("make the segment");
    }
    for (uint32_t r = 0; r < RANKS; r++) {
        weft_segment_map(&segment)[r].node = r / PER_NODE;
        weft_segment_map(&segment)[r].local_rank = r % PER_NODE;
    }
    weft_segment_plan_slot(&segment, 0, RANK);
    fd = dup(segment.fd);
    weft_segment_close(&segment);
    return fd;
}

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

int main(int argc, char **argv)
{
    int segment = make_segment();
    int pmi[2];
    char job[64];
    char pmi_fd[32];
    double begin;
    struct rusage used;
    int status;
    pid_t pid;

    if (argc < 2 || segment < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pmi) != 0) {
        give_up("million COMMAND...");
    }
    fcntl(pmi[0], F_SETFD, FD_CLOEXEC);
    snprintf(job, sizeof(job), "%d %d %d", segment, RANK, pmi[1]);
    snprintf(pmi_fd, sizeof(pmi_fd), "%d", pmi[1]);
    setenv("WEFT_JOB", job, 1);
    setenv("PMI_FD", pmi_fd, 1);
    begin = now_ms();
    pid = fork();
    if (pid == 0) {
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid) {
        give_up("wait for the rank");
    }
    printf("million milliseconds=%.3f kibibytes=%ld\n", now_ms() - begin, used.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}
