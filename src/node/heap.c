/*
 * heap.c - a list of free pieces, lowest first, in private memory: what nobody has
 * touched needs no place in the segment. The first piece that is large enough is taken;
 * neighbours that are free become one again.
 */
#include "node/heap.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

struct weft_free {
    struct weft_free *next;
    struct weft_extent extent;
};

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + WEFT_NODE_PAGE - 1) / WEFT_NODE_PAGE * WEFT_NODE_PAGE;
}

/* The range that our slot has. */
static struct weft_extent own_range(const struct weft_node *node)
{
    const struct weft_segment *segment = &node->job->segment;
    const uint64_t bytes = segment->heap_bytes / segment->slot_count;

    return (struct weft_extent){
        .at = segment->heap_at + bytes * (uint64_t)node->job->who.local_rank,
        .bytes = bytes,
    };
}

static bool is_in_heap(const struct weft_segment *segment, struct weft_extent extent)
{
    return extent.bytes > 0 && extent.at % WEFT_NODE_PAGE == 0 &&
           extent.bytes % WEFT_NODE_PAGE == 0 && extent.at >= segment->heap_at &&
           extent.bytes <= segment->heap_bytes &&
           extent.at - segment->heap_at <= segment->heap_bytes - extent.bytes;
}

/* At first all of our range is one free piece. */
static bool begin(struct weft_node *node)
{
    struct weft_free *all;

    if (node->is_heap_open) {
        return true;
    }
    all = malloc(sizeof(*all));
    if (all == NULL) {
        return false;
    }
    *all = (struct weft_free){NULL, own_range(node)};
    node->heap_free = all;
    node->is_heap_open = true;
    return true;
}

/* Takes the first piece that is large enough out of the list. */
static bool cut_off(struct weft_node *node, uint64_t wanted, struct weft_extent *out)
{
    for (struct weft_free **at = &node->heap_free; *at != NULL; at = &(*at)->next) {
        struct weft_free *piece = *at;

        if (piece->extent.bytes < wanted) {
            continue;
        }
        *out = (struct weft_extent){piece->extent.at, wanted};
        piece->extent.at += wanted;
        piece->extent.bytes -= wanted;
        if (piece->extent.bytes == 0) {
            *at = piece->next;
            free(piece);
        }
        return true;
    }
    return false;
}

/* Is `behind` what follows `piece` without a gap? */
static bool is_next_to(const struct weft_free *piece, uint64_t behind)
{
    return piece->extent.at + piece->extent.bytes == behind;
}

/* Makes one of a piece and the one behind it, if they touch. */
static void join(struct weft_free *piece)
{
    struct weft_free *next = piece->next;

    if (next != NULL && is_next_to(piece, next->extent.at)) {
        piece->extent.bytes += next->extent.bytes;
        piece->next = next->next;
        free(next);
    }
}

/* Into the list. Without memory for that it is only lost, until the node is closed. */
static void add_free(struct weft_node *node, struct weft_extent extent)
{
    struct weft_free **at = &node->heap_free;
    struct weft_free *before = NULL;
    struct weft_free *fresh;

    while (*at != NULL && (*at)->extent.at < extent.at) {
        before = *at;
        at = &before->next;
    }
    assert(before == NULL || before->extent.at + before->extent.bytes <= extent.at);
    assert(*at == NULL || extent.at + extent.bytes <= (*at)->extent.at);
    if (before != NULL && is_next_to(before, extent.at)) {
        before->extent.bytes += extent.bytes;
        join(before);
        return;
    }
    fresh = malloc(sizeof(*fresh));
    if (fresh != NULL) {
        *fresh = (struct weft_free){*at, extent};
        *at = fresh;
        join(fresh);
    }
}

/* A range that is not empty again is not taken again: it would not be zero. */
void weft_heap_give(struct weft_node *node, struct weft_extent extent)
{
    const int fd = node->job->segment.fd;
    const struct weft_extent range = own_range(node);
    int rc;

    assert(node->is_heap_open && is_in_heap(&node->job->segment, extent));
    assert(extent.at >= range.at && extent.at + extent.bytes <= range.at + range.bytes);
    (void)range;
    do {
        rc = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)extent.at,
                       (off_t)extent.bytes);
    } while (rc != 0 && errno == EINTR);
    if (rc == 0) {
        add_free(node, extent);
    }
}

/* The memory of a memfd, whose size is sealed, comes when it is touched. A file system
 * may run full, which is a deadly signal to who touches a page: there it is taken now. */
static bool reserve(int fd, struct weft_extent extent)
{
    const int seals = fcntl(fd, F_GET_SEALS);

    return (seals >= 0 && (seals & F_SEAL_SHRINK) != 0) ||
           posix_fallocate(fd, (off_t)extent.at, (off_t)extent.bytes) == 0;
}

enum weft_rc weft_heap_take(struct weft_node *node, uint64_t bytes,
                            struct weft_extent *out)
{
    const uint64_t wanted = whole_pages(bytes);
    struct weft_extent taken;

    assert(bytes > 0);
    if (wanted < bytes || !begin(node) || !cut_off(node, wanted, &taken)) {
        return WEFT_ERR_NOMEM;
    }
    if (!reserve(node->job->segment.fd, taken)) {
        weft_heap_give(node, taken);
        return WEFT_ERR_NOMEM;
    }
    *out = taken;
    return WEFT_OK;
}

/* Maps it, at `place` unless that is NULL. */
static void *map_at(const struct weft_segment *segment, struct weft_extent extent,
                    void *place)
{
    void *memory =
        mmap(place, extent.bytes, PROT_READ | PROT_WRITE,
             MAP_SHARED | (place != NULL ? MAP_FIXED : 0), segment->fd, (off_t)extent.at);

    if (memory == MAP_FAILED) {
        return NULL;
    }
    madvise(memory, extent.bytes, MADV_DONTDUMP);
    return memory;
}

void *weft_heap_map(struct weft_node *node, struct weft_extent extent)
{
    const struct weft_segment *segment = &node->job->segment;

    return is_in_heap(segment, extent) ? map_at(segment, extent, NULL) : NULL;
}

/* Takes addresses that have no memory, as many as are aligned somewhere, and gives back
 * those before and behind the extent. */
void *weft_heap_map_aligned(struct weft_node *node, struct weft_extent extent,
                            size_t alignment)
{
    const struct weft_segment *segment = &node->job->segment;
    size_t bytes;
    size_t before;
    char *place;
    char *memory;

    if (alignment <= WEFT_NODE_PAGE) {
        return weft_heap_map(node, extent);
    }
    if (!is_in_heap(segment, extent) ||
        __builtin_add_overflow((size_t)extent.bytes, alignment, &bytes)) {
        return NULL;
    }
    place =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED) {
        return NULL;
    }
    before = -(uintptr_t)place & (alignment - 1);
    memory = map_at(segment, extent, place + before);
    if (memory == NULL) {
        munmap(place, bytes);
        return NULL;
    }
    if (before > 0) {
        munmap(place, before);
    }
    munmap(memory + extent.bytes, alignment - before);
    return memory;
}

void weft_heap_unmap(void *memory, struct weft_extent extent)
{
    munmap(memory, extent.bytes);
}

void weft_heap_close(struct weft_node *node)
{
    while (node->heap_free != NULL) {
        struct weft_free *piece = node->heap_free;

        node->heap_free = piece->next;
        free(piece);
    }
    node->is_heap_open = false;
}
