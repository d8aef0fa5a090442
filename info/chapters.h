/*
 * chapters.h - every function of the ABI, its chapter, and whether it is built.
 *
 * The tables are made by bindings/gen/chapters.py from bindings/spec; `is_built` means
 * that a test of ours calls the function and it succeeds (tools/built).
 */
#ifndef WEFT_INFO_CHAPTERS_H
#define WEFT_INFO_CHAPTERS_H

#include <stdbool.h>

struct weft_function {
    const char *name;
    int group; /* index into weft_chapters */
    bool is_built;
};

struct weft_chapter {
    int number; /* in the standard */
    const char *title;
};

extern const struct weft_function weft_functions[]; /* sorted by name */
extern const struct weft_chapter weft_chapters[];
extern const int weft_function_count;
extern const int weft_chapter_count;

#endif
