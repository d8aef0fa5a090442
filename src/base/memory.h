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
#include <stdint.h>

enum { WEFT_MEMORY_TEXT = 256, WEFT_MEMORY_PATH = 64 };

bool weft_memory_is_readable(const void *at, size_t bytes);

/* Writes to these bytes what they hold; no other thread may write there meanwhile. */
bool weft_memory_is_writable(void *at, size_t bytes);

/* Is every page of it readable? Slow: for the report after a failure. */
bool weft_memory_is_all_readable(const void *at, size_t bytes);

/* Do all mappings of it allow writing? Writes nothing. Slow: for the report after a
 * failure. */
bool weft_memory_is_all_writable(const void *at, size_t bytes);

/*
 * Does this line of /proc/PID/maps say that the address is memory of a device, a GPU for
 * instance? Then its file, as /dev/nvidia0, is in `path`.
 */
bool weft_memory_is_of_device(const char *line, uintptr_t at,
                              char path[WEFT_MEMORY_PATH]);

/*
 * What is wrong with memory that is not accessible: "its 100 bytes at 0x10 are not
 * mapped", or that they belong to a device: by the word of a library that the program has
 * loaded, or by its mappings.
 */
const char *weft_memory_describe(const void *at, size_t bytes, char *text, size_t size);

#endif
