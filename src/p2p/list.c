/*
 * list.c - data in long blocks, moved with one copy.
 *
 * Who has them shows where they are: a list of addresses in a stage of the transport,
 * named in place of an address. Who copies walks its own data with a cursor and the
 * peer's with the list, from any byte to any, and moves as many stretches in one call as
 * both allow. So sender and receiver can share a transfer in pieces as they do with
 * contiguous data (rendezvous.c).
 *
 * Short blocks are packed instead: the kernel spends on each stretch what packing and
 * unpacking LIST_FROM bytes cost (docs/performance.md).
 */
#include "p2p/internal.h"

#include "datatype/cursor.h"

enum {
    LIST_FROM = 4096, /* bytes in a block, on average */
    LOOK = 16,        /* so many are looked at before a list is begun */
    LIST_MAX =
        (WEFT_STAGE_BYTES - sizeof(struct weft_list)) / sizeof(struct weft_stretch) - 1,
};

/* Only the first blocks are looked at: the list itself notices if the others differ. */
static bool begins_long(const struct weft_data *data)
{
    struct iovec first[LOOK];
    struct weft_cursor cursor;
    size_t n;

    weft_data_start_cursor(&cursor, data);
    n = weft_cursor_vectors(&cursor, first, LOOK, data->bytes);
    return cursor.position - data->skip >= n * LIST_FROM;
}

/* False: there are too many blocks. */
static bool fill(struct weft_list *list, const struct weft_data *data)
{
    const uint64_t most =
        data->bytes / LIST_FROM < LIST_MAX ? data->bytes / LIST_FROM : LIST_MAX;
    struct weft_cursor cursor;
    uint64_t before = 0;

    weft_data_start_cursor(&cursor, data);
    list->n = 0;
    while (before < data->bytes) {
        struct iovec part[64];
        const size_t n = weft_cursor_vectors(&cursor, part, sizeof(part) / sizeof(*part),
                                             data->bytes - before);

        if (list->n + n > most) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            list->at[list->n + i] = (struct weft_stretch){
                .address = (uint64_t)(uintptr_t)part[i].iov_base,
                .start = before,
            };
            before += part[i].iov_len;
        }
        list->n += n;
    }
    list->at[list->n].start = before;
    return true;
}

struct weft_stage weft_p2p_make_list(const struct weft_data *data)
{
    struct weft_stage stage = {0};

    if (!begins_long(data)) {
        return stage;
    }
    stage = weft_p2p_take_shared_stage();
    if (stage.at != NULL && !fill(stage.at, data)) {
        weft_p2p_give_stage(stage);
        stage = (struct weft_stage){0};
    }
    if (stage.at != NULL) {
        stage.name |= WEFT_IS_LIST;
    }
    return stage;
}

/* ---- moving ---- */

/* Stretches of a peer's list, from `offset` on, of at most `bytes` bytes; how many. */
static size_t list_vectors(const struct weft_list *list, uint64_t offset, uint64_t bytes,
                           struct iovec *out)
{
    const uint64_t n = list->n <= LIST_MAX ? list->n : 0;
    uint64_t low = 0;
    uint64_t high = n;
    size_t count = 0;

    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;

        if (list->at[middle].start <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    for (; low < n && bytes > 0 && count < WEFT_VECTORS_MAX; low++) {
        const uint64_t skip = offset - list->at[low].start;
        const uint64_t left = list->at[low + 1].start - offset;
        const uint64_t part = left < bytes ? left : bytes;

        out[count++] = (struct iovec){
            .iov_base = (void *)(uintptr_t)(list->at[low].address + skip),
            .iov_len = (size_t)part,
        };
        offset += part;
        bytes -= part;
    }
    return count;
}

static uint64_t bytes_in(const struct iovec *vectors, size_t n)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < n; i++) {
        bytes += vectors[i].iov_len;
    }
    return bytes;
}

/* The first of them that are together `bytes` bytes; the last is cut. */
static size_t cut(struct iovec *vectors, uint64_t bytes)
{
    size_t n = 0;

    while (bytes > vectors[n].iov_len) {
        bytes -= vectors[n++].iov_len;
    }
    vectors[n].iov_len = (size_t)bytes;
    return n + 1;
}

/* Where bytes of the request's own data are; in `flat`, if that is not NULL. */
static size_t own_vectors(const struct weft_p2p_request *request, void *flat,
                          uint64_t offset, uint64_t bytes, struct iovec *out)
{
    struct weft_cursor cursor;
    struct weft_data part;

    if (flat != NULL || request->type == NULL) {
        *out = (struct iovec){
            .iov_base = flat != NULL ? flat : (uint8_t *)request->buffer + offset,
            .iov_len = (size_t)bytes,
        };
        return 1;
    }
    part = weft_p2p_part(request, offset, bytes);
    weft_data_start_cursor(&cursor, &part);
    return weft_cursor_vectors(&cursor, out, WEFT_VECTORS_MAX, (size_t)bytes);
}

enum weft_rc weft_p2p_move_vectors(const struct weft_p2p_request *request,
                                   const struct weft_peer *peer, uint64_t place,
                                   uint64_t offset, uint64_t length, void *flat)
{
    const struct weft_list *list = NULL;
    enum weft_rc rc = WEFT_OK;

    if (weft_p2p_is_list(place)) {
        list = weft_stage_of(peer->area, (uint32_t)place);
    }
    while (length > 0 && rc == WEFT_OK) {
        struct iovec ours[WEFT_VECTORS_MAX];
        struct iovec theirs[WEFT_VECTORS_MAX];
        size_t our_count = own_vectors(request, flat, offset, length, ours);
        const uint64_t mine = bytes_in(ours, our_count);
        size_t their_count = 1;
        uint64_t bytes = mine;

        theirs[0] = (struct iovec){.iov_base = (void *)(uintptr_t)(place + offset),
                                   .iov_len = (size_t)mine};
        if (list != NULL) {
            their_count = list_vectors(list, offset, mine, theirs);
            bytes = bytes_in(theirs, their_count);
        }
        if (bytes == 0) {
            return WEFT_ERR_ARGUMENT; /* no such bytes in the list */
        }
        our_count = bytes < mine ? cut(ours, bytes) : our_count;
        rc = request->base.kind == WEFT_REQUEST_SEND
                 ? peer->ep->ops->store_vectors(peer->ep, theirs, their_count, ours,
                                                our_count)
                 : peer->ep->ops->fetch_vectors(peer->ep, theirs, their_count, ours,
                                                our_count);
        offset += bytes;
        length -= bytes;
        flat = flat == NULL ? NULL : (uint8_t *)flat + bytes;
    }
    return rc;
}
