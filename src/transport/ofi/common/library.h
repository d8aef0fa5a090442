/*
 * library.h - libfabric, loaded when a job needs a network.
 *
 * Loading costs 0.2 s and the first look for networks as much again, and one of the
 * libraries behind it would take over signals (docs/engine.md, 0). So it is loaded at the
 * first contact with another node, or in the background of a job that lasts (WEFT_WARM),
 * and stays until exit; what must be said in the
 * environment is said inside MPI_Init, because later it races with the program's threads.
 * It exports a handful of functions; all else in its headers calls through tables.
 */
#ifndef WEFT_OFI_LIBRARY_H
#define WEFT_OFI_LIBRARY_H

#include "base/rc.h"

#include <rdma/fabric.h>
#include <stdbool.h>

enum { WEFT_OFI_API = FI_VERSION(1, 17) };

struct weft_libfabric {
    __typeof__(fi_getinfo) *getinfo;
    __typeof__(fi_freeinfo) *freeinfo;
    __typeof__(fi_dupinfo) *dupinfo;
    __typeof__(fi_fabric) *fabric;
    __typeof__(fi_strerror) *strerror;
    __typeof__(fi_version) *version;
};

extern struct weft_libfabric weft_libfabric;

/* Inside MPI_Init, on the caller's thread. */
void weft_libfabric_prepare(void);

/* Once it has succeeded, the functions above can be called. Says why it could not. From
 * any thread, and without the library's lock, because it takes long. */
WEFT_MUST_CHECK enum weft_rc weft_libfabric_open(void);

/* The text for a code as libfabric returns it, negative or not. */
const char *weft_ofi_error(long code);

#endif
