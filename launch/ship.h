/*
 * ship.h - --ship: what goes to hosts that have nothing but sshd, and how it is named.
 *
 * A host gets, in this order and all by the stream that ssh has given us:
 *
 *   the daemon     a shell there reads a few lines (ship_boot.h), makes a private folder,
 *                  reads mpiexec into it and becomes it
 *   the list       what there is to ship, with the setup; the daemon answers which
 *                  contents it and those below it lack (FRAME_WANT)
 *   the contents   in pieces, in the order of the list; a daemon passes on what it has
 *                  stored, while it receives the rest (FRAME_PIECE)
 *
 * Equal contents go once. Each is named by its hash (blake2b.h), which the receiver
 * checks. The C library and its family are never shipped; what needs a newer one than the
 * host has is refused before any rank starts.
 *
 * The folder has `run`, which is the working directory of the ranks with programs and
 * named files, and `lib` with the libraries that the host lacks. ship_home.h removes it.
 */
#ifndef WEFT_LAUNCH_SHIP_H
#define WEFT_LAUNCH_SHIP_H

#include "blake2b.h"
#include "bytes.h"
#include "plan.h"

#include <stdint.h>

enum ship_kind {
    SHIP_RUN,     /* a program, or a file that the user has named */
    SHIP_LIBRARY, /* a library of the user's, or of Weft */
    SHIP_SYSTEM,  /* a library of the system here: it goes to hosts that have none */
    SHIP_KINDS,
};

#define SHIP_RUN_FOLDER "run"
#define SHIP_LIB_FOLDER "lib"

struct ship_content {
    uint64_t size;
    uint8_t hash[BLAKE2B_BYTES];
};

struct ship_file {
    enum ship_kind kind;
    const char *name; /* in its folder */
    const char *path; /* here, which may be the same file on the host */
    int mode;
    int content;
    int glibc;          /* the C library that it needs: 2036 is 2.36; 0: any */
    int group;          /* the file that is left out together with it; -1: none */
    const char *loader; /* that a program names; NULL: none */
    struct list needs;  /* "libz.so.1 ZLIB_1.2.9": versions of system libraries */
};

/* Of each program of the job. */
struct ship_app {
    int file;         /* -1: the host has it */
    const char *wdir; /* as the user has typed it; NULL: the folder `run` */
};

struct ship {
    bool is_on;
    struct ship_content *contents;
    int content_count;
    struct ship_file *files;
    int file_count;
    struct ship_app *apps;
    int app_count;
};

/*
 * Makes the list for what the command line asks for. `environment` is the ranks'. False:
 * `why` is the line for the user.
 */
bool ship_list(struct ship *ship, const struct plan *plan, const struct list *environment,
               char *why, size_t size);

/* Bytes of all contents. */
uint64_t ship_bytes(const struct ship *ship);

void ship_pack(const struct ship *ship, struct bytes *to);

/* `ship` points into what is read. A list that is not sound makes `from` bad. */
void ship_unpack(struct ship *ship, struct reader *from);

/* The hash of what is left of a descriptor; false with errno set if it cannot be read. */
bool ship_hash(int fd, struct ship_content *content);

#endif
