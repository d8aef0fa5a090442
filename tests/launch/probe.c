/*
 * probe.c - a rank that says what it sees.
 *
 *   probe [NAME]        "NAME 1 of 4"
 *   probe segment       1,000 barriers, then the device and inode of the job's memory
 *   probe descriptors   what is open before MPI_Init: number, what it is; then as above
 *   probe child         after MPI_Init starts "probe descriptors" by system()
 */
#include "mpi.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BARRIERS = 1000 };

static void name_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        char target[256] = "";

        if (entry->d_name[0] != '.' && atoi(entry->d_name) != dirfd(folder) &&
            readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1) > 0) {
            printf("open %s %s\n", entry->d_name, target);
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    fflush(stdout);
}

/* Whoever has the same memory has the same numbers. */
static void name_segment(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[1024];
    char device[64];
    unsigned long inode;
    unsigned long last = 0;

    for (int i = 0; i < BARRIERS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "/memfd:weft") != NULL &&
            sscanf(line, "%*s %*s %*s %63s %lu", device, &inode) == 2 &&
            inode != last) { /* a rank maps parts of it more than once */
            last = inode;
            printf("segment %s:%lu\n", device, inode);
        }
    }
    if (maps != NULL) {
        fclose(maps);
    }
}

static int run_child(const char *program)
{
    char command[4096];

    snprintf(command, sizeof(command), "'%s' descriptors", program);
    return system(command);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "rank";
    int rank;
    int size;

    if (strcmp(what, "descriptors") == 0) {
        name_descriptors();
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "segment") == 0) {
        name_segment();
    }
    if (strcmp(what, "child") == 0 && run_child(argv[0]) != 0) {
        MPI_Abort(MPI_COMM_WORLD, 98);
    }
    printf("%s %d of %d\n", what, rank, size);
    return MPI_Finalize();
}
