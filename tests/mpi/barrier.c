/*
 * barrier.c - chapter 6: nobody leaves a barrier before everyone has entered it.
 *
 * Each rank counts its rounds in a file that all map (argv[1]); after a barrier every
 * count must have reached the round.
 */
#include "check.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 2000 };

int main(int argc, char **argv)
{
    int rank;
    int size;
    int fd;
    _Atomic int *rounds;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(argc == 2);
    fd = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0 && ftruncate(fd, 4096) == 0 && size <= 1024);
    rounds = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK(rounds != MAP_FAILED);

    atomic_store(&rounds[rank], 0);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 1; i <= ROUNDS; i++) {
        atomic_store(&rounds[rank], i);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        for (int r = 0; r < size; r++) {
            CHECK(atomic_load(&rounds[r]) >= i);
        }
    }
    CHECK(MPI_Barrier(MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    IS_ERROR(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank == 0) {
        unlink(argv[1]);
    }
    return MPI_Finalize();
}
