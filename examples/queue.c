/*
 * queue.c - a queue in the memory of rank 0 that all ranks fill and empty one-sidedly.
 *
 * MPI_Fetch_and_op on a counter gives each push and each pop a ticket, which names a slot
 * and a round of the queue. The word `turn` of a slot says whose access is next: twice
 * the round for the push, one more for the pop. A rank waits until it is its turn, puts
 * or gets the value, and advances the word. Rank 0 takes no part in the accesses of
 * others. The queue is bounded: a push waits while all slots are full. The program works
 * with any number of ranks.
 *
 *     mpicc queue.c -o queue
 *     mpiexec -n 4 ./queue [VALUES]
 *
 * Each rank pushes VALUES values and pops as many. Rank 0 prints the sum of those popped:
 *
 *     4 ranks, 400 values: sum 80200, expected 80200
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOME = 0, SLOTS = 8 };

/* Positions of words in the window of rank 0: two counters, then two words for each slot.
 */
enum { PUSHED, POPPED, TURNS, VALUES = TURNS + SLOTS, WORDS = VALUES + SLOTS };

static MPI_Win create_queue(MPI_Comm comm)
{
    MPI_Aint bytes = 0;
    MPI_Win queue;
    int64_t *words;
    int rank;

    MPI_Comm_rank(comm, &rank);
    if (rank == HOME) {
        bytes = WORDS * sizeof(*words);
    }
    MPI_Win_allocate(bytes, sizeof(*words), MPI_INFO_NULL, comm, &words, &queue);
    MPI_Win_lock_all(0, queue);
    for (int i = 0; rank == HOME && i < WORDS; i++) {
        words[i] = 0;
    }
    MPI_Win_sync(queue); /* the initial values are visible to one-sided operations */
    MPI_Barrier(comm);
    return queue;
}

static void free_queue(MPI_Win *queue)
{
    MPI_Win_unlock_all(*queue);
    MPI_Win_free(queue);
}

/* Applies an atomic operation to a word of rank 0, and returns the value before it. */
static int64_t fetch_and(MPI_Op op, MPI_Win queue, int64_t value, MPI_Aint word)
{
    int64_t before;

    MPI_Fetch_and_op(&value, &before, MPI_INT64_T, HOME, word, op, queue);
    MPI_Win_flush(HOME, queue);
    return before;
}

/* Waits until the word `turn` of a slot has this value. */
static void await_turn(MPI_Win queue, MPI_Aint slot, int64_t turn)
{
    while (fetch_and(MPI_NO_OP, queue, 0, TURNS + slot) != turn) {
    }
}

static void push(MPI_Win queue, int64_t value)
{
    const int64_t ticket = fetch_and(MPI_SUM, queue, 1, PUSHED);
    const MPI_Aint slot = (MPI_Aint)(ticket % SLOTS);

    await_turn(queue, slot, 2 * (ticket / SLOTS));
    MPI_Put(&value, 1, MPI_INT64_T, HOME, VALUES + slot, 1, MPI_INT64_T, queue);
    MPI_Win_flush(HOME, queue); /* the value is there before the pop may read it */
    fetch_and(MPI_SUM, queue, 1, TURNS + slot);
}

static int64_t pop(MPI_Win queue)
{
    const int64_t ticket = fetch_and(MPI_SUM, queue, 1, POPPED);
    const MPI_Aint slot = (MPI_Aint)(ticket % SLOTS);
    int64_t value;

    await_turn(queue, slot, 2 * (ticket / SLOTS) + 1);
    MPI_Get(&value, 1, MPI_INT64_T, HOME, VALUES + slot, 1, MPI_INT64_T, queue);
    MPI_Win_flush(HOME,
                  queue); /* the value is here before the next push may replace it */
    fetch_and(MPI_SUM, queue, 1, TURNS + slot);
    return value;
}

int main(int argc, char **argv)
{
    const int64_t values = argc > 1 ? atoi(argv[1]) : 100;
    int64_t sum = 0;
    int64_t expected;
    MPI_Win queue;
    int rank;
    int size;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    queue = create_queue(MPI_COMM_WORLD);
    for (int64_t i = 1; i <= values; i++) {
        push(queue, rank * values + i);
        sum += pop(queue);
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    expected = size * values * (size * values + 1) / 2;
    if (rank == 0) {
        printf("%d ranks, %" PRId64 " values: sum %" PRId64 ", expected %" PRId64 "\n",
               size, size * values, sum, expected);
    }
    free_queue(&queue);
    MPI_Finalize();
    return sum != expected;
}
