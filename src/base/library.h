/*
 * library.h - libraries that are loaded at run time: their functions, and why one could
 * not be loaded.
 */
#ifndef WEFT_BASE_LIBRARY_H
#define WEFT_BASE_LIBRARY_H

#include <stddef.h>

/* A function of a library, and the pointer that gets its address. */
struct weft_symbol {
    const char *name;
    void *to;
};

/* Stores the address of each function. Returns the name of the first that the library
 * does not have, or NULL: all are there. */
const char *weft_library_find(void *library, const struct weft_symbol *symbols,
                              size_t count);

/*
 * What a user can do about it, after what dlerror() says: `install` where the library is
 * missing, else the limit that was met.
 */
const char *weft_library_advice(const char *error, const char *install);

#endif
