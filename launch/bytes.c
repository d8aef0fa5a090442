#include "bytes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void bytes_add(struct bytes *bytes, const void *from, size_t count)
{
    if (count > bytes->room - bytes->count) {
        size_t room = 2 * bytes->room + count + 256;
        char *grown = realloc(bytes->at, room);

        if (grown == NULL) {
            perror("mpiexec");
            exit(1);
        }
        bytes->at = grown;
        bytes->room = room;
    }
    if (count > 0) {
        memcpy(bytes->at + bytes->count, from, count);
    }
    bytes->count += count;
}

void bytes_drop(struct bytes *bytes, size_t count)
{
    assert(count <= bytes->count);
    bytes->count -= count;
    if (bytes->count > 0 && count > 0) {
        memmove(bytes->at, bytes->at + count, bytes->count);
    }
}

void bytes_free(struct bytes *bytes)
{
    free(bytes->at);
    memset(bytes, 0, sizeof(*bytes));
}

void bytes_add_number(struct bytes *bytes, int64_t number)
{
    bytes_add(bytes, &number, sizeof(number));
}

void bytes_add_text(struct bytes *bytes, const char *text)
{
    const int64_t length = text != NULL ? (int64_t)strlen(text) : -1;

    bytes_add_number(bytes, length);
    if (text != NULL) {
        bytes_add(bytes, text, (size_t)length + 1);
    }
}

const void *reader_take(struct reader *reader, size_t count)
{
    const char *at = reader->at;

    if (reader->is_bad || reader->left < count) {
        reader->is_bad = true;
        return NULL;
    }
    reader->at += count;
    reader->left -= count;
    return at;
}

int64_t reader_number(struct reader *reader)
{
    const void *at = reader_take(reader, sizeof(int64_t));
    int64_t number = 0;

    if (at != NULL) {
        memcpy(&number, at, sizeof(number));
    }
    return number;
}

const char *reader_text(struct reader *reader)
{
    const int64_t length = reader_number(reader);
    const char *at;

    if (reader->is_bad || length < 0) {
        return NULL;
    }
    at = reader_take(reader, (size_t)length + 1);
    if (at == NULL || at[length] != '\0') {
        reader->is_bad = true;
        return NULL;
    }
    return at;
}
