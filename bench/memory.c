/*
 * memory.c - what a process costs after MPI_Init, and after it has exchanged 8 bytes with
 * each of its 8 nearest ranks (fewer in small jobs): each rank takes its private memory
 * (USS) and its proportional share (PSS) from the kernel's own account, in KiB, and waits
 * for the others before and after, so that all are alive. Rank 0 prints the medians.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NEIGHBOURS = 8 };

static long field(const char *line, const char *name)
{
    long value = 0;

    if (strncmp(line, name, strlen(name)) == 0) {
        sscanf(line + strlen(name), " %ld", &value);
    }
    return value;
}

static int by_size(const void *a, const void *b)
{
    const long x = *(const long *)a;
    const long y = *(const long *)b;

    return (x > y) - (x < y);
}

/* Reads first and tells afterwards: a collective takes memory of its own. */
static void take(long out[2])
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];

    out[0] = 0;
    out[1] = 0;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        out[0] += field(line, "Private_Clean:") + field(line, "Private_Dirty:");
        out[1] += field(line, "Pss:");
    }
    if (file != NULL) {
        fclose(file);
    }
}

static void print(const char *when, const long mine[2], int rank, int size)
{
    long *all = malloc((size_t)size * sizeof(*all));

    for (int i = 0; i < 2; i++) {
        MPI_Gather(&mine[i], 1, MPI_LONG, all, 1, MPI_LONG, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            qsort(all, (size_t)size, sizeof(*all), by_size);
            printf("memory\t%s.%s\t%ld\tKiB\n", i == 0 ? "uss" : "pss", when,
                   all[size / 2]);
        }
    }
    free(all);
}

static void meet_neighbours(int rank, int size)
{
    const int count = size - 1 < NEIGHBOURS ? size - 1 : NEIGHBOURS;
    char in[NEIGHBOURS][8];
    char out[8] = "8 bytes";
    MPI_Request requests[2 * NEIGHBOURS];

    for (int i = 0; i < count; i++) {
        const int step = i % 2 == 0 ? i / 2 + 1 : size - (i / 2 + 1);

        MPI_Irecv(in[i], 8, MPI_BYTE, (rank + size - step) % size, 0, MPI_COMM_WORLD,
                  &requests[2 * i]);
        MPI_Isend(out, 8, MPI_BYTE, (rank + step) % size, 0, MPI_COMM_WORLD,
                  &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * count, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    long at_init[2];
    long at_end[2];
    int rank;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    take(at_init);
    MPI_Barrier(MPI_COMM_WORLD);
    meet_neighbours(rank, size);
    MPI_Barrier(MPI_COMM_WORLD);
    take(at_end);
    MPI_Barrier(MPI_COMM_WORLD);
    print("init", at_init, rank, size);
    print("8neighbours", at_end, rank, size);
    MPI_Finalize();
    return 0;
}
