/*
 * sendrecv.c - the end of two messages is the end of one request.
 *
 * This is not a schedule (sched.h): as a graph of two steps it took a quarter more
 * instructions, for nothing that it needs.
 */
#include "sched/sendrecv.h"

#include "engine/lock.h"
#include "p2p/p2p.h"
#include "p2p/state.h"

#include <stdlib.h>

struct both {
    struct weft_schedule follower; /* first: of the two messages */
    struct weft_request *request;  /* what the user holds */
    struct weft_request *recv;     /* NULL: from nobody */
    struct weft_request *send;
    union {
        void *copy;              /* of what is sent, or NULL */
        struct both *next_spare; /* while nobody uses it */
    };
};

static struct weft_pool pool;
static struct both *spare; /* given back */

void weft_sendrecv_open(void)
{
    weft_pool_init(&pool, sizeof(struct both), 4, 1u << WEFT_HANDLE_INDEX_BITS);
    spare = NULL;
}

void weft_sendrecv_close(void)
{
    weft_pool_fini(&pool);
}

static enum weft_rc take(struct both **out)
{
    uint32_t generation;
    uint32_t index;
    void *object;
    enum weft_rc rc;

    *out = spare;
    if (weft_likely(spare != NULL)) {
        spare = spare->next_spare;
        return WEFT_OK;
    }
    rc = weft_pool_take(&pool, &object, &index, &generation);
    *out = object;
    return rc;
}

static enum weft_rc end_recv(const struct both *both)
{
    struct weft_request *recv = both->recv;
    const enum weft_rc rc = recv->rc;

    both->request->source = recv->source;
    both->request->tag = recv->tag;
    both->request->bytes = recv->bytes;
    weft_request_give(recv);
    return rc;
}

static void end_if_complete(struct both *both)
{
    struct weft_request *request = both->request;
    enum weft_rc rc = WEFT_OK;

    if (!weft_request_is_complete(both->send) ||
        (both->recv != NULL && !weft_request_is_complete(both->recv))) {
        return;
    }
    if (both->recv != NULL) {
        rc = end_recv(both);
    }
    rc = rc != WEFT_OK ? rc : both->send->rc;
    weft_request_give(both->send);
    free(both->copy);
    both->next_spare = spare;
    spare = both;
    weft_request_complete(request, rc);
}

static void follow(struct weft_schedule *follower)
{
    end_if_complete((struct both *)follower);
}

static void await(struct both *both, struct weft_request *message)
{
    if (!weft_request_is_complete(message)) {
        weft_request_set_schedule(message, &both->follower);
    }
}

static enum weft_rc take_request(struct weft_comm *comm, struct weft_request **out)
{
    const enum weft_rc rc = weft_request_take(out);

    if (weft_likely(rc == WEFT_OK)) {
        (*out)->kind = WEFT_REQUEST_SCHEDULE;
        (*out)->source = MPI_PROC_NULL; /* unless there is a receive */
        (*out)->tag = MPI_ANY_TAG;
        (*out)->bytes = 0;
        weft_request_set_comm(*out, comm);
    }
    return rc;
}

/* No message will match it; one that has matched is left to itself. */
static void take_back(struct weft_request *recv)
{
    if (weft_p2p_cancel(recv)) {
        weft_request_complete(recv, WEFT_OK);
    }
    weft_request_detach(recv);
}

/* Starts the two messages; on failure there is none. */
static enum weft_rc start(struct weft_comm *comm, const struct weft_side *send,
                          const struct weft_side *recv, struct both *both)
{
    enum weft_rc rc = WEFT_OK;

    both->recv = NULL;
    both->send = &weft_request_sent;
    if (recv->rank != MPI_PROC_NULL) {
        rc = weft_irecv_data_locked(comm, WEFT_PLANE_P2P, recv->rank, recv->tag,
                                    &recv->data, &both->recv);
    }
    if (rc == WEFT_OK && send->rank != MPI_PROC_NULL) {
        rc = weft_isend_data_locked(comm, send->rank, send->tag, &send->data,
                                    WEFT_PLANE_P2P | (unsigned)WEFT_SEND_STANDARD,
                                    &both->send);
        if (weft_unlikely(rc != WEFT_OK) && both->recv != NULL) {
            take_back(both->recv);
        }
    }
    return rc;
}

/* Takes what is needed and starts both. */
static enum weft_rc begin(struct weft_comm *comm, const struct weft_side *send,
                          const struct weft_side *recv, struct both **out)
{
    struct weft_request *request;
    enum weft_rc rc = take_request(comm, &request);

    if (rc != WEFT_OK) {
        return rc;
    }
    rc = take(out);
    if (rc == WEFT_OK) {
        rc = start(comm, send, recv, *out);
        if (rc != WEFT_OK) {
            (*out)->next_spare = spare;
            spare = *out;
        }
    }
    if (rc != WEFT_OK) {
        weft_request_give(request);
        return rc;
    }
    (*out)->request = request;
    return WEFT_OK;
}

enum weft_rc weft_isendrecv(struct weft_comm *comm, const struct weft_side *send,
                            const struct weft_side *recv, void *copy,
                            struct weft_request **out)
{
    struct both *both;
    enum weft_rc rc;

    weft_lock();
    rc = begin(comm, send, recv, &both);
    if (rc == WEFT_OK) {
        *out = both->request;
        both->copy = copy;
        both->follower = (struct weft_schedule){.advance = follow};
        if (both->recv != NULL) {
            await(both, both->recv);
        }
        await(both, both->send);
        end_if_complete(both);
        weft_request_hand_out(*out);
    }
    weft_engine_leave();
    weft_unlock();
    return rc;
}
