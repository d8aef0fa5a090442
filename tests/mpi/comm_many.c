/*
 * comm_many.c - chapter 7: ten thousand duplicates after each other, two thousand at
 * once, and what they cost. With an argument nothing is said about memory, where a
 * sanitizer keeps its own.
 */
#include "comm.h"

#include <limits.h>
#include <malloc.h>

enum { CYCLES = 10000, LIVE = 2000, BYTES_EACH = 256, AGAIN = 10, POOLS = 64 * 1024 };

static int rank;
static int is_measured;

static long in_use(void)
{
    struct mallinfo2 info = mallinfo2();

    return (long)(info.uordblks + info.hblkhd);
}

static void check_growth(long before, long most)
{
    const long grown = in_use() - before;

    if (is_measured && grown >= most) {
        fprintf(stderr, "rank %d: grown by %ld bytes\n", rank, grown);
        CHECK(grown < most);
    }
}

static void one_after_the_other(int count)
{
    for (int i = 0; i < count; i++) {
        MPI_Comm dup;

        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &dup) == MPI_SUCCESS);
        free_comm(&dup);
    }
}

static void live_at_once(MPI_Comm *comms)
{
    for (int i = 0; i < LIVE; i++) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]) == MPI_SUCCESS);
    }
    for (int i = 0; i < LIVE; i += 500) {
        use_comm(comms[i], i);
    }
}

static void free_all(MPI_Comm *comms)
{
    for (int i = 0; i < LIVE; i++) {
        free_comm(&comms[i]);
    }
    /* What is owed by others has come when all have said so. */
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    one_after_the_other(10);
}

/*
 * Pools stay as large as they once had to be, which the speed of others decides: a round
 * may set a new mark. What is lost is lost in every round.
 */
static void check_rounds(MPI_Comm *comms)
{
    long least = LONG_MAX;

    for (int i = 0; i < AGAIN; i++) {
        const long before = in_use();
        long grown;

        live_at_once(comms);
        free_all(comms);
        grown = in_use() - before;
        least = grown < least ? grown : least;
    }
    if (is_measured && least >= LIVE) {
        fprintf(stderr, "rank %d: every round grew by %ld bytes or more\n", rank, least);
        CHECK(least < LIVE);
    }
}

int main(int argc, char **argv)
{
    static MPI_Comm comms[LIVE];
    long before;

    is_measured = argc < 2;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    one_after_the_other(1000);
    before = in_use();
    one_after_the_other(CYCLES);
    check_growth(before, POOLS); /* a leak of 7 bytes in each cycle is more */
    before = in_use();
    live_at_once(comms);
    check_growth(before, 3 * LIVE * BYTES_EACH); /* pools double */
    free_all(comms);
    check_rounds(comms);
    return MPI_Finalize();
}
