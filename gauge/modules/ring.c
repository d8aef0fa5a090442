/*
 * ring.c - see ring.h.
 */
#include "gauge/modules/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LOOKS_BEFORE_YIELD = 2000, NAME = 64 };

bool ring_put(struct ring_end *end, const void *bytes, size_t length, uint64_t note)
{
    struct ring_cell *cell = &end->ring->cell[end->turn % RING_CELLS];

    if (end->turn - end->taken == RING_CELLS) {
        /* Pairs with the release in ring_take: the reader is done with the cell. */
        end->taken = atomic_load_explicit(&end->ring->taken, memory_order_acquire);
        if (end->turn - end->taken == RING_CELLS) {
            return false;
        }
    }
    if (length > RING_INLINE) {
        memcpy(end->ring->chunk[end->turn % RING_CELLS], bytes, length);
    } else if (length > 0) {
        memcpy(cell->bytes, bytes, length);
    }
    cell->length = (uint32_t)length;
    cell->note = note;
    end->turn++;
    /* Pairs with the acquire in ring_look. */
    atomic_store_explicit(&cell->turn, end->turn, memory_order_release);
    return true;
}

struct ring_cell *ring_look(const struct ring_end *end)
{
    struct ring_cell *cell = &end->ring->cell[end->turn % RING_CELLS];
    uint32_t turn = atomic_load_explicit(&cell->turn, memory_order_acquire);

    return turn == end->turn + 1 ? cell : NULL;
}

const void *ring_bytes(const struct ring_end *end, const struct ring_cell *cell)
{
    return cell->length > RING_INLINE ? end->ring->chunk[end->turn % RING_CELLS]
                                      : cell->bytes;
}

void ring_take(struct ring_end *end)
{
    end->turn++;
    atomic_store_explicit(&end->ring->taken, end->turn, memory_order_release);
}

void ring_pause(unsigned *looks)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
    if (++*looks % LOOKS_BEFORE_YIELD == 0) {
        sched_yield();
    }
}

static enum gauge_rc map(struct ring_memory *memory, int fd, const char *who)
{
    memory->base = mmap(NULL, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (memory->base == MAP_FAILED) {
        memory->base = NULL;
        return gauge_fail("%s: cannot map %zu bytes: %s", who, memory->size,
                          strerror(errno));
    }
    return GAUGE_OK;
}

/* End 0 makes it, the others open it by the name they are told. */
static enum gauge_rc map_by_name(struct ring_memory *memory,
                                 const struct gauge_world *world, const char *who,
                                 const char *name)
{
    int fd = shm_open(name, O_RDWR | (world->end == 0 ? O_CREAT | O_EXCL : 0), 0600);

    if (fd < 0) {
        return gauge_fail("%s: cannot open shared memory %s: %s", who, name,
                          strerror(errno));
    }
    if (world->end == 0 && ftruncate(fd, (off_t)memory->size) != 0) {
        close(fd);
        return gauge_fail("%s: no shared memory of %zu bytes: %s", who, memory->size,
                          strerror(errno));
    }
    return map(memory, fd, who);
}

static struct ring *ring_at(const struct ring_memory *memory, int ends, int from, int to)
{
    return (struct ring *)memory->base + (size_t)from * (size_t)ends + (size_t)to;
}

/* All ends take part in both meetings, also when one has failed: then all fail. */
static enum gauge_rc open_together(struct ring_memory *memory,
                                   const struct gauge_world *world, const char *who)
{
    char(*names)[NAME] = calloc((size_t)world->ends, sizeof(*names));
    char name[NAME] = "";
    enum gauge_rc rc = GAUGE_OK;

    if (names == NULL) {
        return gauge_fail("%s: no memory", who);
    }
    if (world->end == 0) {
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        snprintf(name, sizeof(name), "/weft-gauge-%d-%lx", (int)getpid(), now.tv_nsec);
        rc = map_by_name(memory, world, who, name);
    }
    if (world->exchange(world, name, NAME, names) != GAUGE_OK) {
        rc = GAUGE_FAILED;
    } else if (world->end != 0) {
        rc = map_by_name(memory, world, who, names[0]);
    }
    if (world->barrier(world) != GAUGE_OK) {
        rc = GAUGE_FAILED;
    }
    if (world->end == 0) {
        shm_unlink(name);
    }
    free(names);
    return rc;
}

enum gauge_rc ring_open(struct ring_memory *memory, const struct gauge_world *world,
                        const char *who)
{
    size_t ends = (size_t)world->ends;

    *memory = (struct ring_memory){.size = ends * ends * sizeof(struct ring)};
    memory->out = calloc(ends, sizeof(*memory->out));
    memory->in = calloc(ends, sizeof(*memory->in));
    if (memory->out == NULL || memory->in == NULL) {
        ring_close(memory);
        return gauge_fail("%s: no memory for %zu ends", who, ends);
    }
    if (open_together(memory, world, who) != GAUGE_OK) {
        ring_close(memory);
        return GAUGE_FAILED;
    }
    for (int i = 0; i < world->ends; i++) {
        memory->out[i].ring = ring_at(memory, world->ends, world->end, i);
        memory->in[i].ring = ring_at(memory, world->ends, i, world->end);
    }
    return GAUGE_OK;
}

void ring_close(struct ring_memory *memory)
{
    if (memory->base != NULL) {
        munmap(memory->base, memory->size);
    }
    free(memory->out);
    free(memory->in);
    *memory = (struct ring_memory){0};
}
