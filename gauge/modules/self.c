/*
 * self.c - one end that talks to itself through a queue of copies: what memcpy costs.
 *
 * A send copies into a ring of bytes, a receive copies out of it. The ring grows when a
 * pattern has more under way than it holds.
 */
#include "gauge/module.h"

#include <stdlib.h>
#include <string.h>

struct self {
    char *bytes;
    size_t room;
    size_t from; /* where the oldest message begins */
    size_t to;   /* where the next one goes */
};

static enum gauge_rc self_init(struct gauge_module *module,
                               const struct gauge_world *world)
{
    (void)world;
    module->state = calloc(1, sizeof(struct self));
    return module->state != NULL ? GAUGE_OK : gauge_fail("self: no memory");
}

static void self_shutdown(struct gauge_module *module)
{
    struct self *self = module->state;

    free(self->bytes);
    free(self);
    module->state = NULL;
}

static enum gauge_rc self_sendto(struct gauge_module *module, int dest,
                                 const void *buffer, size_t size)
{
    struct self *self = module->state;

    (void)dest;
    if (self->to + size > self->room) {
        size_t room = 2 * (self->to + size);
        char *grown = realloc(self->bytes, room);

        if (grown == NULL) {
            return gauge_fail("self: no memory for %zu bytes", room);
        }
        self->bytes = grown;
        self->room = room;
    }
    if (size > 0) {
        memcpy(self->bytes + self->to, buffer, size);
    }
    self->to += size;
    return GAUGE_OK;
}

static enum gauge_rc self_recvfrom(struct gauge_module *module, int source, void *buffer,
                                   size_t size)
{
    struct self *self = module->state;

    (void)source;
    if (self->to - self->from < size) {
        return gauge_fail("self: a receive of %zu bytes that nobody sent", size);
    }
    if (size > 0) {
        memcpy(buffer, self->bytes + self->from, size);
    }
    self->from += size;
    if (self->from == self->to) {
        self->from = self->to = 0;
    }
    return GAUGE_OK;
}

struct gauge_module gauge_self = {
    .name = "self",
    .description = "one end copies to itself: what memory alone costs",
    .flags = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_ALONE | GAUGE_ONE_NODE,
    .init = self_init,
    .shutdown = self_shutdown,
    .sendto = self_sendto,
    .recvfrom = self_recvfrom,
};
