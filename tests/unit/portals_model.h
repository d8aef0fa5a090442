/*
 * portals_model.h - Portals 3 as the paper tells it, small and naive, to compare with.
 *
 * "Design, Implementation, and Performance of MPI on Portals 3.0", section 2, with the
 * two changes of section 5: one memory descriptor per match entry, and the maximum
 * offset. All processes live in one address space, and an operation is over when its call
 * returns. It is slow on purpose: an address is translated by walking a list.
 *
 *      portals       one process's network interface: its number and its Portal table
 *      entry         a match entry: who may use it, by initiator, match and ignore bits
 *      descriptor    a piece of memory, what may be done with it, and how often
 *      events        a ring in which operations on descriptors are recorded
 *
 * The caller owns all memory. A linked entry and its descriptor stay where they are.
 */
#ifndef WEFT_TEST_PORTALS_MODEL_H
#define WEFT_TEST_PORTALS_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PORTALS_TABLE_SIZE = 64 };

#define PORTALS_ANY_PROCESS UINT32_MAX /* as an entry's initiator */
#define PORTALS_ENDLESS     UINT32_MAX /* a threshold that is never used up */
#define PORTALS_NO_MARK     SIZE_MAX   /* a maximum offset that is never passed */

enum portals_option {
    PORTALS_PUT = 1,      /* answers puts */
    PORTALS_GET = 2,      /* answers gets */
    PORTALS_TRUNCATE = 4, /* takes what fits of a longer message, else none of it */
    PORTALS_REMOTE_OFFSET =
        8,               /* the initiator names the place, else one after the other */
    PORTALS_NO_ACK = 16, /* never acknowledges; the default is to do so when asked */
};

enum portals_event_type {
    PORTALS_EVENT_GET,   /* target: a get was answered */
    PORTALS_EVENT_PUT,   /* target: a put was accepted */
    PORTALS_EVENT_SENT,  /* initiator: the memory of a put may be changed again */
    PORTALS_EVENT_REPLY, /* initiator: what a get asked for has been stored */
    PORTALS_EVENT_ACK,   /* initiator: the target says what became of a put */
};

struct portals_entry;
struct portals_events;

/*
 * An operation takes one off the threshold, whichever of the five it is, on either side.
 * A descriptor is active until that is zero or its own offset has passed the mark.
 */
struct portals_descriptor {
    char *start;
    size_t length;
    uint32_t threshold;
    unsigned options;
    size_t max_offset;             /* the high-water mark of section 5 */
    size_t offset;                 /* where the next message goes, if managed here */
    struct portals_events *events; /* or NULL: nothing is recorded */
    struct portals_entry *entry;   /* where it is attached, or NULL */
};

struct portals_entry {
    uint32_t initiator; /* or PORTALS_ANY_PROCESS */
    uint64_t match_bits;
    uint64_t ignore_bits;       /* these do not have to agree */
    bool unlinks_when_consumed; /* leaves the list when its descriptor becomes inactive */
    struct portals_descriptor *descriptor;

    struct portals_entry *previous; /* the model's own from here */
    struct portals_entry *next;
    struct portals_list *list; /* NULL: not linked */
};

struct portals_list {
    struct portals_entry *first;
    struct portals_entry *last;
};

struct portals {
    uint32_t process;
    struct portals_list table[PORTALS_TABLE_SIZE];
    uint64_t dropped; /* requests that no entry took, answers that found no descriptor */
};

struct portals_event {
    enum portals_event_type type;
    uint32_t initiator;
    uint64_t match_bits;
    uint64_t header_data;    /* 64 bits beside the message (3.2) */
    size_t requested_length; /* what the initiator asked for */
    size_t accepted_length;  /* what was moved */
    size_t offset;           /* where, in the target's descriptor */
    struct portals_descriptor *descriptor;
    struct portals_descriptor state; /* the descriptor as it was just after */
};

/* A ring. With no room left an event is lost, and counted. */
struct portals_events {
    struct portals_event *ring;
    size_t capacity;
    size_t first;
    size_t count;
    uint64_t lost;
};

/* Where a request goes: process, Portal index, match bits, offset. */
struct portals_address {
    struct portals *target;
    uint32_t index;
    uint64_t match_bits;
    size_t offset; /* for descriptors with PORTALS_REMOTE_OFFSET */
};

void portals_init(struct portals *self, uint32_t process);
void portals_events_init(struct portals_events *events, struct portals_event *ring,
                         size_t capacity);

/* The oldest event, taken out; false if there is none. */
bool portals_event_take(struct portals_events *events, struct portals_event *out);

/* Links an entry at the end of a list, or beside one that is linked. */
void portals_attach(struct portals *self, uint32_t index, struct portals_entry *entry);
void portals_attach_before(struct portals_entry *neighbour, struct portals_entry *entry);
void portals_attach_after(struct portals_entry *neighbour, struct portals_entry *entry);

/* Takes an entry out of its list; false if it is in none. */
bool portals_unlink(struct portals_entry *entry);

bool portals_is_active(const struct portals_descriptor *descriptor);

/* Sets a threshold if, and only if, no event is pending (3.4). */
bool portals_activate_if_empty(struct portals_descriptor *descriptor, uint32_t threshold,
                               const struct portals_events *events);

/*
 * Sends all memory of `from`; or asks for as much as `into` holds. False if the
 * descriptor is inactive: nothing was sent. Only events tell what became of a request.
 */
bool portals_put(struct portals *self, struct portals_descriptor *from, bool wants_ack,
                 const struct portals_address *to, uint64_t header_data);
bool portals_get(struct portals *self, struct portals_descriptor *into,
                 const struct portals_address *from);

#endif
