#include "base/library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* The loader ends its sentence in the words of the C library. */
static bool is_because(const char *error, int number)
{
    return strstr(error, strerror(number)) != NULL;
}

const char *weft_library_advice(const char *error, const char *install)
{
    if (is_because(error, EMFILE)) {
        return "raise the limit of open files (ulimit -n)";
    }
    if (is_because(error, ENOMEM) || strstr(error, "failed to map segment") != NULL ||
        strstr(error, "out of memory") != NULL) {
        return "raise the limit of address space (ulimit -v)";
    }
    if (is_because(error, ENFILE)) {
        return "the system has no room for another open file";
    }
    return install;
}

const char *weft_library_find(void *library, const struct weft_symbol *symbols,
                              size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *found = dlsym(library, symbols[i].name);

        if (found == NULL) {
            return symbols[i].name;
        }
        memcpy(symbols[i].to, &found, sizeof(found));
    }
    return NULL;
}
