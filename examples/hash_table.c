/*
 * hash_table.c - a hash table in the memory of all ranks, accessed one-sidedly.
 *
 * Each rank holds a part of the slots. A rank stores a key by MPI_Compare_and_swap into
 * the first free slot from the hash value of the key on, and adds to its count by
 * MPI_Fetch_and_op. The rank that holds the slot takes no part in the access. Every rank
 * counts the same words in another order; then every rank looks up all words and compares
 * their counts with the known ones. The program works with any number of ranks.
 *
 *     mpicc hash_table.c -o hash_table
 *     mpiexec -n 4 ./hash_table [WORDS]
 *
 * WORDS is the number of different words; it must not be a multiple of 7. Rank 0 prints
 * how many counts differ from the known ones, on all ranks together:
 *
 *     500 words, 4 ranks: 0 counts are wrong
 */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { FREE = 0 }; /* the key of a free slot; no word has it */

struct slot {
    int64_t key;
    int64_t count;
};

struct table {
    MPI_Win win;
    int size;      /* number of ranks */
    int64_t slots; /* slots of each rank */
};

static void create(struct table *table, int64_t slots, MPI_Comm comm)
{
    struct slot *own;

    MPI_Comm_size(comm, &table->size);
    table->slots = slots;
    MPI_Win_allocate((MPI_Aint)(slots * (int64_t)sizeof(*own)), sizeof(int64_t),
                     MPI_INFO_NULL, comm, &own, &table->win);
    MPI_Win_lock_all(0, table->win);
    for (int64_t i = 0; i < slots; i++) {
        own[i] = (struct slot){FREE, 0};
    }
    MPI_Win_sync(table->win);
    MPI_Barrier(comm);
}

static void destroy(struct table *table)
{
    MPI_Win_unlock_all(table->win);
    MPI_Win_free(&table->win);
}

static uint64_t hash(int64_t key)
{
    uint64_t x = (uint64_t)key * 0x9e3779b97f4a7c15u;

    return x ^ x >> 29;
}

/* Returns the rank of a slot and sets the place of its key, which its count follows. */
static int rank_of(const struct table *table, uint64_t slot, MPI_Aint *place)
{
    slot %= (uint64_t)table->slots * (uint64_t)table->size;
    *place = (MPI_Aint)(2 * (slot / (uint64_t)table->size));
    return (int)(slot % (uint64_t)table->size);
}

/* Finds the slot of a key, or takes a free slot for it. */
static int find(struct table *table, int64_t key, MPI_Aint *place)
{
    const int64_t nothing = FREE;

    for (uint64_t slot = hash(key);; slot++) {
        const int rank = rank_of(table, slot, place);
        int64_t found;

        MPI_Compare_and_swap(&key, &nothing, &found, MPI_INT64_T, rank, *place,
                             table->win);
        MPI_Win_flush(rank, table->win);
        if (found == FREE || found == key) {
            return rank;
        }
    }
}

/* Adds to the count of a key, and returns the count before it. */
static int64_t add(struct table *table, int64_t key, int64_t count)
{
    MPI_Aint place;
    const int rank = find(table, key, &place);
    int64_t before;

    MPI_Fetch_and_op(&count, &before, MPI_INT64_T, rank, place + 1, MPI_SUM, table->win);
    MPI_Win_flush(rank, table->win);
    return before;
}

int main(int argc, char **argv)
{
    const int64_t words = argc > 1 ? atoi(argv[1]) : 500;
    struct table table;
    int rank;
    int wrong = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    create(&table, 2 * words, MPI_COMM_WORLD);
    for (int64_t i = 0; i < words; i++) { /* word k occurs k % 3 + 1 times on each rank */
        const int64_t k = (i * 7 + rank * 31) % words;

        add(&table, 1000 + k, k % 3 + 1);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int64_t k = 0; k < words; k++) {
        wrong += add(&table, 1000 + k, 0) != (k % 3 + 1) * table.size;
    }
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("%" PRId64 " words, %d ranks: %d counts are wrong\n", words, table.size,
               wrong);
    }
    destroy(&table);
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
