/*
 * million.c - starts one rank of a job of 1,000,000 and measures what that costs.
 *
 *   million COMMAND...    "million milliseconds=2.1 kibibytes=3500", after the rank's own
 *                         words; fails as the command does
 *
 * The job has 64 ranks a node. The rank is the first of its node and the only one there
 * that runs; it gets a segment with the whole map, as a launcher would give it, and a
 * server of PMI-1 for which all ranks have published the same.
 */
#include "wireup/segment.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* Serves the rank until it closes its end. */
static void serve(int fd)
{
    FILE *from = fdopen(fd, "r");
    char value[1024] = "";
    char line[2048];

    while (from != NULL && fgets(line, sizeof(line), from) != NULL) {
        const char *answer = "cmd=finalize_ack\n";
        char text[2048];
        char key[64];
        char rank[16];

        if (strncmp(line, "cmd=init ", 9) == 0) {
            answer = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n";
        } else if (strncmp(line, "cmd=get_my_kvsname", 18) == 0) {
            answer = "cmd=my_kvsname kvsname=million\n";
        } else if (strncmp(line, "cmd=put ", 8) == 0) {
            (void)sscanf(strstr(line, "value="), "value=%1023s", value);
            answer = "cmd=put_result rc=0\n";
        } else if (sscanf(line, "cmd=get kvsname=million key=%63s rank=%15s", key,
                          rank) == 2) {
            snprintf(text, sizeof(text), "cmd=get_result rc=0 key=%s rank=%s value=%s\n",
                     key, rank, value);
            answer = text;
        }
        if (write(fd, answer, strlen(answer)) < 0) {
            give_up("answer the rank");
        }
    }
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
    snprintf(job, sizeof(job), "%d", RANK);
    setenv("PMI_RANK", job, 1);
    snprintf(job, sizeof(job), "%d", RANKS);
    setenv("PMI_SIZE", job, 1);
    begin = now_ms();
    pid = fork();
    if (pid == 0) {
        execv(argv[1], argv + 1);
        _exit(127);
    }
    close(pmi[1]);
    serve(pmi[0]);
    if (pid < 0 || wait4(pid, &status, 0, &used) != pid) {
        give_up("wait for the rank");
    }
    printf("million milliseconds=%.3f kibibytes=%ld\n", now_ms() - begin, used.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}
