/* portals_model.c - see portals_model.h. Numbers in brackets are the paper's sections. */
#include "portals_model.h"

#include <assert.h>
#include <string.h>

void portals_init(struct portals *self, uint32_t process)
{
    memset(self, 0, sizeof(*self));
    self->process = process;
}

/* ---- match lists ---- */

void portals_attach(struct portals *self, uint32_t index, struct portals_entry *entry)
{
    struct portals_list *list = &self->table[index];

    assert(entry->list == NULL && entry->descriptor->entry == NULL);
    entry->list = list;
    entry->next = NULL;
    entry->previous = list->last;
    if (list->last != NULL) {
        list->last->next = entry;
    } else {
        list->first = entry;
    }
    list->last = entry;
    entry->descriptor->entry = entry;
}

void portals_attach_before(struct portals_entry *neighbour, struct portals_entry *entry)
{
    assert(entry->list == NULL && entry->descriptor->entry == NULL);
    entry->list = neighbour->list;
    entry->next = neighbour;
    entry->previous = neighbour->previous;
    if (neighbour->previous != NULL) {
        neighbour->previous->next = entry;
    } else {
        entry->list->first = entry;
    }
    neighbour->previous = entry;
    entry->descriptor->entry = entry;
}

void portals_attach_after(struct portals_entry *neighbour, struct portals_entry *entry)
{
    assert(entry->list == NULL && entry->descriptor->entry == NULL);
    entry->list = neighbour->list;
    entry->previous = neighbour;
    entry->next = neighbour->next;
    if (neighbour->next != NULL) {
        neighbour->next->previous = entry;
    } else {
        entry->list->last = entry;
    }
    neighbour->next = entry;
    entry->descriptor->entry = entry;
}

bool portals_unlink(struct portals_entry *entry)
{
    if (entry->list == NULL) {
        return false;
    }
    if (entry->previous != NULL) {
        entry->previous->next = entry->next;
    } else {
        entry->list->first = entry->next;
    }
    if (entry->next != NULL) {
        entry->next->previous = entry->previous;
    } else {
        entry->list->last = entry->previous;
    }
    entry->previous = entry->next = NULL;
    entry->list = NULL;
    entry->descriptor->entry = NULL;
    return true;
}

/* ---- events ---- */

void portals_events_init(struct portals_events *events, struct portals_event *ring,
                         size_t capacity)
{
    memset(events, 0, sizeof(*events));
    events->ring = ring;
    events->capacity = capacity;
}

bool portals_event_take(struct portals_events *events, struct portals_event *out)
{
    if (events->count == 0) {
        return false;
    }
    *out = events->ring[events->first];
    events->first = (events->first + 1) % events->capacity;
    events->count--;
    return true;
}

static void record(struct portals_events *events, const struct portals_event *event)
{
    if (events == NULL) {
        return;
    }
    if (events->count == events->capacity) {
        events->lost++;
        return;
    }
    events->ring[(events->first + events->count) % events->capacity] = *event;
    events->count++;
}

/* ---- descriptors ---- */

bool portals_is_active(const struct portals_descriptor *descriptor)
{
    return descriptor->threshold > 0 && descriptor->offset <= descriptor->max_offset;
}

bool portals_activate_if_empty(struct portals_descriptor *descriptor, uint32_t threshold,
                               const struct portals_events *events)
{
    if (events->count > 0) {
        return false;
    }
    descriptor->threshold = threshold;
    return true;
}

/*
 * One operation has happened on a descriptor: it counts, it is recorded with the state it
 * left, and if it was the last one the entry above may go with it (2).
 */
static void operate(struct portals_descriptor *descriptor, enum portals_event_type type,
                    struct portals_event event)
{
    if (descriptor->threshold != PORTALS_ENDLESS) {
        descriptor->threshold--;
    }
    event.type = type;
    event.descriptor = descriptor;
    event.state = *descriptor;
    record(descriptor->events, &event);
    if (!portals_is_active(descriptor) && descriptor->entry != NULL &&
        descriptor->entry->unlinks_when_consumed) {
        portals_unlink(descriptor->entry);
    }
}

/*
 * What a descriptor makes of a request: false if it refuses, else where and how much. A
 * descriptor refuses when it is inactive, not open to this kind of operation, or has less
 * room than asked for and does not truncate (2).
 */
static bool accepts(const struct portals_descriptor *descriptor, unsigned operation,
                    size_t remote_offset, struct portals_event *event)
{
    size_t offset = (descriptor->options & PORTALS_REMOTE_OFFSET) != 0
                        ? remote_offset
                        : descriptor->offset;
    size_t room = offset < descriptor->length ? descriptor->length - offset : 0;

    if (!portals_is_active(descriptor) || (descriptor->options & operation) == 0) {
        return false;
    }
    if (event->requested_length > room && (descriptor->options & PORTALS_TRUNCATE) == 0) {
        return false;
    }
    event->offset = offset;
    event->accepted_length =
        event->requested_length < room ? event->requested_length : room;
    return true;
}

/*
 * A managed offset moves on behind each message. The paper says so of what is deposited;
 * here a get reads on in the same way.
 */
static void advance(struct portals_descriptor *descriptor, size_t length)
{
    if ((descriptor->options & PORTALS_REMOTE_OFFSET) == 0) {
        descriptor->offset += length;
    }
}

/* ---- address translation ---- */

static bool selects(const struct portals_entry *entry,
                    const struct portals_event *request)
{
    if (entry->initiator != PORTALS_ANY_PROCESS &&
        entry->initiator != request->initiator) {
        return false;
    }
    return ((entry->match_bits ^ request->match_bits) & ~entry->ignore_bits) == 0;
}

/*
 * From the table to a match list, along it in order to the first entry that selects the
 * request and whose descriptor accepts it. Without one the request is discarded (2).
 */
static struct portals_descriptor *translate(const struct portals_address *address,
                                            unsigned operation,
                                            struct portals_event *event)
{
    struct portals_entry *entry = address->index < PORTALS_TABLE_SIZE
                                      ? address->target->table[address->index].first
                                      : NULL;

    for (; entry != NULL; entry = entry->next) {
        if (selects(entry, event) &&
            accepts(entry->descriptor, operation, address->offset, event)) {
            return entry->descriptor;
        }
    }
    address->target->dropped++;
    return NULL;
}

/* ---- operations ---- */

/* An answer that comes back: it needs a descriptor that still expects something. */
static void answer(struct portals *self, struct portals_descriptor *descriptor,
                   enum portals_event_type type, const struct portals_event *event)
{
    if (portals_is_active(descriptor)) {
        operate(descriptor, type, *event);
    } else {
        self->dropped++;
    }
}

bool portals_put(struct portals *self, struct portals_descriptor *from, bool wants_ack,
                 const struct portals_address *to, uint64_t header_data)
{
    struct portals_event event = {
        .initiator = self->process,
        .match_bits = to->match_bits,
        .header_data = header_data,
        .requested_length = from->length,
    };
    struct portals_event sent = event; /* knows nothing of the target */
    struct portals_descriptor *descriptor;
    bool sends_ack = false;

    if (!portals_is_active(from)) {
        return false;
    }
    descriptor = translate(to, PORTALS_PUT, &event);
    if (descriptor != NULL) {
        if (event.accepted_length > 0) {
            memcpy(descriptor->start + event.offset, from->start, event.accepted_length);
        }
        advance(descriptor, event.accepted_length);
        sends_ack = wants_ack && (descriptor->options & PORTALS_NO_ACK) == 0;
        operate(descriptor, PORTALS_EVENT_PUT, event);
    }
    sent.accepted_length = sent.requested_length;
    operate(from, PORTALS_EVENT_SENT, sent);
    if (sends_ack) {
        answer(self, from, PORTALS_EVENT_ACK, &event);
    }
    return true;
}

bool portals_get(struct portals *self, struct portals_descriptor *into,
                 const struct portals_address *from)
{
    struct portals_event event = {
        .initiator = self->process,
        .match_bits = from->match_bits,
        .requested_length = into->length,
    };
    struct portals_descriptor *descriptor;

    if (!portals_is_active(into)) {
        return false;
    }
    descriptor = translate(from, PORTALS_GET, &event);
    if (descriptor != NULL) {
        if (event.accepted_length > 0) {
            memcpy(into->start, descriptor->start + event.offset, event.accepted_length);
        }
        advance(descriptor, event.accepted_length);
        operate(descriptor, PORTALS_EVENT_GET, event);
        answer(self, into, PORTALS_EVENT_REPLY, &event);
    }
    return true;
}
