/*
 * layout.c - messages whose data are not contiguous on one side or both.
 *
 * A small message is packed on the stack and goes the way of all small messages; one that
 * fits into a window is packed and goes the way of long ones. Anything longer is never
 * packed whole: it is announced without an address, so that the receiver asks for its
 * bytes, which are packed window by window (staged.c) or, where it cannot reach our
 * memory, packet by packet (rendezvous.c). What arrives is unpacked from the packet, or
 * through a window. A request knows its buffer, type and count; a piece is found by its
 * offset alone, so pieces may move in any order and by any thread.
 */
#include "p2p/p2p.h"

#include "base/crc32c.h"
#include "datatype/cursor.h"
#include "progress/lock.h"

#include <stdlib.h>

void weft_p2p_set_data(struct weft_p2p_request *request, const void *buffer, size_t bytes,
                       struct weft_datatype *type, uint64_t count)
{
    request->buffer = (void *)(uintptr_t)buffer;
    request->capacity = bytes;
    request->type = type;
    request->count = count;
    request->staging = NULL;
    if (weft_unlikely(type != NULL)) {
        weft_datatype_keep(type);
    }
}

void weft_p2p_forget_type(struct weft_p2p_request *request)
{
    if (weft_unlikely(request->type != NULL)) {
        weft_datatype_release(request->type);
        request->type = NULL;
    }
    if (weft_unlikely(request->staging != NULL)) {
        weft_p2p_free_staging(request);
    }
}

static void start(struct weft_cursor *cursor, const struct weft_p2p_request *request,
                  uint64_t offset)
{
    weft_cursor_init(cursor, &request->type->layout, request->type->extent,
                     request->count, request->buffer);
    cursor->position = offset;
}

void weft_p2p_gather(const struct weft_p2p_request *send, uint64_t offset, void *to,
                     size_t bytes)
{
    struct weft_cursor cursor;

    start(&cursor, send, offset);
    weft_cursor_pack(&cursor, to, bytes);
}

void weft_p2p_scatter(const struct weft_p2p_request *recv, uint64_t offset,
                      const void *from, size_t bytes)
{
    struct weft_cursor cursor;

    start(&cursor, recv, offset);
    weft_cursor_unpack(&cursor, from, bytes);
}

uint32_t weft_p2p_packed_crc(const struct weft_p2p_request *request, uint64_t bytes)
{
    struct weft_cursor cursor;
    uint8_t part[4096];
    uint32_t crc = 0;

    start(&cursor, request, 0);
    while (bytes > 0) {
        size_t n = bytes < sizeof(part) ? (size_t)bytes : sizeof(part);

        weft_cursor_pack(&cursor, part, n);
        crc = weft_crc32c_more(crc, part, n);
        bytes -= n;
    }
    return crc;
}

enum weft_rc weft_p2p_fetch_typed(const struct weft_p2p_request *recv,
                                  struct weft_endpoint *ep, const struct weft_key *key,
                                  uint64_t offset, uint64_t length)
{
    enum weft_rc rc = WEFT_OK;
    void *window;

    if (ep == NULL) { /* from ourselves */
        weft_p2p_scatter(recv, offset, (const void *)(uintptr_t)(key->address + offset),
                         (size_t)length);
        return WEFT_OK;
    }
    weft_lock();
    window = weft_p2p_take_window();
    weft_unlock();
    if (window == NULL) {
        return WEFT_ERR_NOMEM; /* then packets do it */
    }
    while (length > 0 && rc == WEFT_OK) {
        size_t n = length < WEFT_WINDOW ? (size_t)length : WEFT_WINDOW;

        rc = ep->ops->fetch(ep, key, offset, window, n, NULL);
        if (rc == WEFT_OK) {
            weft_p2p_scatter(recv, offset, window, n);
        }
        offset += n;
        length -= n;
    }
    weft_lock();
    weft_p2p_give_window(window);
    weft_unlock();
    return rc;
}

/* ---- sending; receiving differs too little from recv.c to be here ---- */

static void pack_all(const struct weft_datatype *type, const void *buffer, uint64_t count,
                     void *to, size_t bytes)
{
    struct weft_cursor cursor;

    weft_cursor_init(&cursor, &type->layout, type->extent, count, buffer);
    weft_cursor_pack(&cursor, to, bytes);
}

enum weft_rc weft_send_typed(const struct weft_comm *comm, enum weft_plane plane,
                             int dest, int tag, const void *buffer, uint64_t count,
                             struct weft_datatype *type, enum weft_send_mode mode)
{
    const size_t bytes = count * type->size;
    void *window;
    enum weft_rc rc;

    if (bytes <= WEFT_EAGER_MAX) {
        uint8_t packed[WEFT_EAGER_MAX];

        pack_all(type, buffer, count, packed, bytes);
        return weft_send(comm, plane, dest, tag, packed, bytes, mode);
    }
    weft_lock();
    window = bytes <= WEFT_WINDOW ? weft_p2p_take_window() : NULL;
    if (window != NULL) {
        weft_unlock();
        pack_all(type, buffer, count, window, bytes);
        rc = weft_send(comm, plane, dest, tag, window, bytes, mode);
        weft_lock();
        weft_p2p_give_window(window);
    } else {
        rc = weft_p2p_send_and_wait(comm, plane, dest, tag, buffer, bytes, type, count,
                                    mode);
    }
    weft_unlock();
    return rc;
}

enum weft_rc weft_isend_typed(struct weft_comm *comm, enum weft_plane plane, int dest,
                              int tag, const void *buffer, uint64_t count,
                              struct weft_datatype *type, enum weft_send_mode mode,
                              struct weft_request **out)
{
    const size_t bytes = count * type->size;
    struct weft_p2p_request *send;
    void *copy = NULL;
    enum weft_rc rc;

    if (bytes > WEFT_EAGER_MAX && bytes <= WEFT_WINDOW) { /* else there is no need */
        copy = malloc(bytes);
    }
    if (copy != NULL) {
        pack_all(type, buffer, count, copy, bytes);
    }
    weft_lock();
    rc = copy != NULL ? weft_p2p_send_slow(comm, plane, dest, tag, copy, bytes, NULL, 0,
                                           mode, false, &send)
                      : weft_p2p_send_slow(comm, plane, dest, tag, buffer, bytes, type,
                                           count, mode, false, &send);
    if (send != NULL) {
        send->base.comm = comm;
        *out = &send->base;
    }
    if (send != NULL && copy != NULL) {
        weft_p2p_hang_copy(send, copy);
    } else {
        free(copy);
    }
    weft_unlock();
    return rc;
}
