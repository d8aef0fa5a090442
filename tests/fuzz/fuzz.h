/*
 * fuzz.h - what the targets share: an input that is used up piece by piece, and a way to
 * go on after the code under test has ended the job.
 */
#ifndef WEFT_FUZZ_H
#define WEFT_FUZZ_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *at;
    size_t left;
};

/* The next bytes, as a number; what is missing counts as zero. */
static inline uint64_t input_number(struct input *in, size_t bytes)
{
    uint64_t number = 0;

    bytes = bytes < in->left ? bytes : in->left;
    memcpy(&number, in->at, bytes);
    in->at += bytes;
    in->left -= bytes;
    return number;
}

/* A copy of `bytes` bytes in a block of exactly that size, so that every overrun is seen;
 * what is missing is zero. To be freed. */
static inline uint8_t *input_block(struct input *in, size_t bytes)
{
    uint8_t *block = calloc(1, bytes + (bytes == 0));

    if (block == NULL) {
        abort();
    }
    for (size_t i = 0; i < bytes && in->left > 0; i++) {
        block[i] = (uint8_t)input_number(in, 1);
    }
    return block;
}

/* All that is left, as a text that ends; to be freed. */
static inline char *input_text(struct input *in)
{
    char *text = malloc(in->left + 1);

    if (text == NULL) {
        abort();
    }
    memcpy(text, in->at, in->left);
    text[in->left] = '\0';
    in->left = 0;
    return text;
}

static inline void demand(bool is_so, const char *what)
{
    if (!is_so) {
        fprintf(stderr, "wrong: %s\n", what);
        abort();
    }
}

#endif
