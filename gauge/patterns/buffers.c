/*
 * buffers.c - see buffers.h.
 */
#include "gauge/patterns/buffers.h"

enum gauge_rc buffers_open(struct gauge_bench *bench, struct buffers *buffers, size_t out,
                           size_t in, const char *who)
{
    buffers->out = gauge_alloc(bench, out);
    buffers->in = gauge_alloc(bench, in);
    if (buffers->out == NULL || buffers->in == NULL) {
        buffers_close(bench, buffers);
        return gauge_fail("%s: no memory for %zu bytes", who, out + in);
    }
    return GAUGE_OK;
}

void buffers_close(struct gauge_bench *bench, struct buffers *buffers)
{
    gauge_free(bench, buffers->out);
    gauge_free(bench, buffers->in);
    *buffers = (struct buffers){0};
}

size_t buffers_largest(const size_t *sizes, size_t count)
{
    size_t largest = 0;

    for (size_t i = 0; i < count; i++) {
        largest = sizes[i] > largest ? sizes[i] : largest;
    }
    return largest;
}
