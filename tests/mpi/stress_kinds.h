/*
 * stress_kinds.h - the ways in which a message of the stress is sent and received, in the
 * tables `sends` and `receives`. A kind of operation joins the stress by a row there.
 */
#ifndef WEFT_TEST_STRESS_KINDS_H
#define WEFT_TEST_STRESS_KINDS_H

#include "stress_common.h"
#include "stress_types.h"

#include <sched.h>

struct message {
    int peer; /* receiver: the source; sender: the destination */
    int tag;
    size_t bytes;
    uint32_t content;
    int number; /* among those of this source for this destination */
    bool is_received;
};

/* One send or receive, whatever its kind. */
struct transfer {
    const struct kind *kind;
    MPI_Comm comm;
    int peer;
    int tag;
    char *buffer;
    int count;
    MPI_Datatype type;
    MPI_Request request; /* MPI_REQUEST_NULL: it is over */
    MPI_Status status;   /* of a receive */
    const struct stress_type *layout;
    size_t memory;
    const struct message *got;
};

/* ---- kinds of operations ---- */

enum {
    WAITS = 1, /* may wait for its receiver */
    NEEDS = 2, /* its receiver must be there */
};

struct kind {
    const char *name;
    unsigned is; /* of the above */
    int (*start)(struct transfer *t);
    int (*end)(struct transfer *t); /* when its request is complete, or NULL */
};

static int do_send(struct transfer *t)
{
    return MPI_Send(t->buffer, t->count, t->type, t->peer, t->tag, t->comm);
}

static int do_isend(struct transfer *t)
{
    return MPI_Isend(t->buffer, t->count, t->type, t->peer, t->tag, t->comm, &t->request);
}

static int do_ssend(struct transfer *t)
{
    return MPI_Ssend(t->buffer, t->count, t->type, t->peer, t->tag, t->comm);
}

static int do_issend(struct transfer *t)
{
    return MPI_Issend(t->buffer, t->count, t->type, t->peer, t->tag, t->comm,
                      &t->request);
}

static int do_rsend(struct transfer *t)
{
    return MPI_Rsend(t->buffer, t->count, t->type, t->peer, t->tag, t->comm);
}

static int do_irsend(struct transfer *t)
{
    return MPI_Irsend(t->buffer, t->count, t->type, t->peer, t->tag, t->comm,
                      &t->request);
}

static int do_bsend(struct transfer *t)
{
    return MPI_Bsend(t->buffer, t->count, t->type, t->peer, t->tag, t->comm);
}

static int do_ibsend(struct transfer *t)
{
    return MPI_Ibsend(t->buffer, t->count, t->type, t->peer, t->tag, t->comm,
                      &t->request);
}

/* Complete whatever its receiver does, so that its memory is written to again at once. */
static int do_ibsend_and_wait(struct transfer *t)
{
    const int err = do_ibsend(t);

    return err == MPI_SUCCESS ? MPI_Wait(&t->request, MPI_STATUS_IGNORE) : err;
}

/* A persistent send is made, started once, and freed when it is complete. */
static int start(struct transfer *t, int err)
{
    return err == MPI_SUCCESS ? MPI_Start(&t->request) : err;
}

static int do_send_init(struct transfer *t)
{
    return start(t, MPI_Send_init(t->buffer, t->count, t->type, t->peer, t->tag, t->comm,
                                  &t->request));
}

static int do_ssend_init(struct transfer *t)
{
    return start(t, MPI_Ssend_init(t->buffer, t->count, t->type, t->peer, t->tag, t->comm,
                                   &t->request));
}

static int do_rsend_init(struct transfer *t)
{
    return start(t, MPI_Rsend_init(t->buffer, t->count, t->type, t->peer, t->tag, t->comm,
                                   &t->request));
}

static int do_bsend_init(struct transfer *t)
{
    return start(t, MPI_Bsend_init(t->buffer, t->count, t->type, t->peer, t->tag, t->comm,
                                   &t->request));
}

static int end_persistent(struct transfer *t)
{
    return MPI_Request_free(&t->request);
}

static const struct kind sends[] = {
    {"MPI_Send", WAITS, do_send, NULL},
    {"MPI_Isend", 0, do_isend, NULL},
    {"MPI_Isend", 0, do_isend, NULL},
    {"MPI_Ssend", WAITS, do_ssend, NULL},
    {"MPI_Issend", 0, do_issend, NULL},
    {"MPI_Rsend", WAITS | NEEDS, do_rsend, NULL},
    {"MPI_Irsend", NEEDS, do_irsend, NULL},
    {"MPI_Bsend", 0, do_bsend, NULL},
    {"MPI_Ibsend", 0, do_ibsend, NULL},
    {"MPI_Ibsend", 0, do_ibsend_and_wait, NULL},
    {"MPI_Send_init", 0, do_send_init, end_persistent},
    {"MPI_Ssend_init", 0, do_ssend_init, end_persistent},
    {"MPI_Rsend_init", NEEDS, do_rsend_init, end_persistent},
    {"MPI_Bsend_init", 0, do_bsend_init, end_persistent},
};

static int do_irecv(struct transfer *t)
{
    return MPI_Irecv(t->buffer, t->count, t->type, t->peer, t->tag, t->comm, &t->request);
}

static int do_recv(struct transfer *t)
{
    return MPI_Recv(t->buffer, t->count, t->type, t->peer, t->tag, t->comm, &t->status);
}

/* A receive that is cancelled at once, until one is not: that one has got its message. */
static int do_cancelled(struct transfer *t)
{
    int is_cancelled = 1;
    int err =
        MPI_Irecv(t->buffer, t->count, t->type, t->peer, t->tag, t->comm, &t->request);

    if (err == MPI_SUCCESS) {
        err = MPI_Cancel(&t->request);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Wait(&t->request, &t->status);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Test_cancelled(&t->status, &is_cancelled);
    }
    return err != MPI_SUCCESS || !is_cancelled ? err : do_irecv(t);
}

/* A persistent receive, started again if it could be cancelled. */
static int do_recv_init(struct transfer *t)
{
    return start(t, MPI_Recv_init(t->buffer, t->count, t->type, t->peer, t->tag, t->comm,
                                  &t->request));
}

static int do_recv_init_twice(struct transfer *t)
{
    int is_cancelled = 0;
    int err = do_recv_init(t);

    if (err == MPI_SUCCESS) {
        err = MPI_Cancel(&t->request);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Wait(&t->request, &t->status);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Test_cancelled(&t->status, &is_cancelled);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    return is_cancelled ? MPI_Start(&t->request) : MPI_Request_free(&t->request);
}

/* The same message, by two statuses. */
static int is_same(const MPI_Status *a, const MPI_Status *b)
{
    MPI_Count bytes[2] = {-1, -2};

    WORKS(MPI_Get_count_c(a, MPI_BYTE, &bytes[0]));
    WORKS(MPI_Get_count_c(b, MPI_BYTE, &bytes[1]));
    return a->MPI_SOURCE == b->MPI_SOURCE && a->MPI_TAG == b->MPI_TAG &&
           bytes[0] == bytes[1];
}

/* What a probe found is what a receive of that source and tag gets. */
static int recv_found(struct transfer *t, const MPI_Status *found)
{
    int err = MPI_Recv(t->buffer, t->count, t->type, found->MPI_SOURCE, found->MPI_TAG,
                       t->comm, &t->status);

    HOLDS(err != MPI_SUCCESS || is_same(&t->status, found));
    return err;
}

static int do_probe(struct transfer *t)
{
    MPI_Status found;
    int err = MPI_Probe(t->peer, t->tag, t->comm, &found);

    return err != MPI_SUCCESS ? err : recv_found(t, &found);
}

static int do_iprobe(struct transfer *t)
{
    MPI_Status found;
    int flag = 0;
    int err = MPI_SUCCESS;

    while (err == MPI_SUCCESS && !flag) {
        err = MPI_Iprobe(t->peer, t->tag, t->comm, &flag, &found);
        if (!flag) {
            sched_yield();
        }
    }
    return err != MPI_SUCCESS ? err : recv_found(t, &found);
}

static int mrecv_found(struct transfer *t, MPI_Message *message, const MPI_Status *found)
{
    int err = MPI_Mrecv(t->buffer, t->count, t->type, message, &t->status);

    HOLDS(err != MPI_SUCCESS ||
          (is_same(&t->status, found) && *message == MPI_MESSAGE_NULL));
    return err;
}

static int imrecv_found(struct transfer *t, MPI_Message *message)
{
    int err = MPI_Imrecv(t->buffer, t->count, t->type, message, &t->request);

    HOLDS(err != MPI_SUCCESS || *message == MPI_MESSAGE_NULL);
    return err;
}

static int do_mprobe(struct transfer *t)
{
    MPI_Message message;
    MPI_Status found;
    int err = MPI_Mprobe(t->peer, t->tag, t->comm, &message, &found);

    return err != MPI_SUCCESS ? err : mrecv_found(t, &message, &found);
}

static int do_mprobe_imrecv(struct transfer *t)
{
    MPI_Message message;
    MPI_Status found;
    int err = MPI_Mprobe(t->peer, t->tag, t->comm, &message, &found);

    return err != MPI_SUCCESS ? err : imrecv_found(t, &message);
}

/* What is there already is taken; otherwise it is waited for like any other. */
static int do_improbe(struct transfer *t)
{
    MPI_Message message;
    MPI_Status found;
    int flag = 0;
    int err = MPI_Improbe(t->peer, t->tag, t->comm, &flag, &message, &found);

    if (err != MPI_SUCCESS) {
        return err;
    }
    return flag ? mrecv_found(t, &message, &found) : do_irecv(t);
}

static int do_improbe_imrecv(struct transfer *t)
{
    MPI_Message message;
    MPI_Status found;
    int flag = 0;
    int err = MPI_Improbe(t->peer, t->tag, t->comm, &flag, &message, &found);

    if (err != MPI_SUCCESS) {
        return err;
    }
    return flag ? imrecv_found(t, &message) : do_irecv(t);
}

static const struct kind receives[] = {
    {"MPI_Irecv", 0, do_irecv, NULL},
    {"MPI_Irecv", 0, do_irecv, NULL},
    {"MPI_Irecv", 0, do_irecv, NULL},
    {"MPI_Recv", WAITS, do_recv, NULL},
    {"MPI_Cancel", 0, do_cancelled, NULL},
    {"MPI_Recv_init", 0, do_recv_init, end_persistent},
    {"MPI_Recv_init", 0, do_recv_init_twice, end_persistent},
    {"MPI_Probe", WAITS, do_probe, NULL},
    {"MPI_Iprobe", WAITS, do_iprobe, NULL},
    {"MPI_Mprobe", WAITS, do_mprobe, NULL},
    {"MPI_Mprobe", WAITS, do_mprobe_imrecv, NULL},
    {"MPI_Improbe", WAITS, do_improbe, NULL},
    {"MPI_Improbe", 0, do_improbe_imrecv, NULL},
};

#endif
