#include "transport/ofi/quirks/reap.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/texts.h"
#include "transport/ofi/quirks/filter.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REAP_NS = 1000 * 1000 * 1000 };

static const uint64_t PATIENCE_NS = UINT64_C(5000000000);

void weft_reap_init(struct weft_reap *reap)
{
    *reap = (struct weft_reap){.reserved = -1, .next_accepted = -1};
}

void weft_reap_count(struct weft_reap *reap, const char *why)
{
    if (reap->rejected++ == 0) {
        weft_log_warn(WEFT_S_REJECTED, why);
    }
}

/* ---- connections without a request ---- */

static uint64_t cookie_of(int fd)
{
    uint64_t cookie = 0;
    socklen_t bytes = sizeof(cookie);

    (void)getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &bytes);
    return cookie;
}

static void end(struct weft_reap *reap, int fd)
{
    weft_reap_count(reap, "it sends no request");
    (void)shutdown(fd, SHUT_RDWR);
}

/* When a connection was first seen; now, if it is new. */
static uint64_t first_seen(const struct weft_unknowns *before, uint64_t cookie,
                           uint64_t now)
{
    for (int i = 0; i < before->count; i++) {
        if (before->all[i].cookie == cookie) {
            return before->all[i].since_ns;
        }
    }
    return now;
}

static void see(void *argument, int fd)
{
    struct weft_reap *reap = argument;
    struct weft_unknowns *seen = &reap->seen;
    const uint64_t cookie = weft_filter_is_unknown(fd) ? cookie_of(fd) : 0;
    const uint64_t now = reap->reaped_at_ns;
    const uint64_t since = first_seen(&reap->unknowns, cookie, now);

    if (cookie == 0) {
        return;
    }
    if (seen->count == WEFT_UNKNOWN_ROOM || now - since >= PATIENCE_NS) {
        end(reap, fd);
        return;
    }
    seen->all[seen->count++] =
        (struct weft_unknown){.fd = fd, .cookie = cookie, .since_ns = since};
}

static int youngest_first(const void *a, const void *b)
{
    const struct weft_unknown *x = a;
    const struct weft_unknown *y = b;

    return x->since_ns > y->since_ns ? -1 : x->since_ns < y->since_ns;
}

static void reap_old(struct weft_reap *reap, struct weft_descriptors *descriptors)
{
    struct weft_unknowns *seen = &reap->seen;

    reap->reaped_at_ns = weft_clock_ns();
    reap->looks_since = 0;
    seen->count = 0;
    weft_descriptors_for_all(descriptors, see, reap);
    qsort(seen->all, (size_t)seen->count, sizeof(seen->all[0]), youngest_first);
    while (seen->count > WEFT_UNKNOWN_MOST) {
        end(reap, seen->all[--seen->count].fd);
    }
    reap->unknowns = *seen;
}

static void end_unknown(void *argument, int fd)
{
    struct weft_reap *reap = argument;

    if (weft_filter_is_unknown(fd)) {
        (void)shutdown(fd, SHUT_RDWR);
        reap->ended++;
    }
}

int weft_reap_all(struct weft_reap *reap, struct weft_descriptors *descriptors)
{
    reap->ended = 0;
    weft_descriptors_for_all(descriptors, end_unknown, reap);
    return reap->ended;
}

/* ---- no descriptor left ---- */

static int reserve(const struct weft_early *early)
{
    return fcntl(early->listeners[0], F_DUPFD_CLOEXEC, 0);
}

/* Closes what waits to be accepted. */
static void turn_away(const struct weft_early *early)
{
    for (int i = 0; i < early->count; i++) {
        for (int fd;
             (fd = accept4(early->listeners[i], NULL, NULL, SOCK_CLOEXEC)) >= 0;) {
            close(fd);
        }
    }
}

/* A connection is pending: is there a descriptor for it? */
static void look_for_exhaustion(struct weft_reap *reap, const struct weft_early *early)
{
    const int one = reserve(early);

    reap->next_accepted = one; /* the lowest that is free */
    if (one >= 0 && reap->reserved < 0) {
        reap->reserved = one;
    } else if (one >= 0) {
        close(one);
    } else if (reap->reserved >= 0) {
        if (!reap->has_exhausted) {
            reap->has_exhausted = true;
            weft_log_warn(WEFT_S_NO_DESCRIPTOR);
        }
        close(reap->reserved);
        turn_away(early);
        reap->reserved = reserve(early);
    }
}

void weft_reap_open(struct weft_reap *reap, const struct weft_early *early)
{
    reap->reserved = reserve(early);
}

void weft_reap_close(struct weft_reap *reap)
{
    if (reap->reserved >= 0) {
        close(reap->reserved);
        reap->reserved = -1;
    }
}

/* ---- around the provider's calls ---- */

void weft_reap_before(struct weft_reap *reap, const struct weft_early *early,
                      struct weft_descriptors *descriptors)
{
    if (weft_early_is_pending(early)) {
        reap->looks_since++;
        look_for_exhaustion(reap, early);
    }
    if (reap->looks_since >= WEFT_LOOKS_MOST ||
        weft_clock_ns() - reap->reaped_at_ns >= REAP_NS) {
        reap_old(reap, descriptors);
    }
}

void weft_reap_after(struct weft_reap *reap)
{
    const int first = reap->next_accepted;

    for (int fd = first; first >= 0 && fd < first + 2 * WEFT_LISTENERS_MAX; fd++) {
        if (weft_filter_is_unknown(fd)) {
            weft_close_on_exec(fd);
        }
    }
    reap->next_accepted = -1;
}
