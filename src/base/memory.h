/*
 * memory.h - finds out whether memory of the user can be read or written.
 *
 * Each question is a system call, so it is asked only for operations that take much
 * longer. Only the first and the last byte are looked at. Where the system refuses to
 * answer, the answer is yes. The functions are thread safe and need no lock.
 */
#ifndef WEFT_BASE_MEMORY_H
#define WEFT_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

enum { WEFT_MEMORY_TEXT = 160 };

bool weft_memory_is_readable(const void *at, size_t bytes);

/* Writes to these bytes what they hold; no other thread may write there meanwhile. */
bool weft_memory_is_writable(void *at, size_t bytes);

/* Is every page of it readable? Slow: for the report after a failure. */
bool weft_memory_is_all_readable(const void *at, size_t bytes);

/*
 * What is wrong with memory that is not accessible: "its 100 bytes at 0x10 are not
 * mapped", or that they belong to a device, if the program has loaded such a library.
 */
const char *weft_memory_describe(const void *at, size_t bytes, char *text, size_t size);

#endif
