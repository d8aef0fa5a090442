/*
 * library.h - loads a library at run time, and explains why it could not be loaded.
 */
#ifndef WEFT_BASE_LIBRARY_H
#define WEFT_BASE_LIBRARY_H

/*
 * What a user can do about it, after what dlerror() says: `install` where the library is
 * missing, else the limit that was met.
 */
const char *weft_library_advice(const char *error, const char *install);

#endif
