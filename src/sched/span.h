/*
 * span.h - the bytes that a span of a graph stands for, once its spaces are buffers.
 *
 * A space is described by a weft_data: contiguous bytes, or elements of a datatype. In
 * the second case the offsets of spans count packed bytes, so that a builder need not
 * know datatypes. Nothing here locks or allocates.
 */
#ifndef WEFT_SCHED_SPAN_H
#define WEFT_SCHED_SPAN_H

#include "p2p/p2p.h"
#include "sched/graph.h"

/* The part of `space` that `span` names; an empty part needs no space. */
static inline struct weft_data weft_span_data(const struct weft_data *space,
                                              const struct weft_span *span)
{
    struct weft_data data = {.bytes = (size_t)span->bytes};

    if (weft_unlikely(span->bytes == 0)) {
        return data;
    }
    if (weft_likely(space->type == NULL)) {
        data.buffer = (const char *)space->buffer + span->offset;
        return data;
    }
    data.buffer = space->buffer;
    data.type = space->type;
    data.count = space->count;
    data.skip = space->skip + span->offset;
    return data;
}

/* Copies as many bytes as both parts have; they do not overlap. */
void weft_span_copy(const struct weft_data *from, const struct weft_data *to);

/* The `bytes` of `data` behind the first `at`. */
struct weft_data weft_span_piece(const struct weft_data *data, size_t at, size_t bytes);

#endif
