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

#include "base/copy.h"
#include "base/crc32c.h"
#include "datatype/cursor.h"
#include "p2p/buffered.h"
#include "progress/lock.h"

#include <stdlib.h>

void weft_p2p_set_type(struct weft_p2p_request *request, struct weft_datatype *type,
                       uint64_t count)
{
    weft_datatype_keep(type);
    request->type = type;
    request->count = count;
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
    if (weft_unlikely(request->packed != NULL)) {
        if (request->lender != NULL) {
            weft_buffer_give_back(request);
        } else {
            free(request->packed);
        }
        request->packed = NULL;
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

uint32_t weft_p2p_packed_crc(const struct weft_p2p_request *request, uint64_t offset,
                             uint64_t bytes)
{
    struct weft_cursor cursor;
    uint8_t part[4096];
    uint32_t crc = 0;

    start(&cursor, request, offset);
    while (bytes > 0) {
        size_t n = bytes < sizeof(part) ? (size_t)bytes : sizeof(part);

        weft_cursor_pack(&cursor, part, n);
        crc = weft_crc32c_more(crc, part, n);
        bytes -= n;
    }
    return crc;
}

/* ---- sending; receiving differs too little from recv.c to be here ---- */

void weft_p2p_pack(const struct weft_data *data, void *to)
{
    struct weft_cursor cursor;

    if (data->type == NULL) {
        weft_copy(to, data->buffer, data->bytes);
        return;
    }
    weft_cursor_init(&cursor, &data->type->layout, data->type->extent, data->count,
                     data->buffer);
    weft_cursor_pack(&cursor, to, data->bytes);
}

static struct weft_data data_of(const void *buffer, uint64_t count,
                                struct weft_datatype *type)
{
    return (struct weft_data){
        .buffer = buffer,
        .bytes = count * type->size,
        .type = type,
        .count = count,
    };
}

enum weft_rc weft_send_typed(const struct weft_comm *comm, int dest, int tag,
                             const void *buffer, uint64_t count,
                             struct weft_datatype *type, unsigned how)
{
    const struct weft_data data = data_of(buffer, count, type);
    void *window;
    enum weft_rc rc;

    if (data.bytes <= WEFT_EAGER_MAX) {
        uint8_t packed[WEFT_EAGER_MAX];

        weft_p2p_pack(&data, packed);
        return weft_send(comm, dest, tag, packed, data.bytes, how);
    }
    weft_lock();
    window = data.bytes <= WEFT_WINDOW ? weft_p2p_take_window() : NULL;
    if (window != NULL) {
        weft_unlock();
        weft_p2p_pack(&data, window);
        rc = weft_send(comm, dest, tag, window, data.bytes, how);
        weft_lock();
        weft_p2p_give_window(window);
    } else {
        rc = weft_p2p_send_and_wait(comm, dest, tag, &data, how);
    }
    weft_unlock();
    return rc;
}

enum weft_rc weft_isend_typed(struct weft_comm *comm, int dest, int tag,
                              const void *buffer, uint64_t count,
                              struct weft_datatype *type, unsigned how,
                              struct weft_request **out)
{
    const struct weft_data data = data_of(buffer, count, type);
    struct weft_data packed = {.bytes = data.bytes};
    struct weft_p2p_request *send;
    void *copy = NULL;
    enum weft_rc rc;

    if (data.bytes > WEFT_EAGER_MAX && data.bytes <= WEFT_WINDOW) { /* else no need */
        copy = malloc(data.bytes);
    }
    if (copy != NULL) {
        weft_p2p_pack(&data, copy);
        packed.buffer = copy;
    }
    weft_lock();
    rc = weft_p2p_send_slow(comm, dest, tag, copy != NULL ? &packed : &data, how, false,
                            &send);
    if (send != NULL) {
        if (!weft_request_is_complete(&send->base)) {
            send->packed = copy;
            send->lender = NULL;
            copy = NULL;
        }
        weft_request_set_comm(&send->base, comm);
        weft_request_hand_out(&send->base);
        *out = &send->base;
    }
    weft_p2p_leave();
    weft_unlock();
    free(copy);
    return rc;
}
