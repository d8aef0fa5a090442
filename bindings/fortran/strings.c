/*
 * strings.c - CHARACTER arguments: Fortran's are padded with blanks, C's end with NUL.
 */
#include "fortran.h"

#include <stdlib.h>
#include <string.h>

char *weft_string_in(const char *text, size_t length)
{
    char *copy;

    while (length > 0 && text[length - 1] == ' ') {
        length--;
    }
    copy = malloc(length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

char *weft_word_in(const char *text, size_t length)
{
    while (length > 0 && text[0] == ' ') {
        text++;
        length--;
    }
    return weft_string_in(text, length);
}

void weft_string_out(char *text, size_t length, const char *from)
{
    size_t n = strlen(from);

    n = n < length ? n : length;
    memcpy(text, from, n);
    memset(text + n, ' ', length - n);
}
