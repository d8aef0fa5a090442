/*
 * ring.h - one writer, one reader, in shared memory: the carrier below shm and sim.
 *
 * A ring has cells of one cache line. A cell holds its turn, a length and up to 48 bytes,
 * or points at the chunk beside it for more. The writer fills the cell and stores the
 * turn with release order; the reader loads it with acquire order before it looks. Zeroed
 * memory is an empty ring. `taken` tells the writer how many cells may be used again; it
 * is read only when the ring looks full, so a short message costs one line. Nothing here
 * waits, locks or allocates, but the opening and closing of the memory.
 */
#ifndef GAUGE_RING_H
#define GAUGE_RING_H

#include "gauge/module.h"

#include <stdatomic.h>

enum { RING_CELLS = 16, RING_INLINE = 48, RING_CHUNK = 16384 };

struct ring_cell {
    _Alignas(64) _Atomic uint32_t turn; /* from 1 */
    uint32_t length;
    uint64_t note; /* for whoever uses the ring */
    unsigned char bytes[RING_INLINE];
};
_Static_assert(sizeof(struct ring_cell) == 64, "a cell is one cache line");

struct ring {
    struct ring_cell cell[RING_CELLS];
    _Alignas(64) _Atomic uint32_t taken;
    _Alignas(4096) unsigned char chunk[RING_CELLS][RING_CHUNK];
};

/* A process's place in a ring, as writer or as reader. */
struct ring_end {
    struct ring *ring;
    uint32_t turn;  /* the next one, counted from 0 */
    uint32_t taken; /* the writer's last look at it */
};

/* Writes at most RING_CHUNK bytes; false when the ring is full. */
bool ring_put(struct ring_end *end, const void *bytes, size_t length, uint64_t note);
/* The oldest cell not yet taken, or NULL; its bytes are at ring_bytes(). */
struct ring_cell *ring_look(const struct ring_end *end);
const void *ring_bytes(const struct ring_end *end, const struct ring_cell *cell);
void ring_take(struct ring_end *end);

/* The memory that all ends of a run share, with a ring for every ordered pair. */
struct ring_memory {
    void *base;
    size_t size;
    struct ring_end *out; /* to each end */
    struct ring_end *in;  /* from each end */
};

enum gauge_rc ring_open(struct ring_memory *memory, const struct gauge_world *world,
                        const char *who);
void ring_close(struct ring_memory *memory);

/* Between two looks at a ring that had nothing: the processor rests, and after a while
 * goes to whoever else wants it. */
void ring_pause(unsigned *looks);

#endif
