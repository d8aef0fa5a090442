/*
 * buffers.h - what a pattern sends from and receives into; the pattern opens and closes
 * them once.
 */
#ifndef GAUGE_BUFFERS_H
#define GAUGE_BUFFERS_H

#include "gauge/pattern.h"

struct buffers {
    unsigned char *out;
    unsigned char *in;
};

/* `who` is the pattern, for the sentence when there is no memory. */
enum gauge_rc buffers_open(struct gauge_bench *bench, struct buffers *buffers, size_t out,
                           size_t in, const char *who);
void buffers_close(struct gauge_bench *bench, struct buffers *buffers);

/* The largest of some sizes, 0 of none. */
size_t buffers_largest(const size_t *sizes, size_t count);

#endif
