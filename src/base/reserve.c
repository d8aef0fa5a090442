#include "base/reserve.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(WEFT_RESERVE_CELL) uint8_t cells[WEFT_RESERVE_CELLS][WEFT_RESERVE_CELL];
static uint8_t taken[WEFT_RESERVE_CELLS]; /* cells of the object that begins here */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

_Static_assert(WEFT_RESERVE_MOST <= UINT8_MAX, "the number of cells of an object");

/* The first place with so many free cells in a row, or -1. */
static int find_place(size_t count)
{
    size_t at = 0;
    size_t row = 0;

    while (at < WEFT_RESERVE_CELLS && row < count) {
        if (taken[at] != 0) {
            at += taken[at];
            row = 0;
        } else {
            at++;
            row++;
        }
    }
    return row == count ? (int)(at - count) : -1;
}

static void *take_cells(size_t bytes)
{
    const size_t count = bytes / WEFT_RESERVE_CELL + (bytes % WEFT_RESERVE_CELL != 0);
    int place;

    if (count > WEFT_RESERVE_MOST || count == 0) {
        return NULL;
    }
    pthread_mutex_lock(&mutex);
    place = find_place(count);
    if (place >= 0) {
        taken[place] = (uint8_t)count;
    }
    pthread_mutex_unlock(&mutex);
    return place >= 0 ? cells[place] : NULL;
}

void *weft_reserve_take(size_t bytes)
{
    void *memory = malloc(bytes);

    return memory != NULL ? memory : take_cells(bytes);
}

void *weft_reserve_take_zeroed(size_t bytes)
{
    void *memory = calloc(1, bytes);

    if (memory == NULL) {
        memory = take_cells(bytes);
        if (memory != NULL) {
            memset(memory, 0, bytes);
        }
    }
    return memory;
}

void weft_reserve_give(void *memory)
{
    const uintptr_t first = (uintptr_t)cells;
    const uintptr_t at = (uintptr_t)memory;

    if (at < first || at >= first + sizeof(cells)) {
        free(memory);
        return;
    }
    pthread_mutex_lock(&mutex);
    taken[(at - first) / WEFT_RESERVE_CELL] = 0;
    pthread_mutex_unlock(&mutex);
}
