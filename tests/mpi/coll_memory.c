/*
 * coll_memory.c - what the collectives of a communicator cost in memory that the ranks of
 * a node share: a page while small data are all that it moves, and nothing when it is
 * freed.
 */
#include "comm.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CYCLES = 1000, LIVE = 100, LARGE = 64 << 10, EACH = 8 << 10, LEFT = 256 << 10 };

static int rank;
static int size;

/* Bytes that the segment has in memory; 0: it is not a memfd. */
static long long shared_bytes(void)
{
    DIR *folder = opendir("/proc/self/fd");
    const struct dirent *entry;
    long long bytes = 0;

    CHECK(folder != NULL);
    while ((entry = readdir(folder)) != NULL) {
        char name[64] = "";
        char path[300];
        struct stat facts;

        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        if (readlink(path, name, sizeof(name) - 1) > 0 &&
            strncmp(name, "/memfd:weft", 11) == 0 && stat(path, &facts) == 0) {
            bytes += facts.st_blocks * 512LL;
        }
    }
    closedir(folder);
    return bytes;
}

static int mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    int count = 0;
    int c;

    CHECK(maps != NULL);
    while ((c = getc(maps)) != EOF) {
        count += c == '\n';
    }
    fclose(maps);
    return count;
}

static void use_small(MPI_Comm comm)
{
    int sum = 0;

    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
}

static void use_large(MPI_Comm comm, char *buffer, int i)
{
    memset(buffer, rank == 0 ? i : -1, LARGE);
    CHECK(MPI_Bcast(buffer, LARGE, MPI_BYTE, 0, comm) == MPI_SUCCESS);
    CHECK(buffer[0] == (char)i && buffer[LARGE - 1] == (char)i);
}

/* Many that are used and freed, one after the other. */
static void make_and_free(char *buffer, int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Comm comm;

        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
        use_small(comm);
        use_large(comm, buffer, i);
        free_comm(&comm);
    }
    /* The owner gives memory back when all have said that they are through. */
    for (int i = 0; i < 3; i++) {
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

static void cost_of_each(void)
{
    MPI_Comm comms[LIVE];
    long long before;
    long long after;

    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    before = shared_bytes();
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < LIVE; i++) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]) == MPI_SUCCESS);
        use_small(comms[i]);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    after = shared_bytes();
    CHECK(after - before <= (long long)LIVE * EACH + LEFT);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < LIVE; i++) {
        free_comm(&comms[i]);
    }
}

int main(int argc, char **argv)
{
    char *buffer = malloc(LARGE);
    long long before;
    long long grown;
    int maps;

    CHECK(buffer != NULL);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    make_and_free(buffer, CYCLES); /* queues, lanes and the black box have their pages */
    before = shared_bytes();
    maps = mappings();
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    make_and_free(buffer, CYCLES);
    grown = shared_bytes() - before;
    if (grown > LEFT) {
        fprintf(stderr, "rank %d: the segment has grown by %lld bytes\n", rank, grown);
    }
    CHECK(grown <= LEFT);
    CHECK(mappings() <= maps + 4); /* the C library's own */
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    cost_of_each();
    free(buffer);
    MPI_Finalize();
    return 0;
}
