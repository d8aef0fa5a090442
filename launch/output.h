/*
 * output.h - what the ranks print, line by line, to our own standard output and error.
 *
 * Lines of different ranks are never mixed. A rank's text is held until its line is
 * complete; at its end what is left goes out as it is, and if another rank speaks next,
 * on a line of its own. A line longer than a buffer reserves the output for its rank
 * until it ends, or until a carriage return: what a progress bar writes after one is a
 * new line in all but name. While others wait, the reservation also ends when the rank
 * has been silent for a second, or has had the output for five, because the others may
 * be what it waits for; the rest of that line then has no reservation. On a terminal,
 * text without a line end goes out after a short while too, so that prompts are seen.
 *
 * A slow reader holds the ranks back, not us: when a sink is full, streams are not read,
 * and the event loop leaves them out until there is room. Writing never blocks. What we
 * have as standard output is shared with other processes and must not be made
 * non-blocking, and poll() does not help: a terminal that can be written may have less
 * space than a write needs, and others may fill a pipe first. So terminals and pipes are
 * opened again, for ourselves. A terminal that cannot be, which is another user's, say,
 * has a thread that writes to it.
 */
#ifndef WEFT_LAUNCH_OUTPUT_H
#define WEFT_LAUNCH_OUTPUT_H

#include "bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STREAM_BYTES = 64 * 1024, SINK_BYTES = 256 * 1024 };

struct stream;
struct writer;

/* Where lines go: standard output or error. */
struct sink {
    int fd;
    bool is_socket;
    bool is_own;           /* nobody else has this open, and it does not block */
    struct writer *writer; /* of a terminal that blocks; else NULL */
    bool is_terminal;
    bool is_waiting;         /* for room, to write what it holds */
    uint64_t waiting_since;  /* then: when something was last written; else 0 */
    bool is_leaving_out;     /* streams that could not be read */
    int error;               /* errno: it cannot be written to any more; 0: it can */
    bool is_mid_line;        /* the last text had no line end */
    struct stream *last;     /* where it came from; NULL: from us */
    struct stream *owner;    /* a stream in the middle of a long line */
    uint64_t others_since;   /* when others began to wait for it; 0: none does */
    struct sink *complaints; /* where a file that cannot be written is told of */
    char *held;              /* waiting to be written */
    size_t count;
    size_t room; /* of `held`: SINK_BYTES, more where labels make lines much longer */
};

/* One of a rank's two outputs. */
struct stream {
    int fd; /* our end of the pipe, not blocking; -1: at its end */
    int rank;
    bool is_labelled;
    bool is_label_due;
    bool has_had_turn;   /* its line, which has not ended, reserves the output no more */
    const char *pattern; /* of the file that has the text (habits.h); NULL: the sink */
    bool has_file;       /* it is open */
    int file;
    struct sink *sink;
    char *text; /* an unfinished line; made on first use */
    size_t count;
    uint64_t since; /* when its oldest byte came */

    /* A rank on another host has no pipe to us: what it prints is given to its stream. */
    bool is_given;
    struct bytes given; /* and not taken yet */
    size_t *taken;      /* counts what is */
};

void sink_open(struct sink *sink, int fd);

/* Do both descriptors lead to the same place? Then one sink serves both. */
bool sink_is_same(int fd, int other);

/* Writes what it can without blocking. */
void sink_flush(struct sink *sink);

/* A line of our own, on a line of its own. */
void sink_say(struct sink *sink, const char *line, size_t n);

/* Ends a reservation for which others have waited too long. */
void sink_end_long_line(struct sink *sink, uint64_t now);

/* A stream for what a rank on another host prints. */
void stream_open_given(struct stream *stream, struct sink *sink, int rank,
                       bool is_labelled, const char *pattern, size_t *taken);

/* Is there nothing more to be had from it, for now or for ever? */
bool stream_is_empty(const struct stream *stream);

/* Can this stream be read now? */
bool stream_may_read(const struct stream *stream);

/* Reads once and passes complete lines on. False when the stream is at its end. */
bool stream_read(struct stream *stream);

/* Reads what is there, passes everything on and closes. */
void stream_finish(struct stream *stream);

/* Passes an unfinished line on, if it has waited for `ns` and its sink is a terminal. */
void stream_prompt(struct stream *stream, uint64_t now, uint64_t ns);

#endif
