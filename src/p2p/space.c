#include "p2p/space.h"

#include "mpi.h"

#include <assert.h>

enum { ALIGNMENT = 16 };

/* In front of what was taken. */
struct weft_block {
    struct weft_block *before; /* by address */
    struct weft_block *after;
    char *end;
    uint64_t reserved; /* so that what follows is aligned */
};

_Static_assert(sizeof(struct weft_block) % ALIGNMENT == 0, "what follows is aligned");
_Static_assert(sizeof(struct weft_block) + 2 * ALIGNMENT <= WEFT_SPACE_OVERHEAD,
               "a block, rounded up, in memory that begins anywhere");
_Static_assert((int)WEFT_SPACE_OVERHEAD <= MPI_BSEND_OVERHEAD, "as the user was told");

static size_t to_alignment(uintptr_t address)
{
    return (size_t)(-address & (ALIGNMENT - 1));
}

void weft_space_init(struct weft_space *space, void *memory, size_t size)
{
    const size_t lost = to_alignment((uintptr_t)memory);
    char *begin = memory;

    *space = (struct weft_space){
        .begin = size > lost ? begin + lost : begin,
        .end = size > lost ? begin + size : begin,
    };
    space->cursor = space->begin;
}

/* From `from` to the next block after `behind`, or to the end. */
static size_t room(const struct weft_space *space, const struct weft_block *behind,
                   const char *from)
{
    const struct weft_block *next = behind != NULL ? behind->after : space->first;
    const char *to = next != NULL ? (const char *)next : space->end;

    return (size_t)(to - from);
}

static void *place(struct weft_space *space, struct weft_block *behind, char *at,
                   size_t bytes)
{
    struct weft_block *block = (struct weft_block *)(void *)at;
    struct weft_block *after = behind != NULL ? behind->after : space->first;

    *block = (struct weft_block){.before = behind, .after = after, .end = at + bytes};
    if (behind != NULL) {
        behind->after = block;
    } else {
        space->first = block;
    }
    if (after != NULL) {
        after->before = block;
    }
    space->behind = block;
    space->cursor = block->end;
    return block + 1;
}

void *weft_space_take(struct weft_space *space, size_t bytes)
{
    const size_t all = (size_t)(space->end - space->begin);
    struct weft_block *behind = NULL;
    char *at = space->begin;

    if (all < sizeof(*behind) || bytes > all - sizeof(*behind)) {
        return NULL;
    }
    bytes += sizeof(*behind);
    bytes += to_alignment(bytes);
    if (bytes > all) {
        return NULL;
    }
    if (room(space, space->behind, space->cursor) >= bytes) {
        return place(space, space->behind, space->cursor, bytes);
    }
    /* The beginning, and if that is not free, any gap. */
    while (room(space, behind, at) < bytes) {
        behind = behind != NULL ? behind->after : space->first;
        if (behind == NULL) {
            return NULL;
        }
        at = behind->end;
    }
    return place(space, behind, at, bytes);
}

void weft_space_give(struct weft_space *space, void *taken)
{
    struct weft_block *block = (struct weft_block *)taken - 1;

    assert((char *)block >= space->begin && block->end <= space->end);
    if (block->before != NULL) {
        block->before->after = block->after;
    } else {
        space->first = block->after;
    }
    if (block->after != NULL) {
        block->after->before = block->before;
    }
    if (space->behind == block) {
        space->behind = block->before;
    }
    if (space->first == NULL) {
        space->cursor = space->begin;
    }
}
