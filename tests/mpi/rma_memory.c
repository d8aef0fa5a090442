/*
 * rma_memory.c - windows in memory of the program that cannot be used as it was: pages
 * that may not be written. An operation fails with a reason, and the window works on.
 * And memory that the kernel lets others read and write at first, and not later.
 * For two ranks on one node, which reach each other's memory.
 */
#include "rma.h"

#include "../transport/refuse.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCK = 64 };

static int rank;

static char *pages(size_t bytes)
{
    char *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(memory != MAP_FAILED);
    return memory;
}

static MPI_Win make(char *memory, size_t bytes)
{
    MPI_Win win;

    DONE(MPI_Win_create(memory, (MPI_Aint)bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    DONE(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    DONE(MPI_Win_lock_all(0, win));
    return win;
}

static void end(MPI_Win *win, char *memory, size_t bytes)
{
    DONE(MPI_Win_unlock_all(*win));
    DONE(MPI_Win_free(win));
    CHECK(munmap(memory, bytes) == 0);
}

/* A block to rank 1 arrives. */
static void works(MPI_Win win, const char *memory)
{
    const char data[BLOCK] = {42};

    if (rank == 0) {
        DONE(MPI_Put(data, BLOCK, MPI_BYTE, 1, 0, BLOCK, MPI_BYTE, win));
        DONE(MPI_Win_flush(1, win));
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_Win_sync(win));
    CHECK(rank == 0 || memory[0] == 42);
}

/* The second of two pages may not be written. The first of two blocks can be moved, so
 * the kernel says why the second cannot only to a call of its own; what the program has
 * left in errno is no reason. */
static void a_page_that_may_not_be_written(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const char data[2 * BLOCK] = {1};
    char *memory = pages(2 * page);
    MPI_Datatype both;
    MPI_Win win;

    CHECK(rank == 0 || mprotect(memory + page, page, PROT_READ) == 0);
    win = make(memory, 2 * page);
    DONE(MPI_Type_vector(2, BLOCK, (int)page, MPI_BYTE, &both));
    DONE(MPI_Type_commit(&both));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        errno = ESRCH;
        IS_CLASS(MPI_Put(data, 2 * BLOCK, MPI_BYTE, 1, 0, 1, both, win), MPI_ERR_BUFFER);
        DONE(MPI_Win_flush(1, win));
    }
    works(win, memory);
    DONE(MPI_Type_free(&both));
    end(&win, memory, 2 * page);
}

enum { WORDS = 4096 };

/* Operations of all kinds and sizes, in order and without a flush between them; those of
 * one word begin and end here. They add 4 to each word, and one more to the first. Before
 * that each word was greater by `step` than the one before. */
static void add(MPI_Win win, MPI_Datatype pairs, long step)
{
    static long ones[WORDS];
    static long result[WORDS];
    const long zero = 0;
    const long one = 1;
    long old = 0;
    long swapped = 0;
    MPI_Request request;

    for (int i = 0; i < WORDS; i++) {
        ones[i] = 1;
    }
    DONE(MPI_Fetch_and_op(&one, &old, MPI_LONG, 1, 0, MPI_SUM, win));
    DONE(MPI_Accumulate(ones, 8, MPI_LONG, 1, 0, 8, MPI_LONG, MPI_SUM, win));
    DONE(MPI_Accumulate(ones + 8, WORDS - 8, MPI_LONG, 1, 8, WORDS - 8, MPI_LONG, MPI_SUM,
                        win));
    DONE(MPI_Accumulate(ones, 1, pairs, 1, 0, 1, pairs, MPI_SUM, win));
    DONE(MPI_Accumulate(ones, 1, pairs, 1, 1, 1, pairs, MPI_SUM, win));
    DONE(MPI_Raccumulate(ones, WORDS, MPI_LONG, 1, 0, WORDS, MPI_LONG, MPI_SUM, win,
                         &request));
    DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
    DONE(MPI_Get_accumulate(ones, WORDS, MPI_LONG, result, WORDS, MPI_LONG, 1, 0, WORDS,
                            MPI_LONG, MPI_SUM, win));
    DONE(MPI_Win_flush(1, win));
    DONE(MPI_Compare_and_swap(&one, &zero, &swapped, MPI_LONG, 1, WORDS, win));
    DONE(MPI_Win_flush(1, win));
    CHECK(swapped == 0);
    for (int i = 1; i < WORDS; i++) {
        CHECK(result[i] == result[0] - 1 + i * step);
    }
}

/* Puts of all sizes, and the same bytes back. */
static void there_and_back(MPI_Win win, MPI_Datatype pairs, long value)
{
    static long sent[WORDS];
    static long got[WORDS];

    for (int i = 0; i < WORDS; i++) {
        sent[i] = value + i;
    }
    DONE(MPI_Put(sent, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
    DONE(MPI_Put(sent + 1, WORDS - 1, MPI_LONG, 1, 1, WORDS - 1, MPI_LONG, win));
    DONE(MPI_Win_flush(1, win));
    DONE(MPI_Get(got, 1, MPI_LONG, 1, 0, 1, MPI_LONG, win));
    DONE(MPI_Get(got, 1, pairs, 1, 0, 1, pairs, win));
    DONE(MPI_Get(got + 1, 1, pairs, 1, 1, 1, pairs, win));
    DONE(MPI_Win_flush_all(win));
    CHECK(memcmp(sent, got, sizeof(sent)) == 0);
}

static void operate(MPI_Win win, MPI_Datatype pairs, long value)
{
    if (rank == 0) {
        there_and_back(win, pairs, value);
        add(win, pairs, 1);
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

/* Rank 0 uses some windows, loses the right, and goes on by messages in the same epoch:
 * each window begins with another operation. The rights never come back. */
static void rights_that_are_lost(void)
{
    static const unsigned calls[] = {SYS_process_vm_readv, SYS_process_vm_writev};
    static long memory[2][WORDS + 1];
    MPI_Datatype pairs;
    MPI_Win wins[2];

    DONE(MPI_Type_vector(WORDS / 2, 1, 2, MPI_LONG, &pairs));
    DONE(MPI_Type_commit(&pairs));
    for (int i = 0; i < 2; i++) {
        DONE(MPI_Win_create(memory[i], sizeof(memory[i]), sizeof(long), MPI_INFO_NULL,
                            MPI_COMM_WORLD, &wins[i]));
        DONE(MPI_Win_lock_all(0, wins[i]));
        operate(wins[i], pairs, 10);
        memset(memory[i], 0, sizeof(memory[i]));
        DONE(MPI_Barrier(MPI_COMM_WORLD));
    }
    CHECK(rank != 0 || refuse(calls, 2) == 0);
    operate(wins[0], pairs, 20);
    if (rank == 0) {
        add(wins[1], pairs, 0);
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    for (int i = 0; i < 2; i++) {
        DONE(MPI_Win_unlock_all(wins[i]));
        DONE(MPI_Win_free(&wins[i]));
    }
    for (int i = 0; i < WORDS && rank == 1; i++) {
        CHECK(memory[0][i] == 20 + i + 4 + (i == 0));
        CHECK(memory[1][i] == 4 + (i == 0));
    }
    CHECK(rank == 0 || (memory[0][WORDS] == 1 && memory[1][WORDS] == 1));
    DONE(MPI_Type_free(&pairs));
}

int main(int argc, char **argv)
{
    DONE(MPI_Init(&argc, &argv));
    DONE(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    a_page_that_may_not_be_written();
    rights_that_are_lost();
    DONE(MPI_Finalize());
    return 0;
}
