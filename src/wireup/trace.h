/*
 * trace.h - the ELF objects that a rank has mapped, so that an address in it can be
 * looked up by another process.
 */
#ifndef WEFT_WIREUP_TRACE_H
#define WEFT_WIREUP_TRACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    WEFT_TRACE_PATH = 192,
};

/* An ELF object that is mapped: its executable part, and what is to be added to an
 * address of the file. */
struct weft_trace_module {
    uint64_t low;
    uint64_t high;
    uint64_t bias;
    char path[WEFT_TRACE_PATH];
};

#endif
