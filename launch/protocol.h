/*
 * protocol.h - what mpiexec and its daemons say to each other, byte by byte.
 *
 * Each host has a daemon, which is mpiexec itself with --weft-daemon; number 0 is the
 * mpiexec that the user has started, and the root. A daemon speaks with the one that has
 * started it and with those that it has started, over the standard input and output that
 * ssh gives it: what ssh has authenticated and encrypted needs no other port and no other
 * secret. The daemons are numbered so that each one's subtree is a range.
 *
 * A daemon first sends a greeting, so that whoever started it knows which Weft it is, and
 * then, as both sides do for the rest of the job, frames: a header, its bytes, and a
 * line's end, because srun passes on no less than a line. Frames of one link arrive in
 * order. Numbers are in the machine's own order: a daemon of another one cannot be meant,
 * because its greeting shows another protocol.
 *
 * A frame that is not for the daemon it reaches travels on: down to the child whose range
 * holds the receiver, else up. What is said with `is` in the list is the meaning of the
 * header's fields.
 */
#ifndef WEFT_LAUNCH_PROTOCOL_H
#define WEFT_LAUNCH_PROTOCOL_H

#include <stdint.h>

enum {
    PROTOCOL_VERSION = 5,
    FRAME_MOST = 64 * 1024 * 1024, /* bytes behind a header: an environment, and names */
    TEXT_WINDOW = 128 * 1024,      /* of output that a daemon sends before it is taken */
    INPUT_WINDOW = 64 * 1024,      /* of standard input on its way to a daemon */
    WORDS_WINDOW = 256 * 1024, /* that wait for a link while ranks put and get words */
    FRAME_END = 1,             /* a line's end, behind greeting and frames */
    FAN_OUT = 16,              /* children of a daemon, at most */
};

#define PROTOCOL_MAGIC "weft-tree"

struct greeting {
    char magic[12]; /* PROTOCOL_MAGIC: what comes before it is a shell's noise */
    uint32_t protocol;
    char version[48]; /* of Weft */
};
_Static_assert(sizeof(struct greeting) == 64, "protocol version 5");

enum frame_kind {
    /* From parent to child. */
    FRAME_SETUP = 1, /* `to` is the child's number, `value` how many its subtree has */
    FRAME_START,     /* all are there: start the ranks */
    FRAME_SIGNAL,    /* `value` is a signal for the ranks */
    FRAME_STOP,      /* end the ranks; `value` is the signal to ask them with */
    FRAME_KILL,      /* end them at once */
    FRAME_CLOSE,     /* all ranks have ended: clear up, answer FRAME_CLOSED */
    FRAME_RELEASE,   /* out of the barrier */

    /* From child to parent; a parent sends it on when its whole subtree has. */
    FRAME_READY,  /* the subtree is there */
    FRAME_ARRIVE, /* its ranks are in the barrier */
    FRAME_ENDED,  /* its ranks have ended */
    FRAME_CLOSED, /* nothing of it is left */

    /* To the root. */
    FRAME_TEXT,   /* output: `rank`, `value` is 1 or 2, the bytes */
    FRAME_FAILED, /* `rank` has failed, and the job ends: `value` is the exit code, the
                     bytes say why */
    FRAME_LOST,   /* a launch failed, or a daemon is gone: the bytes are the line */
    FRAME_SAY,    /* a line for the user */
    FRAME_PUT,    /* a key for all: its name, 0, its value */

    /* From the root to the daemon `to`. */
    FRAME_TAKEN,       /* `value` bytes of its output */
    FRAME_INPUT,       /* for its ranks that get standard input; no bytes: the end */
    FRAME_INPUT_TAKEN, /* to the root: `value` bytes of it; -1: no rank there reads it */

    /* Between any two. */
    FRAME_GET,   /* the daemon `from` asks for its `rank`; the bytes are the key; `value`
                    is the rank that has put it, or -1: a key for all, at the root */
    FRAME_VALUE, /* the answer: name, 0, value; `value` is 0, or -1: there is none */
    FRAME_BEAT,  /* over one link: I am alive; `value` is 1 while the sender starts
                    processes: it may then be silent for as long as a start may take */

    /* For --report (report.c). */
    FRAME_ADDRESSES, /* to the root: ports of TCP and UDP, then interface, address,
                        prefix, speed, why not */
    FRAME_PROBE,     /* from it: ports and addresses of all daemons; no bytes: what
                        datagrams have come? */
    FRAME_REACHED,   /* to it: for each daemon a bit for each address that was reached */
    FRAME_HEARD,     /* to it: for each daemon a byte, which datagrams of it have come */

    /* For jobs whose ranks run several MPI programs (programs.c). */
    FRAME_PROGRAM, /* to the root, and from it to all: a rank has begun program `value` */

    /* For jobs over several hosts (networks.c). */
    FRAME_NETWORKS, /* to the root, before FRAME_READY: how many, and their texts */
    FRAME_SHARED,   /* from it, before FRAME_START: a text, those that hosts share */

    /* For --keep-going (failed.c). To the root: `rank` has failed, and the others go on;
       `value` is its exit code, the bytes are the first program in which it is missing
       and the cause. From the root to all: `rank` has failed; `value` is that program. */
    FRAME_RANK_FAILED,

    /* What ranks do (hang.c). */
    FRAME_QUIET, /* to the root: `value` is 1: no rank of the host moves; 0: one does */
    FRAME_ASK,   /* from it: what do your ranks do? `value` is 1: with stacks */
    FRAME_DOING, /* to it: a struct stuck_rank for each rank of the host */

    /* For debuggers (proctable.c). */
    FRAME_PIDS, /* to the root: the process ids of the ranks of the host, 32 bits each */

    /* What ranks have done last (black_box.c). */
    FRAME_CLOCK,   /* from the root: its time; to it: that time, and the daemon's */
    FRAME_BOX_ASK, /* from it: `value` events of each rank, and more of `rank` */
    FRAME_BOX,     /* to it: rows (box_pack.c) */

    /* For --ship (shipping.h). */
    FRAME_WANT,  /* from child to parent: a byte for each content, 1 if the range lacks it
                  */
    FRAME_PIECE, /* from parent to child: the next bytes of content `value` */
    FRAME_KINDS,
};

/* `value` of a FRAME_DOING that nobody has asked for: the job ends (blame.c). */
enum { FRAME_DOING_AT_END = 1 };

struct frame {
    uint32_t kind;  /* enum frame_kind */
    uint32_t bytes; /* that follow */
    int32_t to;     /* the daemon for which it is; -1: the whole subtree */
    int32_t from;   /* the daemon that made it; daemons that pass it on leave it */
    int32_t rank;
    int32_t value;
};
_Static_assert(sizeof(struct frame) == 24, "protocol version 4");

#endif
