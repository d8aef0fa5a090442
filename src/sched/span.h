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

/* The part of `space` that `span` names. The buffer of an empty part is NULL. */
struct weft_data weft_span_data(const struct weft_data *space, struct weft_span span);

/* Copies as many bytes as both parts have; they do not overlap. */
void weft_span_copy(const struct weft_data *from, const struct weft_data *to);

#endif
