/*
 * fabric.c - bare libfabric: one connected endpoint per pair of ends.
 *
 * A message is one fi_send into one fi_recv of exactly its size, or an fi_inject where it
 * is short enough; nothing is copied, matched or acknowledged here. Posts go down in the
 * order of the calls, and what the provider does not take yet waits in a line per end and
 * direction. Everything moves when the completion queue is read.
 *
 * Spinning reads the queue and never sleeps; blocking sleeps on its descriptor. A
 * provider that wants memory registered gets it registered when it is allocated.
 */
#include "gauge/modules/fabric.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { AT_ONCE = 8 }; /* completions read by one call */

static struct gauge_option options[] = {
    {"provider", GAUGE_TEXT, "tcp", "NAME", "of libfabric, with connected endpoints"},
    {"wait", GAUGE_TEXT, "spin", "KIND", "how to wait: spin or block"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

/* A message under way, in the space of its request. */
struct message {
    struct fi_context2 context; /* first; the provider's while it is posted */
    struct gauge_request *next; /* in its line, while it is not */
    unsigned char *bytes;
    size_t size;
    int peer;
    bool is_send;
};
_Static_assert(sizeof(struct message) <= sizeof(((struct gauge_request *)0)->space),
               "a message fits into a request");

static struct message *message_of(struct gauge_request *request)
{
    return (struct message *)(void *)request->space;
}

/* Messages */

static void *descriptor_of(const struct fabric *fabric, const struct message *message)
{
    for (const struct region *r = fabric->regions; r != NULL; r = r->next) {
        if (message->bytes >= r->base &&
            message->bytes + message->size <= r->base + r->size) {
            return weft_ofi_descriptor(r->mr);
        }
    }
    return NULL;
}

/* A provider that injects nothing does not even take what is empty that way. */
static bool is_injected(const struct fabric *fabric, const struct message *message)
{
    size_t most = fabric->info->tx_attr->inject_size;

    return message->is_send && most > 0 && message->size <= most;
}

static ssize_t post_one(struct fabric *fabric, struct gauge_request *request)
{
    struct message *m = message_of(request);
    struct fid_ep *ep = fabric->peer[m->peer].ep;
    ssize_t code = -FI_EAGAIN;

    if (is_injected(fabric, m)) {
        code = fi_inject(ep, m->bytes, m->size, 0);
        request->is_done = code == 0;
        return code;
    }
    if (fabric->posted[m->is_send] < fabric->most) {
        void *descriptor = descriptor_of(fabric, m);

        code = m->is_send ? fi_send(ep, m->bytes, m->size, descriptor, 0, &m->context)
                          : fi_recv(ep, m->bytes, m->size, descriptor, 0, &m->context);
        fabric->posted[m->is_send] += code == 0 ? 1 : 0;
    }
    return code;
}

static enum gauge_rc post_line(struct fabric *fabric, struct line *line)
{
    while (line->first != NULL) {
        /* Read before it is posted: then its space may be used again at any time. */
        struct gauge_request *next = message_of(line->first)->next;
        ssize_t code = post_one(fabric, line->first);

        if (code == -FI_EAGAIN) {
            return GAUGE_OK;
        }
        if (code != 0) {
            return fabric_fail("a message is not taken", code);
        }
        line->first = next;
        fabric->unposted--;
        if (next == NULL) {
            line->last = &line->first;
        }
    }
    return GAUGE_OK;
}

static enum gauge_rc post_all(struct fabric *fabric)
{
    enum gauge_rc rc = GAUGE_OK;

    for (int i = 0; rc == GAUGE_OK && fabric->unposted > 0 && i < 2 * fabric->ends; i++) {
        rc = post_line(fabric, &fabric->peer[i / 2].line[i % 2]);
    }
    return rc;
}

/* The queue stays blocked until its error was read. */
static enum gauge_rc fail_completion(struct fabric *fabric)
{
    struct fi_cq_err_entry error = {.err = FI_EOTHER};

    fi_cq_readerr(fabric->cq, &error, 0);
    return fabric_fail("a message has failed", error.err);
}

static enum gauge_rc progress(struct fabric *fabric)
{
    struct fi_cq_entry entry[AT_ONCE];
    ssize_t count = fi_cq_read(fabric->cq, entry, AT_ONCE);

    if (count == -FI_EAVAIL) {
        return fail_completion(fabric);
    }
    if (count < 0 && count != -FI_EAGAIN) {
        return fabric_fail("completions cannot be read", count);
    }
    for (ssize_t i = 0; i < count; i++) {
        struct message *m = entry[i].op_context;
        struct gauge_request *request =
            (struct gauge_request *)(void *)((unsigned char *)m -
                                             offsetof(struct gauge_request, space));

        fabric->posted[m->is_send]--;
        request->is_done = true;
    }
    return fabric->unposted > 0 ? post_all(fabric) : GAUGE_OK;
}

static enum gauge_rc start(struct gauge_module *module, int peer, const void *buffer,
                           size_t size, bool is_send, struct gauge_request *request)
{
    struct fabric *fabric = module->state;
    struct line *line = &fabric->peer[peer].line[is_send];
    struct message *m = message_of(request);

    request->is_done = false;
    m->next = NULL;
    m->bytes = (unsigned char *)(uintptr_t)buffer;
    m->size = size;
    m->peer = peer;
    m->is_send = is_send;
    *line->last = request;
    line->last = &m->next;
    fabric->unposted++;
    return post_line(fabric, line);
}

static enum gauge_rc fabric_isendto(struct gauge_module *module, int dest,
                                    const void *buffer, size_t size,
                                    struct gauge_request *request)
{
    return start(module, dest, buffer, size, true, request);
}

static enum gauge_rc fabric_irecvfrom(struct gauge_module *module, int source,
                                      void *buffer, size_t size,
                                      struct gauge_request *request)
{
    return start(module, source, buffer, size, false, request);
}

static enum gauge_rc fabric_test(struct gauge_module *module,
                                 struct gauge_request *request)
{
    (void)request;
    return progress(module->state);
}

/* Who waits for room with the provider is not told of it, and must not sleep. */
static void sleep_for_any(const struct fabric *fabric)
{
    struct fid *cq = &fabric->cq->fid;
    struct pollfd ready = {.fd = fabric->wait_fd, .events = POLLIN};

    if (fabric->unposted == 0 && fi_trywait(fabric->fabric, &cq, 1) == 0) {
        poll(&ready, 1, -1);
    }
}

static enum gauge_rc fabric_wait(struct gauge_module *module,
                                 struct gauge_request *request)
{
    struct fabric *fabric = module->state;
    enum gauge_rc rc = GAUGE_OK;

    while (rc == GAUGE_OK && !request->is_done) {
        rc = progress(fabric);
        if (fabric->is_blocking && !request->is_done) {
            sleep_for_any(fabric);
        }
    }
    return rc;
}

static enum gauge_rc transfer_now(struct gauge_module *module, int peer,
                                  const void *buffer, size_t size, bool is_send)
{
    struct gauge_request request;
    enum gauge_rc rc = start(module, peer, buffer, size, is_send, &request);

    return rc == GAUGE_OK ? fabric_wait(module, &request) : rc;
}

static enum gauge_rc fabric_sendto(struct gauge_module *module, int dest,
                                   const void *buffer, size_t size)
{
    return transfer_now(module, dest, buffer, size, true);
}

static enum gauge_rc fabric_recvfrom(struct gauge_module *module, int source,
                                     void *buffer, size_t size)
{
    return transfer_now(module, source, buffer, size, false);
}

/* Memory */

static void *fabric_alloc(struct gauge_module *module, size_t size)
{
    struct fabric *fabric = module->state;
    struct region *region = calloc(1, sizeof(*region));
    long page = sysconf(_SC_PAGESIZE);

    if (region == NULL) {
        return NULL;
    }
    region->size = size;
    region->base = aligned_alloc((size_t)page, size);
    if (region->base != NULL && (fabric->info->domain_attr->mr_mode & FI_MR_LOCAL) &&
        fi_mr_reg(fabric->domain, region->base, size, FI_SEND | FI_RECV, 0, 0, 0,
                  &region->mr, NULL) != 0) {
        free(region->base);
        region->base = NULL;
    }
    if (region->base == NULL) {
        free(region);
        return NULL;
    }
    region->next = fabric->regions;
    fabric->regions = region;
    return region->base;
}

static void drop_region(struct region **at)
{
    struct region *region = *at;

    *at = region->next;
    weft_ofi_unregister(region->mr);
    free(region->base);
    free(region);
}

static void fabric_free(struct gauge_module *module, void *buffer)
{
    struct fabric *fabric = module->state;

    for (struct region **at = &fabric->regions; *at != NULL; at = &(*at)->next) {
        if ((*at)->base == buffer) {
            drop_region(at);
            return;
        }
    }
}

/* The module */

/* What stands on another is closed before it. */
static void fabric_shutdown(struct gauge_module *module)
{
    struct fabric *fabric = module->state;

    fabric_disconnect(fabric);
    while (fabric->regions != NULL) {
        drop_region(&fabric->regions);
    }
    fabric_close(fabric);
    free(fabric->peer);
    free(fabric);
    module->state = NULL;
}

static enum gauge_rc fabric_init(struct gauge_module *module,
                                 const struct gauge_world *world)
{
    struct fabric *fabric = calloc(1, sizeof(*fabric));

    if (fabric == NULL || weft_libfabric_open() != WEFT_OK) {
        free(fabric);
        return gauge_fail("fabric: libfabric cannot be used");
    }
    module->state = fabric;
    fabric->end = world->end;
    fabric->ends = world->ends;
    fabric->provider = gauge_option_text(options, "provider");
    fabric->is_blocking = strcmp(gauge_option_text(options, "wait"), "block") == 0;
    fabric->peer = calloc((size_t)world->ends, sizeof(*fabric->peer));
    for (int i = 0; fabric->peer != NULL && i < 2 * world->ends; i++) {
        struct line *line = &fabric->peer[i / 2].line[i % 2];

        line->last = &line->first;
    }
    if (fabric->peer == NULL || fabric_meet(fabric, world) != GAUGE_OK ||
        world->barrier(world) != GAUGE_OK) {
        fabric_shutdown(module);
        return GAUGE_FAILED;
    }
    return GAUGE_OK;
}

static void fabric_facts(struct gauge_module *module,
                         void (*put)(void *arg, const char *key, const char *value),
                         void *arg)
{
    const struct fabric *fabric = module->state;
    uint32_t version = weft_libfabric.version();
    char text[32];

    snprintf(text, sizeof(text), "%u.%u", FI_MAJOR(version), FI_MINOR(version));
    put(arg, "libfabric", text);
    put(arg, "provider", fabric->info->fabric_attr->prov_name);
}

/* Whether it is there can only be seen by loading it, which takes a moment. */
static const char *fabric_available(struct gauge_module *module)
{
    (void)module;
    setenv("IPATH_NO_BACKTRACE", "1", 0); /* see library.c */
    return dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL) != NULL
               ? NULL
               : "libfabric cannot be loaded (Debian's package libfabric1)";
}

static const char *fabric_configure(struct gauge_module *module)
{
    const char *kind = gauge_option_text(options, "wait");

    (void)module;
    return strcmp(kind, "spin") == 0 || strcmp(kind, "block") == 0
               ? NULL
               : "--wait is spin or block";
}

struct gauge_module gauge_fabric = {
    .name = "fabric",
    .description = "bare libfabric, connected endpoints, spinning or blocking",
    .flags = GAUGE_RELIABLE | GAUGE_CHANNEL | GAUGE_REGISTRATION,
    .options = options,
    .available = fabric_available,
    .configure = fabric_configure,
    .init = fabric_init,
    .shutdown = fabric_shutdown,
    .facts = fabric_facts,
    .alloc = fabric_alloc,
    .free = fabric_free,
    .sendto = fabric_sendto,
    .recvfrom = fabric_recvfrom,
    .isendto = fabric_isendto,
    .irecvfrom = fabric_irecvfrom,
    .test = fabric_test,
    .wait = fabric_wait,
};
