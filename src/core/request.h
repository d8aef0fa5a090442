/*
 * request.h - the object behind a request handle: an operation that is under way.
 *
 * A request is taken from one pool and belongs to whoever started the operation until the
 * user's handle is freed by a completing call. The room that performs operations embeds
 * it in its own struct, whose size it says once (weft_request_open). A request is
 * completed under the library's lock; whether it is may be read without it.
 *
 * Sends that are over when they return share one request that is always complete.
 *
 * A persistent request says how its operation is started again, and stays when that is
 * complete: from then on it is inactive, until it is started or freed. A thread that
 * waits for an inactive request finds it complete.
 */
#ifndef WEFT_CORE_REQUEST_H
#define WEFT_CORE_REQUEST_H

#include "core/comm.h"
#include "engine/event.h"
#include "engine/hot.h"

enum weft_request_kind {
    WEFT_REQUEST_SEND,
    WEFT_REQUEST_RECV,
    WEFT_REQUEST_SCHEDULE,    /* complete when a schedule says so */
    WEFT_REQUEST_COLLECTIVE,  /* of all members; neither cancelled nor freed under way */
    WEFT_REQUEST_GENERALIZED, /* core/grequest.h */
    WEFT_REQUEST_FILE,        /* io/op.h */
};

/*
 * An operation of several steps that goes on by itself: when a request that names it is
 * complete it becomes ready, and a thread that polls calls advance(), with the lock.
 */
struct weft_schedule {
    void (*advance)(struct weft_schedule *schedule);
    struct weft_schedule *next; /* among those that are ready */
    bool is_ready;
    bool is_patient; /* it waits until a thread polls anyway; none is woken for it */
};

struct weft_request;

/*
 * What a persistent request knows of its operation; whoever makes it embeds it in its own
 * struct. start() runs with the lock, which it may drop for a while: it performs the
 * operation once more, by the request, and hands that out if it is not complete. What
 * fails has begun nothing. close() frees the struct, when the request is given back.
 */
struct weft_persistent {
    enum weft_rc (*start)(struct weft_request *request);
    void (*close)(struct weft_persistent *persistent);
};

struct weft_request {
    struct weft_event event; /* first: set when it is complete */
    uint8_t kind;            /* enum weft_request_kind */
    bool is_cancelled;
    bool is_shared;      /* the one for sends that are over: never freed */
    bool is_outstanding; /* counted below until it is complete */
    bool is_spare;       /* nobody has its handle yet */
    bool is_detached;    /* the user has freed it: given back when it is complete */
    bool is_inactive;    /* persistent, and not started: complete */
    enum weft_rc rc;
    int source; /* of a message received, as a rank of `comm` */
    int tag;
    uint64_t bytes;
    union {
        struct weft_comm *comm;          /* NULL, or one of its references is ours */
        struct weft_request *next_spare; /* while nobody uses it */
    };
    MPI_Request handle;
    struct weft_schedule *schedule;     /* that goes on when it is complete, or NULL */
    struct weft_persistent *persistent; /* NULL: it goes when it is complete */
    const char *function;               /* that began it, if it is a collective */
};

extern struct weft_request weft_request_sent;

/* Sets the schedule that continues when the request, which is not complete, is. */
void weft_request_set_schedule(struct weft_request *request,
                               struct weft_schedule *schedule);

/* Counts the request as outstanding, if it is not complete. */
static inline void weft_request_hand_out(struct weft_request *request);

/* `size` is that of the struct a request is the first member of. */
void weft_request_open(size_t size);
void weft_request_close(void);

/*
 * The first takes a request with a handle. It is not complete, not cancelled and has no
 * communicator; its other fields are as they were left. The second gives it back, with
 * its reference to the communicator.
 */
WEFT_MUST_CHECK enum weft_rc weft_request_take(struct weft_request **out);
void weft_request_give(struct weft_request *request);

/* So many can be taken at once afterwards without memory, until others take them. */
WEFT_MUST_CHECK enum weft_rc weft_request_reserve(uint32_t count);

/* How many were taken and not given back; looks at all those that were. */
uint64_t weft_request_count(void);

/* Notes the communicator of the operation, and references it. */
static inline void weft_request_set_comm(struct weft_request *request,
                                         struct weft_comm *comm)
{
    weft_comm_use(comm);
    request->comm = comm;
}

/* Makes a request persistent, and inactive. */
void weft_request_set_persistent(struct weft_request *request,
                                 struct weft_persistent *persistent);

/* Starts an inactive request; it stays inactive if that fails. */
WEFT_MUST_CHECK enum weft_rc weft_request_start(struct weft_request *request);

/* The user has seen that it is complete: given back, or inactive if it is persistent. */
static inline void weft_request_end(struct weft_request *request)
{
    if (weft_unlikely(request->persistent != NULL)) {
        request->is_inactive = true;
    } else {
        weft_request_give(request);
    }
}

/* MPI_Request_free: the request is given back now, or when it is complete. */
void weft_request_detach(struct weft_request *request);

/*
 * The next request of a kind, from number *index of the pool on, that the user has
 * freed and that is not complete; NULL: none. Moves *index behind it.
 */
struct weft_request *weft_request_next_detached(enum weft_request_kind kind,
                                                uint32_t *index);

/* Calls `visit` for every request that is not complete; it may complete the request.
 * Needs the lock. */
void weft_request_each(void (*visit)(struct weft_request *request));

/* Shows those that are not complete among the first `most` of the pool. Needs the lock.
 */
void weft_request_look(uint32_t most,
                       void (*visit)(const struct weft_request *request, void *owner),
                       void *owner);

/* The request behind a handle, or NULL. Needs the lock. */
struct weft_request *weft_request_from_handle(MPI_Request handle);

static inline bool weft_request_is_complete(const struct weft_request *request)
{
    return weft_event_is_set(&request->event);
}

static inline void weft_request_hand_out(struct weft_request *request)
{
    if (!weft_request_is_complete(request)) {
        request->is_outstanding = true;
        weft_reason_add(WEFT_REASON_REQUESTS);
    }
}

/*
 * Completes a request, with the lock: wakes the thread that sleeps for it, and makes its
 * schedule ready. A request that the user has freed is given back.
 */
void weft_request_complete(struct weft_request *request, enum weft_rc rc);

#endif
