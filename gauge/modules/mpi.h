/*
 * mpi.h - between weft-gauge, which has no MPI in it, and the object that has.
 *
 * mpi_object.c, mpi_fail.c, mpi_files.c and mpi_windows.c are built once for the standard
 * ABI and once for every other MPI whose compiler wrapper is there, each time into a
 * shared object of its own. mpi.c loads one of them and puts its functions into the
 * module, so that nothing stands between a pattern and the MPI. An object calls nothing
 * of the program but `fail`, which it is handed.
 */
#ifndef GAUGE_MPI_H
#define GAUGE_MPI_H

#include "gauge/module.h"

enum { GAUGE_MPI_VERSION = 3 };
#define GAUGE_MPI_ENTRY "gauge_mpi_object"

struct gauge_mpi_object {
    unsigned version;  /* GAUGE_MPI_VERSION, of the object */
    size_t world_size; /* of struct gauge_world, as the object knows it */
    /* Of gauge_fail()'s kind; written by who loads it. */
    enum gauge_rc (*fail)(const char *format, ...);

    /* The functions of a module. */
    enum gauge_rc (*init)(struct gauge_module *module, const struct gauge_world *world);
    void (*shutdown)(struct gauge_module *module);
    void (*facts)(struct gauge_module *module,
                  void (*put)(void *arg, const char *key, const char *value), void *arg);
    enum gauge_rc (*sendto)(struct gauge_module *module, int dest, const void *buffer,
                            size_t size);
    enum gauge_rc (*recvfrom)(struct gauge_module *module, int source, void *buffer,
                              size_t size);
    enum gauge_rc (*isendto)(struct gauge_module *module, int dest, const void *buffer,
                             size_t size, struct gauge_request *request);
    enum gauge_rc (*irecvfrom)(struct gauge_module *module, int source, void *buffer,
                               size_t size, struct gauge_request *request);
    enum gauge_rc (*test)(struct gauge_module *module, struct gauge_request *request);
    enum gauge_rc (*wait)(struct gauge_module *module, struct gauge_request *request);
    const struct gauge_one_sided *one_sided;
    const struct gauge_files *files;
};

#endif
