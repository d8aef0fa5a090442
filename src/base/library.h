/*
 * library.h - a library that is loaded at run time, and could not be.
 */
#ifndef WEFT_BASE_LIBRARY_H
#define WEFT_BASE_LIBRARY_H

/*
 * What a user can do about it, after what dlerror() says: `install` where the library is
 * missing, else the limit that was met.
 */
const char *weft_library_advice(const char *error, const char *install);

#endif
