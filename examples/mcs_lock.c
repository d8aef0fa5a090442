/*
 * mcs_lock.c - a fair lock among all ranks, after Mellor-Crummey and Scott (1991).
 *
 * Rank 0 keeps the tail of a queue of ranks. A rank that wants the lock replaces the tail
 * by its own number in one atomic exchange, writes its number to the rank that was the
 * tail before, and polls a word of its own memory. A rank that releases the lock clears
 * this word of the next rank in the queue. The lock protects a counter that is read and
 * written without atomic operations: its final value shows whether two ranks ever held
 * the lock at once. The program works with any number of ranks.
 *
 *     mpicc mcs_lock.c -o mcs_lock
 *     mpiexec -n 4 ./mcs_lock [ROUNDS]
 *
 * Rank 0 prints the counter, which must be the product of ranks and rounds:
 *
 *     4 ranks, 200 rounds each: the counter is 800, expected 800
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { NOBODY = -1, HOME = 0 };

enum { TAIL, NEXT, BLOCKED, COUNTER, WORDS }; /* rank 0 alone uses TAIL and COUNTER */

struct lock {
    MPI_Win win;
    int rank;
};

static void create(struct lock *lock, MPI_Comm comm)
{
    int *words;

    MPI_Comm_rank(comm, &lock->rank);
    MPI_Win_allocate(WORDS * sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &words,
                     &lock->win);
    MPI_Win_lock_all(0, lock->win);
    words[TAIL] = NOBODY;
    words[NEXT] = NOBODY;
    words[BLOCKED] = 0;
    words[COUNTER] = 0;
    MPI_Win_sync(lock->win);
    MPI_Barrier(comm);
}

static void destroy(struct lock *lock)
{
    MPI_Win_unlock_all(lock->win);
    MPI_Win_free(&lock->win);
}

/* Stores a word and returns the value before it. */
static int exchange(struct lock *lock, int target, int word, int value)
{
    int before;

    MPI_Fetch_and_op(&value, &before, MPI_INT, target, word, MPI_REPLACE, lock->win);
    MPI_Win_flush(target, lock->win);
    return before;
}

static int load(struct lock *lock, int target, int word)
{
    int value;

    MPI_Fetch_and_op(NULL, &value, MPI_INT, target, word, MPI_NO_OP, lock->win);
    MPI_Win_flush(target, lock->win);
    return value;
}

static void acquire(struct lock *lock)
{
    int before;

    exchange(lock, lock->rank, NEXT, NOBODY);
    exchange(lock, lock->rank, BLOCKED, 1);
    before = exchange(lock, HOME, TAIL, lock->rank);
    if (before != NOBODY) {
        exchange(lock, before, NEXT, lock->rank);
        while (load(lock, lock->rank, BLOCKED)) {
        }
    }
}

static void release(struct lock *lock)
{
    int next = load(lock, lock->rank, NEXT);

    if (next == NOBODY) {
        const int nobody = NOBODY;
        int tail;

        MPI_Compare_and_swap(&nobody, &lock->rank, &tail, MPI_INT, HOME, TAIL, lock->win);
        MPI_Win_flush(HOME, lock->win);
        if (tail == lock->rank) {
            return; /* no other rank waits */
        }
        while ((next = load(lock, lock->rank, NEXT)) == NOBODY) {
        }
    }
    exchange(lock, next, BLOCKED, 0);
}

/* Adds 1 to the counter; the caller holds the lock. */
static void raise_counter(struct lock *lock)
{
    int value;

    MPI_Get(&value, 1, MPI_INT, HOME, COUNTER, 1, MPI_INT, lock->win);
    MPI_Win_flush(HOME, lock->win);
    value++;
    MPI_Put(&value, 1, MPI_INT, HOME, COUNTER, 1, MPI_INT, lock->win);
    MPI_Win_flush(HOME, lock->win);
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 200;
    struct lock lock;
    int size;
    int sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    create(&lock, MPI_COMM_WORLD);
    for (int i = 0; i < rounds; i++) {
        acquire(&lock);
        raise_counter(&lock);
        release(&lock);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    sum = load(&lock, HOME, COUNTER);
    if (lock.rank == HOME) {
        printf("%d ranks, %d rounds each: the counter is %d, expected %d\n", size, rounds,
               sum, rounds * size);
    }
    destroy(&lock);
    MPI_Finalize();
    return sum == rounds * size ? 0 : 1;
}
