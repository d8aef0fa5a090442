/*
 * progress_steps.c - chapter 6: a collective operation that one rank waits for ends
 * though all others compute.
 *
 * All ranks start a small collective, then one waits for it, and the others call MPI no
 * more until its wait is over, which they learn from a word in memory that all share.
 * Small packets wake nobody who computes, so the rank that waits has to ask for the steps
 * of others, and these for those of others still: which rank waits, and so how the chain
 * runs, goes through all of them. A rank that computes in vain for long gives up.
 */
#include "check.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
    PATIENCE_S = 100,
    ALLREDUCE = 0,
    BCAST,
    REDUCE,
    ALLGATHER,
    ALLTOALL,
    BARRIER,
    KINDS
};

static int rank;
static int size;
static _Atomic uint32_t *over; /* the number of the last operation that was waited for */

static _Atomic uint32_t *share_word(void)
{
    char name[] = "/tmp/progress_steps.XXXXXX";
    int file = rank == 0 ? mkstemp(name) : -1;
    void *word;

    CHECK(rank != 0 || (file >= 0 && ftruncate(file, 4096) == 0));
    CHECK(MPI_Bcast(name, sizeof(name), MPI_CHAR, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank != 0) {
        file = open(name, O_RDWR);
        CHECK(file >= 0);
    }
    word = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(word != MAP_FAILED);
    close(file);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank == 0) {
        unlink(name);
    }
    return word;
}

static MPI_Request start(int kind, int root, int *in, int *out)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request = MPI_REQUEST_NULL;

    for (int i = 0; i < size; i++) {
        in[i] = rank + 1;
        out[i] = kind == BCAST && rank == root ? 17 : 0;
    }
    switch (kind) {
    case ALLREDUCE:
        CHECK(MPI_Iallreduce(in, out, 1, MPI_INT, MPI_SUM, comm, &request) == 0);
        break;
    case BCAST:
        CHECK(MPI_Ibcast(out, 1, MPI_INT, root, comm, &request) == 0);
        break;
    case REDUCE:
        CHECK(MPI_Ireduce(in, out, 1, MPI_INT, MPI_SUM, root, comm, &request) == 0);
        break;
    case ALLGATHER:
        CHECK(MPI_Iallgather(in, 1, MPI_INT, out, 1, MPI_INT, comm, &request) == 0);
        break;
    case ALLTOALL:
        CHECK(MPI_Ialltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm, &request) == 0);
        break;
    default:
        CHECK(MPI_Ibarrier(comm, &request) == 0);
    }
    return request;
}

static void check(int kind, int root, const int *out)
{
    if (kind == ALLREDUCE || (kind == REDUCE && rank == root)) {
        CHECK(out[0] == size * (size + 1) / 2);
    } else if (kind == BCAST) {
        CHECK(out[0] == 17);
    } else if (kind == ALLGATHER || kind == ALLTOALL) {
        for (int i = 0; i < size; i++) {
            CHECK(out[i] == i + 1);
        }
    }
}

/* Outside MPI, until the one that waits has what it waits for. */
static void compute_until(uint32_t number)
{
    const time_t end = time(NULL) + PATIENCE_S;

    while (atomic_load(over) != number) {
        CHECK(time(NULL) < end);
    }
}

static void try(int kind, int waits, int root, uint32_t number)
{
    int *in = calloc((size_t)size, sizeof(*in));
    int *out = calloc((size_t)size, sizeof(*out));
    MPI_Request request;

    CHECK(in != NULL && out != NULL);
    request = start(kind, root, in, out);
    if (rank != waits) {
        compute_until(number);
    }
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    if (rank == waits) {
        atomic_store(over, number);
    }
    check(kind, root, out);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    free(in);
    free(out);
}

int main(int argc, char **argv)
{
    uint32_t number = 0;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    over = share_word();
    for (int kind = 0; kind < KINDS; kind++) {
        for (int waits = 0; waits < size; waits++) {
            /* Of a reduction nobody but the root waits for others. */
            try(kind, waits, kind == REDUCE ? waits : (waits + 1) % size, ++number);
        }
    }
    munmap((void *)over, 4096);
    return MPI_Finalize();
}
