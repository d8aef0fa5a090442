/*
 * shm.c - messages through shared memory: the floor below every transport of one machine.
 *
 * Up to 48 bytes travel in one cache line that the receiver watches; no lock, no
 * matching, no header but turn and length. Longer ones are cut into chunks of 16 KiB that
 * are copied in and out, so that both ends work at the same time.
 *
 * What is under way waits in a queue per peer and direction, because order is matching.
 * The common case, an empty queue, does not touch it.
 */
#include "gauge/module.h"
#include "gauge/modules/ring.h"

#include <stdlib.h>
#include <string.h>

/* What lies in a request's space while it is under way. */
struct transfer {
    struct gauge_request *next;
    unsigned char *bytes;
    size_t size;
    size_t done;
    int peer;
    bool is_send;
};
_Static_assert(sizeof(struct transfer) <= sizeof(((struct gauge_request *)0)->space),
               "a transfer fits into a request");

struct queue {
    struct gauge_request *first;
    struct gauge_request **last;
};

struct shm {
    struct ring_memory memory;
    struct queue *sends; /* to each end */
    struct queue *receives;
    int ends;
    int under_way; /* in all queues */
};

static struct transfer *transfer_of(struct gauge_request *request)
{
    return (struct transfer *)(void *)request->space;
}

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

static void advance(struct shm *shm, struct queue *queue)
{
    while (queue->first != NULL) {
        struct gauge_request *request = queue->first;
        struct transfer *t = transfer_of(request);

        if (!(t->is_send ? push(&shm->memory.out[t->peer], t)
                         : pull(&shm->memory.in[t->peer], t))) {
            return;
        }
        queue->first = t->next;
        if (queue->first == NULL) {
            queue->last = &queue->first;
        }
        shm->under_way--;
        request->is_done = true;
    }
}

static void progress(struct shm *shm)
{
    for (int i = 0; shm->under_way > 0 && i < shm->ends; i++) {
        advance(shm, &shm->receives[i]);
        advance(shm, &shm->sends[i]);
    }
}

static void enqueue(struct shm *shm, struct queue *queue, struct gauge_request *request)
{
    *queue->last = request;
    queue->last = &transfer_of(request)->next;
    shm->under_way++;
}

static enum gauge_rc shm_test(struct gauge_module *module, struct gauge_request *request)
{
    (void)request;
    progress(module->state);
    return GAUGE_OK;
}

static enum gauge_rc start(struct shm *shm, struct queue *queue, int peer, void *buffer,
                           size_t size, bool is_send, struct gauge_request *request)
{
    *transfer_of(request) = (struct transfer){
        .bytes = buffer, .size = size, .peer = peer, .is_send = is_send};
    enqueue(shm, queue, request);
    advance(shm, queue);
    return GAUGE_OK;
}

static enum gauge_rc shm_isendto(struct gauge_module *module, int dest,
                                 const void *buffer, size_t size,
                                 struct gauge_request *request)
{
    struct shm *shm = module->state;

    return start(shm, &shm->sends[dest], dest, (void *)(uintptr_t)buffer, size, true,
                 request);
}

static enum gauge_rc shm_irecvfrom(struct gauge_module *module, int source, void *buffer,
                                   size_t size, struct gauge_request *request)
{
    struct shm *shm = module->state;

    return start(shm, &shm->receives[source], source, buffer, size, false, request);
}

static enum gauge_rc wait_for(struct shm *shm, struct gauge_request *request)
{
    unsigned looks = 0;

    while (!request->is_done) {
        progress(shm);
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
    struct transfer t = {.bytes = (unsigned char *)(uintptr_t)buffer, .size = size};
    unsigned looks = 0;

    if (shm->sends[dest].first != NULL) {
        struct gauge_request request = {.is_done = false};

        shm_isendto(module, dest, buffer, size, &request);
        return wait_for(shm, &request);
    }
    while (!push(&shm->memory.out[dest], &t)) {
        progress(shm);
        ring_pause(&looks);
    }
    return GAUGE_OK;
}

static enum gauge_rc shm_recvfrom(struct gauge_module *module, int source, void *buffer,
                                  size_t size)
{
    struct shm *shm = module->state;
    struct transfer t = {.bytes = buffer, .size = size};
    unsigned looks = 0;

    if (shm->receives[source].first != NULL) {
        struct gauge_request request = {.is_done = false};

        shm_irecvfrom(module, source, buffer, size, &request);
        return wait_for(shm, &request);
    }
    while (!pull(&shm->memory.in[source], &t)) {
        progress(shm);
        ring_pause(&looks);
    }
    return GAUGE_OK;
}

static void shm_shutdown(struct gauge_module *module)
{
    struct shm *shm = module->state;

    ring_close(&shm->memory);
    free(shm->sends);
    free(shm->receives);
    free(shm);
    module->state = NULL;
}

static enum gauge_rc shm_init(struct gauge_module *module,
                              const struct gauge_world *world)
{
    struct shm *shm = calloc(1, sizeof(*shm));
    size_t ends = (size_t)world->ends;

    if (shm == NULL) {
        return gauge_fail("shm: no memory");
    }
    module->state = shm;
    shm->ends = world->ends;
    shm->sends = calloc(ends, sizeof(*shm->sends));
    shm->receives = calloc(ends, sizeof(*shm->receives));
    if (shm->sends == NULL || shm->receives == NULL ||
        ring_open(&shm->memory, world, "shm") != GAUGE_OK) {
        shm_shutdown(module);
        return GAUGE_FAILED;
    }
    for (size_t i = 0; i < ends; i++) {
        shm->sends[i].last = &shm->sends[i].first;
        shm->receives[i].last = &shm->receives[i].first;
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
