/*
 * module.h - what moves bytes: the contract between the core and a module.
 *
 * A module is one struct of this kind in a file of its own, and one line in the list of
 * registry.c. It knows nothing of patterns, of statistics or of the control channel.
 *
 * Not offered: a NULL pointer. The core compares what a pattern needs with what a module
 *             offers before anything runs, so nobody else looks for NULL.
 * Order:      options are set, configure(), init(), messages, shutdown(). Functions take
 *             the module itself and keep what they need behind `state`.
 * Messages:   no tags. A receive from x matches the sends of x to us in their order, and
 *             both name the same size, which may be 0. sendto() returns when the buffer
 *             may be used again, recvfrom() when all `size` bytes are there.
 * Loss:       a module without GAUGE_RELIABLE returns GAUGE_LOST from recvfrom(), test()
 *             or wait() when nothing came within its patience. The pattern then gives up
 *             the round: every end falls out of it the same way. Before the ends meet,
 *             the core calls finish() on each; when all have stopped sending, drain(),
 *             which throws away what came late.
 * Failure:    GAUGE_FAILED, after gauge_fail() has said what and why; the run ends. One
 *             end may have failed alone, while others wait for its messages. A module
 *             with GAUGE_LAUNCHED is then left without shutdown(), which may wait for
 *             them: the process ends, and the launcher ends the others.
 * Memory:     buffers belong to the caller. With GAUGE_REGISTRATION they come from
 *             alloc(). Requests belong to the caller too, who keeps them in place until
 *             they are done; `space` is the module's while they are not.
 * Threads:    one, unless GAUGE_THREADS is set.
 */
#ifndef GAUGE_MODULE_H
#define GAUGE_MODULE_H

#include "gauge/option.h"

#include <stddef.h>
#include <stdint.h>

enum gauge_rc {
    GAUGE_OK,
    GAUGE_LOST,   /* nothing came; only without GAUGE_RELIABLE */
    GAUGE_FAILED, /* reported already */
};

/* What a module is like, and what a pattern may need. */
enum {
    GAUGE_RELIABLE = 1 << 0,     /* nothing is lost */
    GAUGE_CHANNEL = 1 << 1,      /* a receive from x yields bytes of x */
    GAUGE_REGISTRATION = 1 << 2, /* buffers must come from alloc() */
    GAUGE_THREADS = 1 << 3,      /* any thread may call, at the same time */
    GAUGE_LAUNCHED = 1 << 4,     /* ends must be started by a launcher, such as mpiexec */
    GAUGE_ONE_NODE = 1 << 5,     /* all ends share a machine */
    GAUGE_ALONE = 1 << 6,        /* one end that talks to itself */
    GAUGE_TOGETHER = 1 << 7,     /* forked ends share one processor; with virtual time */
    /* Set by the core from the tables below: */
    GAUGE_NONBLOCKING = 1 << 8, /* isendto, irecvfrom and test */
    GAUGE_ONE_SIDED = 1 << 9,
    GAUGE_COLLECTIVE = 1 << 10,
    GAUGE_FILES = 1 << 11,
};

/* The ends of a run, as a module sees them in init(). It outlives the module's use. */
struct gauge_world {
    int end;       /* which one we are, from 0 */
    int ends;      /* how many there are */
    uint64_t seed; /* the same on every end */

    /* The host of an end as text, an address that this end is able to reach. */
    const char *(*host)(const struct gauge_world *world, int end);
    /* Every end gives `size` bytes; `all` receives those of all ends, in order. */
    enum gauge_rc (*exchange)(const struct gauge_world *world, const void *mine,
                              size_t size, void *all);
    enum gauge_rc (*barrier)(const struct gauge_world *world);
};

/* Time in nanoseconds from any start, on one end. */
struct gauge_clock {
    const char *name;
    void *state;
    double (*now)(void *state);
    /* Keeps the processor for so long, without a call to the module. */
    void (*pass)(void *state, double nanoseconds);
    /* A fixed amount of work per loop, which does not look at any clock. */
    void (*work)(void *state, unsigned long loops);
    bool is_virtual; /* time of a model: nothing to check, and no real time limit */
};

/* A message under way. The pattern keeps it; the module uses `space` as it likes. */
struct gauge_request {
    bool is_done;
    union {
        max_align_t align;
        void *pointer;
        unsigned char space[96];
    };
};

struct gauge_module;

/*
 * A window of memory on every end that others read and write. There is one at a time.
 * Epochs are those of MPI: an end exposes its part from post() to wait(), and reaches the
 * parts of others from start() to complete(); or all ends meet in fence().
 */
struct gauge_one_sided {
    /* On every end at the same time. `memory` is this end's part, of `size` bytes; with
     * `is_allocated` the library chooses it, else the module does and hands it over. */
    enum gauge_rc (*open)(struct gauge_module *module, size_t size, bool is_allocated,
                          void **memory);
    void (*close)(struct gauge_module *module); /* on every end at the same time */
    /* Whom the post() and start() that follow are about. */
    enum gauge_rc (*choose)(struct gauge_module *module, const int *ends, int count);
    enum gauge_rc (*post)(struct gauge_module *module);
    enum gauge_rc (*wait)(struct gauge_module *module);
    enum gauge_rc (*start)(struct gauge_module *module);
    enum gauge_rc (*complete)(struct gauge_module *module);
    /* The first fence of a row ends no epoch, the last begins none. */
    enum gauge_rc (*fence)(struct gauge_module *module, bool is_first, bool is_last);
    /* `at` counts bytes from the beginning of the target's part. The buffer is the
     * module's until the epoch ends. */
    enum gauge_rc (*put)(struct gauge_module *module, int target, size_t at,
                         const void *buffer, size_t size);
    enum gauge_rc (*get)(struct gauge_module *module, int target, size_t at, void *buffer,
                         size_t size);
};

/*
 * A file that all ends read and write together; every call is of all of them. There is
 * one at a time.
 */
struct gauge_files {
    /* Makes the file if it is not there. */
    enum gauge_rc (*open)(struct gauge_module *module, const char *name);
    void (*close)(struct gauge_module *module);
    /* Which bytes the accesses that follow are about: one block of `size` bytes for each
     * end, or, if `piece` is not 0, pieces of so many bytes in turn. */
    enum gauge_rc (*arrange)(struct gauge_module *module, size_t size, size_t piece);
    enum gauge_rc (*write)(struct gauge_module *module, const void *buffer, size_t size);
    enum gauge_rc (*read)(struct gauge_module *module, void *buffer, size_t size);
};

struct gauge_collective;

struct gauge_module {
    const char *name;
    const char *description;      /* one line */
    unsigned flags;               /* configure() may change them */
    size_t largest;               /* message in bytes; 0: no limit */
    size_t header;                /* bytes added to each message */
    struct gauge_option *options; /* or NULL */

    /* NULL when it could run here, or a sentence that says what is missing. */
    const char *(*available)(struct gauge_module *module);
    /* Looks at the options: NULL, or a sentence that says why they do not go. */
    const char *(*configure)(struct gauge_module *module);
    enum gauge_rc (*init)(struct gauge_module *module, const struct gauge_world *world);
    void (*shutdown)(struct gauge_module *module);
    /* Facts for the header of the output, such as the name of an MPI. */
    void (*facts)(struct gauge_module *module,
                  void (*put)(void *arg, const char *key, const char *value), void *arg);

    void *(*alloc)(struct gauge_module *module, size_t size);
    void (*free)(struct gauge_module *module, void *buffer);
    const struct gauge_clock *(*clock)(struct gauge_module *module); /* after init() */

    enum gauge_rc (*sendto)(struct gauge_module *module, int dest, const void *buffer,
                            size_t size);
    enum gauge_rc (*recvfrom)(struct gauge_module *module, int source, void *buffer,
                              size_t size);

    /* These start; is_done is set here or by test(). test() moves everything on that is
     * under way. wait() may be NULL, then the core tests until it is done. */
    enum gauge_rc (*isendto)(struct gauge_module *module, int dest, const void *buffer,
                             size_t size, struct gauge_request *request);
    enum gauge_rc (*irecvfrom)(struct gauge_module *module, int source, void *buffer,
                               size_t size, struct gauge_request *request);
    enum gauge_rc (*test)(struct gauge_module *module, struct gauge_request *request);
    enum gauge_rc (*wait)(struct gauge_module *module, struct gauge_request *request);

    void (*finish)(struct gauge_module *module); /* this end has left the round */
    void (*drain)(struct gauge_module *module);  /* all have: forget what is late */

    const struct gauge_one_sided *one_sided;
    const struct gauge_files *files;
    const struct gauge_collective *collective;

    void *state; /* the module's own */
};

/* Says on standard error what went wrong, once, with the end's number; GAUGE_FAILED. */
enum gauge_rc gauge_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
