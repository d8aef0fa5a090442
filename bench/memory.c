/*
 * memory.c - what a process costs after MPI_Init: each rank prints its private memory
 * (USS) and its proportional share (PSS) in KiB, from the kernel's own account, and waits
 * for the others before and after, so that all are alive.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static long field(const char *line, const char *name)
{
    long value = 0;

    if (strncmp(line, name, strlen(name)) == 0) {
        sscanf(line + strlen(name), " %ld", &value);
    }
    return value;
}

int main(int argc, char **argv)
{
    char line[256];
    long uss = 0;
    long pss = 0;
    FILE *file;

    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    file = fopen("/proc/self/smaps_rollup", "r");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        uss += field(line, "Private_Clean:") + field(line, "Private_Dirty:");
        pss += field(line, "Pss:");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    printf("memory\tuss\t%ld\tKiB\nmemory\tpss\t%ld\tKiB\n", uss, pss);
    MPI_Finalize();
    return 0;
}
