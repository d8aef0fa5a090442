/*
 * dispatch.c - where a packet goes when it has arrived: one comparison for its kind, one
 * for its length, then its handler. Every entry of the table has a handler; that of a
 * kind that nobody has registered refuses the packet.
 */
#include "engine/engine.h"

#include "engine/hot.h"

#include <assert.h>
#include <stdio.h>

static void on_unknown(void *owner, struct weft_peer *from,
                       const struct weft_header *header, const void *data, size_t len)
{
    (void)owner;
    (void)data;
    weft_engine_reject(from, header, len, "there is no such kind");
}

static const struct weft_packet_kind unknown = {
    .handler = on_unknown,
    .span = UINT32_MAX,
    .name = "none",
};

void weft_engine_open(struct weft_job *job)
{
    struct weft_engine *e = &weft_engine;

    *e = (struct weft_engine){
        .up =
            {
                .owner = e,
                .meet = weft_engine_meet,
                .arrived = weft_engine_arrived,
                .lost = weft_engine_lost,
                .packet_version = WEFT_WIRE_VERSION,
            },
        .job = job,
        .me = weft_process(job->segment.job, (uint32_t)job->who.rank),
        .failures = weft_segment_failed_count(&job->segment),
    };
    weft_table_open(&e->peers);
    for (int i = 0; i < WEFT_KINDS; i++) {
        e->kinds[i] = unknown;
    }
}

void weft_engine_kind(uint8_t number, const struct weft_packet_kind *kind)
{
    assert(number < WEFT_KINDS && kind->handler != NULL && kind->name != NULL);
    assert(weft_engine.kinds[number].handler == on_unknown);
    weft_engine.kinds[number] = *kind;
}

static const char *name_of(uint8_t kind)
{
    return kind < WEFT_KINDS ? weft_engine.kinds[kind].name : unknown.name;
}

void weft_engine_reject(const struct weft_peer *from, const struct weft_header *header,
                        size_t len, const char *what)
{
    struct weft_job *job = weft_engine.job;
    const uint32_t rank = weft_engine_rank(from->process);
    char packet[128] = "";
    char cause[WEFT_CAUSE_BYTES];

    if (header != NULL) {
        snprintf(packet, sizeof(packet), " (a packet of kind %u, %s, with %zu bytes)",
                 header->kind, name_of(header->kind), len);
    }
    snprintf(cause, sizeof(cause),
             "what came from rank %u on node %u makes no sense: %s%s; its memory is "
             "damaged, or it runs another version of Weft",
             rank, weft_segment_map(&job->segment)[rank].node, what, packet);
    weft_wireup_abort(job, 1, cause);
}

/* In the place of the handler, for a packet that is not like its kind. */
static void on_unlike(void *owner, struct weft_peer *from,
                      const struct weft_header *header, const void *data, size_t len)
{
    const char *why = header->channel != 0         ? "there is no such channel"
                      : header->kind >= WEFT_KINDS ? "there is no such kind"
                                                   : "no such packet is as long";

    (void)owner;
    (void)data;
    weft_engine_reject(from, header, len, why);
}

void weft_engine_arrived(void *owner, struct weft_peer *from, const void *bytes,
                         const void *data, size_t len)
{
    const struct weft_header *header = bytes; /* cells keep it aligned to 4 */
    weft_handler *handler = on_unlike;

    if (weft_likely((header->kind | header->channel << 8) < WEFT_KINDS)) {
        const struct weft_packet_kind *kind = &weft_engine.kinds[header->kind];

        if (weft_likely((uint32_t)len - kind->least <= kind->span)) {
            handler = kind->handler;
        }
    }
    handler(owner, from, header, data, len);
}
