/*
 * link.h - one connection between two daemons: frames in, frames out, never blocking.
 *
 * What cannot be written at once is kept and goes out when the descriptor takes it; the
 * windows of protocol.h bound how much that can be. The link owns its descriptors.
 */
#ifndef WEFT_LAUNCH_LINK_H
#define WEFT_LAUNCH_LINK_H

#include "bytes.h"
#include "protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct link {
    int in; /* -1: closed */
    int out;
    bool is_greeted; /* frames come; before that a greeting is looked for */
    bool is_watched_for_room;
    bool is_busy; /* the other side has said that it may be silent for a while */
    struct bytes arrived;
    struct bytes waiting; /* to be written */
    uint64_t heard;       /* when something last came */
    uint64_t spoke;
};

/* What becomes of a frame; `payload` is valid during the call only. */
typedef void frame_fn(void *owner, struct link *link, const struct frame *frame,
                      const char *payload);

/* `in` and `out` may be the same. */
void link_open(struct link *link, int in, int out);
void link_close(struct link *link);

void link_send(struct link *link, const struct frame *frame, const void *payload);
void link_greet(struct link *link);
/* Bytes that are no frame: for a shell that is not a daemon yet. */
void link_write(struct link *link, const void *from, size_t bytes);

/* Writes what it can; false if the other side is gone. */
bool link_flush(struct link *link);

enum link_news { LINK_FINE, LINK_ENDED, LINK_NONSENSE, LINK_OTHER };

/*
 * Reads once and hands whole frames to `handler`. LINK_ENDED: the other side is gone.
 * LINK_NONSENSE: what came is no frame. LINK_OTHER: its greeting, which is put into
 * `greeting`, is that of another version.
 */
enum link_news link_read(struct link *link, struct greeting *greeting, frame_fn *handler,
                         void *owner);

#endif
