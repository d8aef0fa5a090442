/*
 * other_layout.c - a wrapper that makes mpiexec look like one of another version.
 *
 *   mpiexec -n 3 other_layout PROGRAM
 *
 * The program gets a copy of the job segment with another layout number, and nothing else
 * changes. It must do without the segment and find the others over PMI-1.
 */
#include "wireup/segment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static _Noreturn void give_up(const char *why)
{
    fprintf(stderr, "other_layout: %s\n", why);
    exit(98);
}

static int copy_header(int segment)
{
    static char page[4096];
    struct weft_segment_header header;
    int copy = memfd_create("other", 0);

    if (pread(segment, page, sizeof(page), 0) != (ssize_t)sizeof(page)) {
        give_up("there is no segment");
    }
    memcpy(&header, page, sizeof(header));
    if (header.magic != WEFT_SEGMENT_MAGIC) {
        give_up("that is no segment");
    }
    header.layout++;
    memcpy(page, &header, sizeof(header));
    if (copy < 0 || pwrite(copy, page, sizeof(page), 0) != (ssize_t)sizeof(page)) {
        give_up("the segment cannot be copied");
    }
    return copy;
}

int main(int argc, char **argv)
{
    const char *job = getenv("WEFT_JOB");
    char changed[64];
    int segment;
    int rank;
    int pmi;

    if (argc < 2 || job == NULL || sscanf(job, "%d %d %d", &segment, &rank, &pmi) != 3) {
        give_up("run it under mpiexec, with a program");
    }
    snprintf(changed, sizeof(changed), "%d %d %d", copy_header(segment), rank, pmi);
    setenv("WEFT_JOB", changed, 1);
    close(segment); /* nobody uses it by accident */
    execv(argv[1], argv + 1);
    give_up("the program cannot be started");
}
