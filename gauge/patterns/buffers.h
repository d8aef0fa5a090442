/*
 * buffers.h - what a pattern sends from and receives into; the pattern opens and closes
 * them once.
 */
#ifndef GAUGE_BUFFERS_H
#define GAUGE_BUFFERS_H

#include "gauge/pattern.h"

/*
 * Messages, or windows of them, that are sent again before the clock starts. They leave
 * the buffers in the caches as sending does. Without them each sample would begin with
 * buffers as the check of the sample before left them, all of whose bytes were looked at:
 * between two ranks of one machine that doubled the time from 64 KiB on, and at 1 MiB one
 * message was not enough to forget it.
 */
enum { BUFFERS_SETTLE = 4 };

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
