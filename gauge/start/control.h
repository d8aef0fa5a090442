/*
 * control.h - the channel between the ends that is not under test.
 *
 * A star: end 0 holds a stream to every other end. All functions but open and close are
 * collective: every end calls the same one in the same order, with the same size where
 * there is one. A stream that breaks is a failed run: gauge_fail() has said so.
 */
#ifndef GAUGE_CONTROL_H
#define GAUGE_CONTROL_H

#include "gauge/module.h"

enum { GAUGE_HOST = 64 };

struct gauge_control {
    int end;
    int ends;
    int *fd;                  /* of every end on end 0; of end 0 alone elsewhere */
    char (*host)[GAUGE_HOST]; /* of every end, as this one may reach it */
};

/* Takes `fd`: ends entries on end 0 (the first unused), one elsewhere. */
enum gauge_rc gauge_control_open(struct gauge_control *control, int end, int ends,
                                 const int *fd);
void gauge_control_close(struct gauge_control *control);

/* Bytes of any length from every end to end 0, which gets `all` (to be freed as one) with
 * sizes[end] bytes each, one after another; elsewhere both are left alone. */
enum gauge_rc gauge_control_gather(struct gauge_control *control, const void *mine,
                                   size_t size, void **all, size_t *sizes);
/* From end 0 to all. */
enum gauge_rc gauge_control_share(struct gauge_control *control, void *bytes,
                                  size_t size);
/* A text of end 0 to all; the others get a copy to free. */
enum gauge_rc gauge_control_share_text(struct gauge_control *control, char **text,
                                       size_t *size);
enum gauge_rc gauge_control_exchange(struct gauge_control *control, const void *mine,
                                     size_t size, void *all);
enum gauge_rc gauge_control_barrier(struct gauge_control *control);
/* Tells all ends the address of each; needed before `host` is read. */
enum gauge_rc gauge_control_introduce(struct gauge_control *control);

/* All of it, or false. */
bool gauge_write_all(int fd, const void *bytes, size_t size);
bool gauge_read_all(int fd, void *bytes, size_t size);

#endif
