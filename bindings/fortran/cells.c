/*
 * cells.c - attribute values that Fortran has set.
 *
 * C sees such a value as a pointer to an integer of the size of an address, so each lives
 * in a cell of its own, made when it is set and freed by the callback that deletes it. A
 * pointer that C has set is no cell; Fortran sees the pointer itself as the value.
 */
#include "fortran.h"

#include <pthread.h>
#include <stdlib.h>

enum { BUCKETS = 64 };

struct cell {
    MPI_Aint value; /* first: C's pointer is that of the cell */
    struct cell *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cell *buckets[BUCKETS];

static struct cell **bucket_of(const void *address)
{
    return &buckets[((uintptr_t)address >> 5) % BUCKETS];
}

/* The link to the cell at `address`, or to NULL; with the mutex. */
static struct cell **find(const void *address)
{
    struct cell **link = bucket_of(address);

    while (*link != NULL && (const void *)*link != address) {
        link = &(*link)->next;
    }
    return link;
}

MPI_Aint *weft_cell_make(MPI_Aint value)
{
    struct cell *cell = malloc(sizeof(*cell));

    if (cell == NULL) {
        return NULL;
    }
    cell->value = value;
    pthread_mutex_lock(&lock);
    cell->next = *bucket_of(cell);
    *bucket_of(cell) = cell;
    pthread_mutex_unlock(&lock);
    return &cell->value;
}

bool weft_cell_read(const void *address, MPI_Aint *value)
{
    struct cell *cell;

    pthread_mutex_lock(&lock);
    cell = *find(address);
    if (cell != NULL) {
        *value = cell->value;
    }
    pthread_mutex_unlock(&lock);
    return cell != NULL;
}

void weft_cell_free(void *address)
{
    struct cell **link;
    struct cell *cell;

    pthread_mutex_lock(&lock);
    link = find(address);
    cell = *link;
    if (cell != NULL) {
        *link = cell->next;
    }
    pthread_mutex_unlock(&lock);
    free(cell);
}
