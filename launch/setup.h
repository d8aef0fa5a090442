/*
 * setup.h - what a daemon has to know of the job, packed for its way through the tree.
 *
 * It holds the secret of the job and the whole environment, and is therefore never on a
 * command line nor in a file: it goes the way that ssh has made.
 */
#ifndef WEFT_LAUNCH_SETUP_H
#define WEFT_LAUNCH_SETUP_H

#include "bytes.h"
#include "hosts.h"
#include "plan.h"
#include "ship.h"
#include "spawn.h"

#include "wireup/segment.h"

struct setup {
    uint32_t job; /* drawn by the root: tells jobs apart */
    uint8_t secret[WEFT_SEGMENT_SECRET_BYTES];
    uint64_t beat_ns;  /* silence after which a daemon counts as dead */
    uint64_t grace_ns; /* between asking ranks to end and killing them */
    struct list rsh;   /* the words before the name of a host */
    const char *net;   /* WEFT_NET, as the user has set it */
    int first_port;    /* WEFT_PORTS */
    int last_port;
    char *path;       /* of mpiexec, on every host */
    struct plan plan; /* what concerns ranks */
    struct layout layout;
    struct environment environment;
    struct ship ship; /* what hosts get; `path` is then that of a shell */
};

void setup_pack(const struct setup *setup, struct bytes *to);

/* `setup` keeps pointing into a copy that it makes. False if it is no setup. */
bool setup_unpack(struct setup *setup, const char *from, size_t bytes);

#endif
