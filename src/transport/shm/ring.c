#include "transport/shm/ring.h"

#include <assert.h>
#include <string.h>

enum { CELL_DATA = WEFT_RING_CELL_BYTES - 8, PREFIX = 12 + WEFT_HEADER_BYTES };

_Static_assert(sizeof(struct weft_ring_head) == 12, "");
_Static_assert(offsetof(struct weft_ring_packet, data) == PREFIX, "");
_Static_assert((size_t)WEFT_INBOX_CELLS *CELL_DATA > 4 * WEFT_SHORT_MAX, "several fit");

static uint32_t cells_for(uint32_t len)
{
    return (PREFIX + len + CELL_DATA - 1) / CELL_DATA;
}

/* Copies `n` bytes to or from the stream of cells that begins at `first`, byte `at`. */
static void put_bytes(struct weft_ring_cell *cells, uint32_t count, uint64_t first,
                      size_t at, const uint8_t *from, size_t n)
{
    while (n > 0) {
        struct weft_ring_cell *cell = &cells[(first + at / CELL_DATA) % count];
        size_t inside = at % CELL_DATA;
        size_t part = n < CELL_DATA - inside ? n : CELL_DATA - inside;

        memcpy(cell->data + inside, from, part);
        from += part;
        at += part;
        n -= part;
    }
}

static void get_bytes(const struct weft_ring_cell *cells, uint32_t count, uint64_t first,
                      uint8_t *to, size_t n)
{
    for (size_t at = 0; at < n; at += CELL_DATA) {
        size_t part = n - at < CELL_DATA ? n - at : CELL_DATA;

        memcpy(to + at, cells[(first + at / CELL_DATA) % count].data, part);
    }
}

static bool claim(struct weft_ring *ring, uint32_t count, uint32_t cells,
                  struct weft_ring_claim *mine, uint32_t name, uint64_t *first)
{
    uint64_t seen = atomic_load_explicit(&ring->claimed, memory_order_relaxed);

    do {
        /* Acquire: pairs with the receiver's release; the cells are ours to fill. */
        uint64_t taken = atomic_load_explicit(&ring->taken, memory_order_acquire);

        if (seen + cells - taken > count) {
            return false;
        }
        /* Release: what we have published before is seen by who sees this. */
        atomic_store_explicit(&mine->ring, name, memory_order_release);
        atomic_store_explicit(&mine->cells, cells, memory_order_relaxed);
        atomic_store_explicit(&mine->first, seen, memory_order_release);
        /* Release: a process that sees the cells claimed sees who may have claimed them.
         */
    } while (!atomic_compare_exchange_weak_explicit(
        &ring->claimed, &seen, seen + cells, memory_order_release, memory_order_relaxed));
    *first = seen;
    return true;
}

enum weft_rc weft_ring_push(struct weft_ring *ring, struct weft_ring_cell *cells,
                            uint32_t count, struct weft_ring_claim *mine, uint32_t name,
                            const struct weft_ring_head *head, const void *header,
                            const void *data, bool *is_followed)
{
    uint32_t n = cells_for(head->len);
    uint64_t first;

    if (!claim(ring, count, n, mine, name, &first)) {
        return WEFT_AGAIN;
    }
    put_bytes(cells, count, first, 0, (const uint8_t *)head, sizeof(*head));
    put_bytes(cells, count, first, sizeof(*head), header, WEFT_HEADER_BYTES);
    put_bytes(cells, count, first, PREFIX, data, head->len);
    cells[first % count].cells = n;
    for (uint32_t i = 0; i < n; i++) {
        /* Pairs with the acquire in weft_ring_peek(). */
        atomic_store_explicit(&cells[(first + i) % count].generation,
                              (uint32_t)((first + i) / count) + 1, memory_order_release);
    }
    /* A writer that claims after this look, and then rings, has our cells before its own.
     */
    atomic_thread_fence(memory_order_seq_cst);
    *is_followed =
        atomic_load_explicit(&ring->claimed, memory_order_relaxed) != first + n;
    return WEFT_OK;
}

static bool is_there(struct weft_ring_cell *cells, uint32_t count, uint64_t at)
{
    return atomic_load_explicit(&cells[at % count].generation, memory_order_acquire) ==
           (uint32_t)(at / count) + 1;
}

bool weft_ring_peek(struct weft_ring *ring, struct weft_ring_cell *cells, uint32_t count,
                    struct weft_ring_head *head)
{
    uint64_t first = atomic_load_explicit(&ring->taken, memory_order_relaxed); /* ours */
    uint32_t n;

    if (weft_likely(!is_there(cells, count, first))) {
        return false;
    }
    n = cells[first % count].cells;
    for (uint32_t i = 1; i < n && i < count; i++) {
        if (!is_there(cells, count, first + i)) {
            return false;
        }
    }
    memcpy(head, cells[first % count].data, sizeof(*head));
    if (weft_unlikely(head->len > WEFT_SHORT_MAX || n != cells_for(head->len))) {
        head->len = UINT32_MAX;
    }
    return true;
}

void weft_ring_read(const struct weft_ring *ring, const struct weft_ring_cell *cells,
                    uint32_t count, const struct weft_ring_head *head,
                    struct weft_ring_packet *out)
{
    const uint64_t first = atomic_load_explicit(&ring->taken, memory_order_relaxed);

    assert(head->len <= WEFT_SHORT_MAX);
    get_bytes(cells, count, first, (uint8_t *)out, PREFIX + head->len);
    out->head = *head; /* as it was checked, whatever is written there now */
}

void weft_ring_drop(struct weft_ring *ring, const struct weft_ring_head *head)
{
    const uint64_t first = atomic_load_explicit(&ring->taken, memory_order_relaxed);

    atomic_store_explicit(&ring->taken, first + cells_for(head->len),
                          memory_order_release);
}

/*
 * Whoever has claimed the cells at `first` has written so before, and writes something
 * else only when it has published them. So if a dead writer has written it and no living
 * one has, they are the dead one's: all that is left is to look once more whether they
 * were published while we looked at the writers.
 */
void weft_ring_mend(struct weft_ring *ring, struct weft_ring_cell *cells, uint32_t count,
                    uint32_t name, uint32_t writers,
                    struct weft_ring_writer (*writer)(const void *of, uint32_t n),
                    const void *of)
{
    const uint64_t first = atomic_load_explicit(&ring->taken, memory_order_relaxed);
    struct weft_ring_head ignored;
    uint32_t failed_cells = 0;

    if (atomic_load_explicit(&ring->claimed, memory_order_acquire) == first ||
        weft_ring_peek(ring, cells, count, &ignored)) {
        return;
    }
    for (uint32_t i = 0; i < writers; i++) {
        const struct weft_ring_writer w = writer(of, i);

        if (atomic_load_explicit(&w.claim->first, memory_order_acquire) != first ||
            atomic_load_explicit(&w.claim->ring, memory_order_acquire) != name) {
            continue;
        }
        if (!w.is_failed) {
            return; /* it will be published */
        }
        failed_cells = atomic_load_explicit(&w.claim->cells, memory_order_relaxed);
    }
    if (failed_cells > 0 && !weft_ring_peek(ring, cells, count, &ignored)) {
        atomic_store_explicit(&ring->taken, first + failed_cells, memory_order_release);
    }
}
