#include "link.h"

#include "version.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 64 * 1024, NOISE_MOST = 1024 * 1024 };

void link_open(struct link *link, int in, int out)
{
    memset(link, 0, sizeof(*link));
    link->in = in;
    link->out = out;
    link->heard = link->spoke = weft_clock_ns();
    fcntl(in, F_SETFL, fcntl(in, F_GETFL) | O_NONBLOCK);
    fcntl(out, F_SETFL, fcntl(out, F_GETFL) | O_NONBLOCK);
}

void link_close(struct link *link)
{
    if (link->in >= 0) {
        close(link->in);
    }
    if (link->out >= 0 && link->out != link->in) {
        close(link->out);
    }
    link->in = link->out = -1;
    bytes_free(&link->arrived);
    bytes_free(&link->waiting);
}

bool link_flush(struct link *link)
{
    while (link->waiting.count > 0 && link->out >= 0) {
        ssize_t n = write(link->out, link->waiting.at, link->waiting.count);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return true;
        }
        if (n < 0) {
            bytes_free(&link->waiting); /* nobody can read it: do not wait for room */
            return false;
        }
        bytes_drop(&link->waiting, (size_t)n);
    }
    return true;
}

void link_send(struct link *link, const struct frame *frame, const void *payload)
{
    assert(frame->bytes == 0 || payload != NULL);
    if (link->out < 0) {
        return;
    }
    bytes_add(&link->waiting, frame, sizeof(*frame));
    bytes_add(&link->waiting, payload, frame->bytes);
    bytes_add(&link->waiting, "\n", FRAME_END);
    link->spoke = weft_clock_ns();
    link_flush(link); /* that the other side is gone is seen when reading */
}

void link_write(struct link *link, const void *from, size_t bytes)
{
    bytes_add(&link->waiting, from, bytes);
    link_flush(link);
}

void link_greet(struct link *link)
{
    struct greeting greeting = {.protocol = PROTOCOL_VERSION};

    memcpy(greeting.magic, PROTOCOL_MAGIC, sizeof(PROTOCOL_MAGIC));
    snprintf(greeting.version, sizeof(greeting.version), "%s", WEFT_VERSION);
    bytes_add(&link->waiting, &greeting, sizeof(greeting));
    bytes_add(&link->waiting, "\n", FRAME_END);
    link_flush(link);
}

static bool is_ours(const struct greeting *greeting)
{
    return greeting->protocol == PROTOCOL_VERSION &&
           strncmp(greeting->version, WEFT_VERSION, sizeof(greeting->version)) == 0;
}

/* Looks for the greeting behind whatever a login shell has printed. */
static enum link_news look_for_greeting(struct link *link, struct greeting *greeting)
{
    const char *found = NULL;

    if (link->arrived.count >= sizeof(PROTOCOL_MAGIC)) {
        found = memmem(link->arrived.at, link->arrived.count, PROTOCOL_MAGIC,
                       sizeof(PROTOCOL_MAGIC));
    }
    if (found == NULL) {
        return link->arrived.count > NOISE_MOST ? LINK_ENDED : LINK_FINE;
    }
    bytes_drop(&link->arrived, (size_t)(found - link->arrived.at));
    if (link->arrived.count < sizeof(*greeting) + FRAME_END) {
        return LINK_FINE;
    }
    memcpy(greeting, link->arrived.at, sizeof(*greeting));
    greeting->version[sizeof(greeting->version) - 1] = '\0';
    bytes_drop(&link->arrived, sizeof(*greeting) + FRAME_END);
    link->is_greeted = true;
    return is_ours(greeting) ? LINK_FINE : LINK_OTHER;
}

/* The frames that are there; what they lead to may close the link. */
static enum link_news hand_out(struct link *link, frame_fn *handler, void *owner)
{
    size_t at = 0;

    while (link->in >= 0 && link->arrived.count - at >= sizeof(struct frame)) {
        struct frame frame;

        memcpy(&frame, link->arrived.at + at, sizeof(frame));
        if (frame.bytes > FRAME_MOST || frame.kind == 0 || frame.kind >= FRAME_KINDS) {
            return LINK_NONSENSE;
        }
        if (link->arrived.count - at < sizeof(frame) + frame.bytes + FRAME_END) {
            break;
        }
        handler(owner, link, &frame, link->arrived.at + at + sizeof(frame));
        at += sizeof(frame) + frame.bytes + FRAME_END;
    }
    if (link->in >= 0) {
        bytes_drop(&link->arrived, at);
    }
    return LINK_FINE;
}

enum link_news link_read(struct link *link, struct greeting *greeting, frame_fn *handler,
                         void *owner)
{
    static char text[READ_BYTES];
    ssize_t n = read(link->in, text, sizeof(text));

    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? LINK_FINE : LINK_ENDED;
    }
    if (n == 0) {
        return LINK_ENDED;
    }
    link->heard = weft_clock_ns();
    bytes_add(&link->arrived, text, (size_t)n);
    if (!link->is_greeted) {
        enum link_news news = look_for_greeting(link, greeting);

        if (news != LINK_FINE || !link->is_greeted) {
            return news;
        }
    }
    return hand_out(link, handler, owner);
}
