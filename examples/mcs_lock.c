/*
 * mcs_lock.c - a fair lock among all ranks, after Mellor-Crummey and Scott (1991).
 *
 * Rank 0 keeps the tail of a queue. Who wants the lock puts itself there by one atomic
 * exchange, tells the rank that was there before where to find it, and waits on a word of
 * its own memory; nobody polls the memory of another. Who leaves hands the lock to the
 * next in the queue. The lock protects a counter, which is read and written without any
 * atomic operation, so that the sum shows whether two were ever inside.
 *
 *     mpicc mcs_lock.c -o mcs_lock && mpiexec -n 4 ./mcs_lock [ROUNDS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { NOBODY = -1, HOME = 0 };

enum { TAIL, NEXT, BLOCKED, COUNTER, WORDS }; /* of every rank; two are rank 0's alone */

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

/* Stores a word and returns what was there. */
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
            return; /* nobody has come */
        }
        while ((next = load(lock, lock->rank, NEXT)) == NOBODY) {
        }
    }
    exchange(lock, next, BLOCKED, 0);
}

/* What the lock protects. */
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
        printf("%d ranks, %d rounds each: the counter is %d\n", size, rounds, sum);
    }
    destroy(&lock);
    MPI_Finalize();
    return sum == rounds * size ? 0 : 1;
}
