/*
 * hello.c - the program that every wrapper has to build, valid as C and as C++.
 *
 * Prints its rank and the size of the world, then the path of the MPI library that the
 * loader took, "static" if there is none.
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>

static void print_library(void)
{
    char line[8192];
    FILE *maps = fopen("/proc/self/maps", "r");

    while (maps != NULL && fgets(line, sizeof(line), maps) != NULL) {
        if (strstr(line, "/libmpi_abi.so") != NULL) {
            fputs(strchr(line, '/'), stdout);
            fclose(maps);
            return;
        }
    }
    puts("static");
}

int main(int argc, char **argv)
{
    int rank = -1;
    int size = -1;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    printf("hello from %d of %d\n", rank, size);
    print_library();
    MPI_Finalize();
    return 0;
}
