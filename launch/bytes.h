/*
 * bytes.h - a piece of memory that grows: what has come, what is to go, what is packed.
 *
 * All-zero is empty. If memory runs out here, the process ends.
 */
#ifndef WEFT_LAUNCH_BYTES_H
#define WEFT_LAUNCH_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    char *at;
    size_t count;
    size_t room;
};

void bytes_add(struct bytes *bytes, const void *from, size_t count);
/* Takes the first `count` away. */
void bytes_drop(struct bytes *bytes, size_t count);
void bytes_free(struct bytes *bytes);

/* Packed one behind the other, to be read in the same order. */
void bytes_add_number(struct bytes *bytes, int64_t number);
void bytes_add_text(struct bytes *bytes,
                    const char *text); /* NULL is kept apart from "" */

/* What is read; it stays where it is. `is_bad` once something was not there. */
struct reader {
    const char *at;
    size_t left;
    bool is_bad;
};

int64_t reader_number(struct reader *reader);
const char *reader_text(struct reader *reader);
const void *reader_take(struct reader *reader, size_t count);

#endif
