#include "transfer/accessible.h"

#include "base/memory.h"
#include "base/texts.h"

#include <stdio.h>

/* The last buffer that was found. */
static struct {
    const void *at;
    size_t bytes;
} bad;

static bool note_bad(const void *at, size_t bytes)
{
    bad.at = at;
    bad.bytes = bytes;
    return true;
}

const char *weft_data_describe_bad(char *text, size_t size)
{
    return weft_memory_describe(bad.at, bad.bytes, text, size);
}

bool weft_data_is_unreadable(const struct weft_data *data)
{
    return data->type == NULL && !weft_memory_is_readable(data->buffer, data->bytes) &&
           note_bad(data->buffer, data->bytes);
}

bool weft_data_is_unwritable(const struct weft_data *data, uint64_t length)
{
    return length > 0 && data->type == NULL &&
           !weft_memory_is_writable(weft_data_at(data, 0), (size_t)length) &&
           note_bad(data->buffer, (size_t)length);
}

void weft_data_end_if_inaccessible(struct weft_job *job, const struct weft_data *data,
                                   uint64_t offset, uint64_t length, bool is_received,
                                   const char *what)
{
    const void *at = weft_data_at(data, offset);
    char why[WEFT_MEMORY_TEXT];
    char cause[WEFT_CAUSE_BYTES];

    if (data->type != NULL ||
        (weft_memory_is_all_readable(at, (size_t)length) &&
         (!is_received || weft_memory_is_all_writable(at, (size_t)length)))) {
        return;
    }
    snprintf(cause, sizeof(cause), WEFT_S_BUFFER_GIVEN, what,
             weft_memory_describe(data->buffer, data->bytes, why, sizeof(why)));
    weft_wireup_abort(job, MPI_ERR_BUFFER, cause);
}
