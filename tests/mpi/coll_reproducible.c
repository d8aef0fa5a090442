/*
 * coll_reproducible.c - with WEFT_REPRODUCIBLE=1, reductions whose result depends on the
 * order of their operands: blocking, nonblocking and persistent calls have the same bits,
 * and so does every repetition. Rank 0 prints a hash of all results, which
 * reproducible.py compares between jobs that run elsewhere.
 */
#include "check.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>

enum { MOST = 20000, KINDS = 5, REPEATS = 3 };

static double in[8 * MOST];
static double first[MOST];
static double again[MOST];
static int rank;
static int size;

static uint64_t hash_of(uint64_t hash, const void *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        hash = (hash ^ ((const unsigned char *)bytes)[i]) * UINT64_C(0x100000001b3);
    }
    return hash;
}

/* Numbers of both signs, from tiny to huge: every other order has another sum. */
static void fill(int count)
{
    uint32_t state = 12345u + 977u * (uint32_t)rank;

    for (int i = 0; i < count * size; i++) {
        double value;

        state = state * 1664525u + 1013904223u;
        value = 1.0 + (state >> 8) / 16777216.0;
        for (uint32_t power = state >> 27; power > 0; power--) {
            value *= 8;
        }
        in[i] = (state & 0x80) != 0 ? value : -value;
    }
}

/* How many doubles of the result this rank has. */
static int result_count(int kind, int count)
{
    if (kind == 0) {
        return rank == size - 1 ? count : 0;
    }
    return kind == 4 && rank == 0 ? 0 : count;
}

static void run(int kind, int count, double *out)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    switch (kind) {
    case 0:
        MPI_Reduce(in, out, count, MPI_DOUBLE, MPI_SUM, size - 1, comm);
        break;
    case 1:
        MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
        break;
    case 2:
        MPI_Reduce_scatter_block(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
        break;
    case 3:
        MPI_Scan(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
        break;
    default:
        MPI_Exscan(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
    }
}

static void start(int kind, int count, double *out, MPI_Request *request)
{
    MPI_Comm comm = MPI_COMM_WORLD;

    switch (kind) {
    case 0:
        MPI_Ireduce(in, out, count, MPI_DOUBLE, MPI_SUM, size - 1, comm, request);
        break;
    case 1:
        MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm, request);
        break;
    case 2:
        MPI_Ireduce_scatter_block(in, out, count, MPI_DOUBLE, MPI_SUM, comm, request);
        break;
    case 3:
        MPI_Iscan(in, out, count, MPI_DOUBLE, MPI_SUM, comm, request);
        break;
    default:
        MPI_Iexscan(in, out, count, MPI_DOUBLE, MPI_SUM, comm, request);
    }
}

static void make(int kind, int count, double *out, MPI_Request *request)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Info info = MPI_INFO_NULL;

    switch (kind) {
    case 0:
        MPI_Reduce_init(in, out, count, MPI_DOUBLE, MPI_SUM, size - 1, comm, info,
                        request);
        break;
    case 1:
        MPI_Allreduce_init(in, out, count, MPI_DOUBLE, MPI_SUM, comm, info, request);
        break;
    case 2:
        MPI_Reduce_scatter_block_init(in, out, count, MPI_DOUBLE, MPI_SUM, comm, info,
                                      request);
        break;
    case 3:
        MPI_Scan_init(in, out, count, MPI_DOUBLE, MPI_SUM, comm, info, request);
        break;
    default:
        MPI_Exscan_init(in, out, count, MPI_DOUBLE, MPI_SUM, comm, info, request);
    }
}

static void check_same(int kind, int count)
{
    const size_t bytes = (size_t)result_count(kind, count) * sizeof(double);

    CHECK(memcmp(first, again, bytes) == 0);
    memset(again, 0, sizeof(again));
}

/* All ways to call it, several times. Returns the hash of this rank's result. */
static uint64_t try_kind(int kind, int count)
{
    MPI_Request request;

    fill(count);
    run(kind, count, first);
    for (int i = 0; i < REPEATS; i++) {
        run(kind, count, again);
        check_same(kind, count);
        start(kind, count, again, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_same(kind, count);
    }
    make(kind, count, again, &request);
    for (int i = 0; i < REPEATS; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check_same(kind, count);
    }
    MPI_Request_free(&request);
    return hash_of(UINT64_C(0xcbf29ce484222325), first,
                   (size_t)result_count(kind, count) * sizeof(double));
}

int main(int argc, char **argv)
{
    static const int counts[] = {1, 7, 1000, MOST};
    uint64_t hash = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= 8);
    for (int kind = 0; kind < KINDS; kind++) {
        for (int i = 0; i < (int)(sizeof(counts) / sizeof(counts[0])); i++) {
            uint64_t all[8];
            const uint64_t mine = try_kind(kind, counts[i]);

            MPI_Gather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
            hash = rank == 0 ? hash_of(hash, all, (size_t)size * sizeof(mine)) : 0;
        }
    }
    if (rank == 0) {
        printf("%016" PRIx64 "\n", hash);
    }
    MPI_Finalize();
    return 0;
}
