/*
 * lasting.h - memory of the program whose life the library knows: MPI_Alloc_mem's until
 * MPI_Free_mem, a window's until the window is freed, a partitioned message's from its
 * start to its completion. Only of such memory a transport may keep a registration longer
 * than an operation takes: of any other memory nobody says when it is unmapped.
 *
 * Ranges may overlap: a window can be made of allocated memory. Each has an owner, who
 * takes it back. Short ranges are not noted, nor are further ones once there are
 * WEFT_LASTING_MOST: that memory is registered for each operation, as any other.
 *
 * All functions are called with the library's lock held. Nothing here registers anything.
 */
#ifndef WEFT_TRANSPORT_LASTING_H
#define WEFT_TRANSPORT_LASTING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_LASTING_LEAST = 4096 + 1, /* bytes: what is shorter is copied, not registered */
    WEFT_LASTING_MOST = 4096,      /* ranges */
};

struct weft_lasting_range {
    uintptr_t base;
    size_t bytes;
};

/* Whoever keeps registrations is told of ranges that end, before the memory goes. The
 * caller owns the struct. */
struct weft_lasting_watch {
    void (*gone)(struct weft_lasting_watch *watch,
                 const struct weft_lasting_range *range);
    struct weft_lasting_watch *next;
};

/* The memory stays mapped until the same owner removes it; `owner` is only compared. */
void weft_lasting_add(const void *base, size_t bytes, const void *owner);

/* Tells all watches. Does nothing if the owner has noted no range that begins there. */
void weft_lasting_remove(const void *base, const void *owner);

/* A range in which all of these bytes lie. False: there is none. */
bool weft_lasting_find(const void *at, size_t bytes, struct weft_lasting_range *range);

void weft_lasting_watch(struct weft_lasting_watch *watch);
void weft_lasting_unwatch(struct weft_lasting_watch *watch);

#endif
