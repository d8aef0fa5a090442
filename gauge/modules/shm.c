/*
 * shm.c - messages through shared memory: the floor below every transport of one machine.
 *
 * Up to 48 bytes travel in one cache line that the receiver watches; no lock, no
 * matching, no header but turn and length. Longer ones are cut into chunks of 16 KiB that
 * are copied in and out, so that both ends work at the same time.
 *
 * What is under way waits in queues (queue.h). The common case, an empty queue, does not
 * touch them.
 */
#include "gauge/modules/queue.h"
#include "gauge/modules/ring.h"

#include <stdlib.h>
#include <string.h>

struct shm {
    struct ring_memory memory;
    struct queues queues;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Moves what can be moved now; true when the whole message has gone. */
static bool push(struct ring_end *out, struct transfer *t)
{
    do {
        size_t length = least(t->size - t->done, RING_CHUNK);

        if (!ring_put(out, t->bytes + t->done, length, t->size)) {
            return false;
        }
        t->done += length;
    } while (t->done < t->size);
    return true;
}

static bool pull(struct ring_end *in, struct transfer *t)
{
    do {
        struct ring_cell *cell = ring_look(in);
        size_t length = 0;

        if (cell == NULL) {
            return false;
        }
        length = least(cell->length, t->size - t->done);
        if (length > 0) {
            memcpy(t->bytes + t->done, ring_bytes(in, cell), length);
        }
        ring_take(in);
        t->done += length;
    } while (t->done < t->size);
    return true;
}

static enum gauge_rc move(void *owner, struct transfer *t)
{
    struct shm *shm = owner;

    t->is_over = t->is_send ? push(&shm->memory.out[t->peer], t)
                            : pull(&shm->memory.in[t->peer], t);
    return GAUGE_OK;
}

static enum gauge_rc shm_test(struct gauge_module *module, struct gauge_request *request)
{
    struct shm *shm = module->state;

    (void)request;
    return queues_progress(&shm->queues);
}

static enum gauge_rc shm_isendto(struct gauge_module *module, int dest,
                                 const void *buffer, size_t size,
                                 struct gauge_request *request)
{
    struct shm *shm = module->state;
    struct transfer t = transfer_make(dest, buffer, size, true);

    return queues_start(&shm->queues, &t, request);
}

static enum gauge_rc shm_irecvfrom(struct gauge_module *module, int source, void *buffer,
                                   size_t size, struct gauge_request *request)
{
    struct shm *shm = module->state;
    struct transfer t = transfer_make(source, buffer, size, false);

    return queues_start(&shm->queues, &t, request);
}

static enum gauge_rc wait_for(struct shm *shm, struct gauge_request *request)
{
    unsigned looks = 0;

    while (!request->is_done) {
        queues_progress(&shm->queues);
        ring_pause(&looks);
    }
    return GAUGE_OK;
}

static enum gauge_rc shm_wait(struct gauge_module *module, struct gauge_request *request)
{
    return wait_for(module->state, request);
}

static enum gauge_rc shm_sendto(struct gauge_module *module, int dest, const void *buffer,
                                size_t size)
{
    struct shm *shm = module->state;
    struct transfer t = transfer_make(dest, buffer, size, true);
    unsigned looks = 0;

    if (shm->queues.sends[dest].first != NULL) {
        struct gauge_request request = {.is_done = false};

        shm_isendto(module, dest, buffer, size, &request);
        return wait_for(shm, &request);
    }
    while (!push(&shm->memory.out[dest], &t)) {
        queues_progress(&shm->queues);
        ring_pause(&looks);
    }
    return GAUGE_OK;
}

static enum gauge_rc shm_recvfrom(struct gauge_module *module, int source, void *buffer,
                                  size_t size)
{
    struct shm *shm = module->state;
    struct transfer t = transfer_make(source, buffer, size, false);
    unsigned looks = 0;

    if (shm->queues.receives[source].first != NULL) {
        struct gauge_request request = {.is_done = false};

        shm_irecvfrom(module, source, buffer, size, &request);
        return wait_for(shm, &request);
    }
    while (!pull(&shm->memory.in[source], &t)) {
        queues_progress(&shm->queues);
        ring_pause(&looks);
    }
    return GAUGE_OK;
}

static void shm_shutdown(struct gauge_module *module)
{
    struct shm *shm = module->state;

    ring_close(&shm->memory);
    queues_close(&shm->queues);
    free(shm);
    module->state = NULL;
}

static enum gauge_rc shm_init(struct gauge_module *module,
                              const struct gauge_world *world)
{
    struct shm *shm = calloc(1, sizeof(*shm));

    if (shm == NULL) {
        return gauge_fail("shm: no memory");
    }
    module->state = shm;
    if (queues_open(&shm->queues, world->ends, move, shm, "shm") != GAUGE_OK ||
        ring_open(&shm->memory, world, "shm") != GAUGE_OK) {
        shm_shutdown(module);
        return GAUGE_FAILED;
    }
    return GAUGE_OK;
}

struct gauge_module gauge_shm = {
    .name = "shm",
    .description = "one cache line through shared memory: the floor of one machine",
    .flags = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_ONE_NODE,
    .init = shm_init,
    .shutdown = shm_shutdown,
    .sendto = shm_sendto,
    .recvfrom = shm_recvfrom,
    .isendto = shm_isendto,
    .irecvfrom = shm_irecvfrom,
    .test = shm_test,
    .wait = shm_wait,
};
