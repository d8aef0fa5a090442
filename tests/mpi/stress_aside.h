/*
 * stress_aside.h - what each lane does beside its random traffic, on a communicator of
 * its own: in every round each rank sends a message in parts, and one as a whole, to the
 * next rank. Everyone begins both before the round and ends them after it, so nobody
 * waits for one who cannot come.
 *
 * The requests stay for some rounds and are started again in each: partitioned ones,
 * which the thread makes ready in any order, and persistent ones of three modes. In some
 * rounds one MPI_Isendrecv or MPI_Isendrecv_replace takes the place of the persistent
 * two. Both kinds of messages have the same tag, and must not be taken for each other.
 */
#ifndef WEFT_TEST_STRESS_ASIDE_H
#define WEFT_TEST_STRESS_ASIDE_H

#include "bytes.h"
#include "stress_common.h"

#include <sched.h>
#include <stdbool.h>

enum { ASIDE_TAG = 1, ASIDE_PARTS = 24, ASIDE_SMALL = 50, ASIDE_LARGE = 20000 };

/* Those that stay come in twos: MPI_Startall takes both, or all. */
enum { ASIDE_PRECV, ASIDE_PSEND, ASIDE_RECV, ASIDE_SEND, ASIDE_EXCHANGE, ASIDE_REQUESTS };

struct aside {
    int lane;
    MPI_Comm comm;
    uint64_t own; /* state of the choices that are not common */
    int to;
    int from;
    bool is_made;
    int bytes;     /* of a message, always a multiple of ASIDE_PARTS */
    int parts_out; /* a divisor of ASIDE_PARTS */
    int parts_in;
    char *whole_out;
    char *whole_in;
    char *parted_out;
    char *parted_in;
    char *received; /* the whole one, of this round: one of the above */
    int order[ASIDE_PARTS];
    int ready; /* so many of `order` */
    MPI_Request requests[ASIDE_REQUESTS];
};

static void aside_open(struct aside *a, int lane, uint64_t own)
{
    *a = (struct aside){
        .lane = lane,
        .own = own,
        .to = (rank + 1) % size,
        .from = (rank + size - 1) % size,
    };
    for (int i = 0; i < ASIDE_REQUESTS; i++) {
        a->requests[i] = MPI_REQUEST_NULL;
    }
    WORKS(MPI_Comm_dup(MPI_COMM_WORLD, &a->comm));
    WORKS(MPI_Comm_attach_buffer(a->comm, MPI_BUFFER_AUTOMATIC, 0));
}

static uint32_t aside_content(const struct aside *a, int source, int what)
{
    return (uint32_t)common((uint64_t)a->lane, current_round, (uint64_t)source,
                            (uint64_t)what, 10);
}

static void aside_unmake(struct aside *a)
{
    for (int i = 0; i < ASIDE_EXCHANGE && a->is_made; i++) {
        WORKS(MPI_Request_free(&a->requests[i]));
    }
    free(a->whole_out);
    free(a->whole_in);
    free(a->parted_out);
    free(a->parted_in);
    a->whole_out = a->whole_in = a->parted_out = a->parted_in = NULL;
    a->is_made = false;
}

/* Makes the requests anew, of a length that everyone knows. */
static void aside_make(struct aside *a)
{
    static int (*const modes[])(const void *, int, MPI_Datatype, int, int, MPI_Comm,
                                MPI_Request *) = {MPI_Send_init, MPI_Ssend_init,
                                                  MPI_Bsend_init};
    static const int divisors[] = {1, 2, 3, 4, 6, 8, 12, ASIDE_PARTS};
    const uint64_t x = common((uint64_t)a->lane, current_round, 11, 12, 13);
    const bool is_wild = choose_from(&a->own, 2) == 0;
    MPI_Request *r = a->requests;

    aside_unmake(a);
    a->is_made = true;
    a->bytes = ASIDE_PARTS * (int)((x >> 8) % (x % 8 != 0 ? ASIDE_SMALL : ASIDE_LARGE));
    a->parts_out = divisors[choose_from(&a->own, 8)];
    a->parts_in = divisors[choose_from(&a->own, 8)];
    a->whole_out = memory_for((size_t)a->bytes);
    a->whole_in = memory_for((size_t)a->bytes);
    a->parted_out = memory_for((size_t)a->bytes);
    a->parted_in = memory_for((size_t)a->bytes);
    WORKS(MPI_Psend_init(a->parted_out, a->parts_out, a->bytes / a->parts_out, MPI_BYTE,
                         a->to, ASIDE_TAG, a->comm, MPI_INFO_NULL, &r[ASIDE_PSEND]));
    WORKS(MPI_Precv_init(a->parted_in, a->parts_in, a->bytes / a->parts_in, MPI_BYTE,
                         a->from, ASIDE_TAG, a->comm, MPI_INFO_NULL, &r[ASIDE_PRECV]));
    WORKS(MPI_Recv_init(a->whole_in, a->bytes, MPI_BYTE,
                        is_wild ? MPI_ANY_SOURCE : a->from,
                        is_wild ? MPI_ANY_TAG : ASIDE_TAG, a->comm, &r[ASIDE_RECV]));
    WORKS(modes[choose_from(&a->own, 3)](a->whole_out, a->bytes, MPI_BYTE, a->to,
                                         ASIDE_TAG, a->comm, &r[ASIDE_SEND]));
}

static void aside_start(struct aside *a)
{
    MPI_Request *exchange = &a->requests[ASIDE_EXCHANGE];
    const uint64_t how = choose_from(&a->own, 4);

    WORKS(MPI_Startall(how < 2 ? ASIDE_EXCHANGE : ASIDE_RECV, a->requests));
    a->received = how == 3 ? a->whole_out : a->whole_in;
    if (how == 2) {
        WORKS(MPI_Isendrecv(a->whole_out, a->bytes, MPI_BYTE, a->to, ASIDE_TAG,
                            a->whole_in, a->bytes, MPI_BYTE, a->from, ASIDE_TAG, a->comm,
                            exchange));
    } else if (how == 3) {
        WORKS(MPI_Isendrecv_replace(a->whole_out, a->bytes, MPI_BYTE, a->to, ASIDE_TAG,
                                    a->from, ASIDE_TAG, a->comm, exchange));
    }
}

/* Fills the next partition of `order` and says so; nobody may send it before. */
static void aside_ready(struct aside *a)
{
    const int part = a->order[a->ready++];
    const int bytes = a->bytes / a->parts_out;

    for (int i = part * bytes; i < (part + 1) * bytes; i++) {
        a->parted_out[i] = (char)byte_at(aside_content(a, rank, 1), (size_t)i);
    }
    WORKS(MPI_Pready(part, a->requests[ASIDE_PSEND]));
}

/* The rest at once. */
static void aside_ready_all(struct aside *a)
{
    if (a->ready == 0) {
        fill_bytes(a->parted_out, (size_t)a->bytes, aside_content(a, rank, 1));
        WORKS(MPI_Pready_range(0, a->parts_out - 1, a->requests[ASIDE_PSEND]));
    } else if (choose_from(&a->own, 2) == 0) {
        while (a->ready < a->parts_out) {
            aside_ready(a);
        }
    } else {
        const int bytes = a->bytes / a->parts_out;

        for (int k = a->ready; k < a->parts_out; k++) {
            for (int i = a->order[k] * bytes; i < (a->order[k] + 1) * bytes; i++) {
                a->parted_out[i] = (char)byte_at(aside_content(a, rank, 1), (size_t)i);
            }
        }
        WORKS(MPI_Pready_list(a->parts_out - a->ready, a->order + a->ready,
                              a->requests[ASIDE_PSEND]));
    }
}

static void aside_begin(struct aside *a)
{
    if (!a->is_made || common((uint64_t)a->lane, current_round, 14, 15, 16) % 8 == 0) {
        aside_make(a);
    }
    fill_bytes(a->whole_out, (size_t)a->bytes, aside_content(a, rank, 0));
    memset(a->whole_in, 0, (size_t)a->bytes);
    memset(a->parted_in, 0, (size_t)a->bytes);
    memset(a->parted_out, 0, (size_t)a->bytes);
    for (int i = 0; i < a->parts_out; i++) {
        const int k = (int)choose_from(&a->own, (uint64_t)i + 1);

        a->order[i] = a->order[k];
        a->order[k] = i;
    }
    a->ready = 0;
    aside_start(a);
    for (int n = (int)choose_from(&a->own, (uint64_t)a->parts_out + 1); n > 0; n--) {
        aside_ready(a);
    }
}

/* A partition that has arrived is whole before the others are. */
static void aside_check_part(struct aside *a)
{
    const int part = (int)choose_from(&a->own, (uint64_t)a->parts_in);
    const int bytes = a->bytes / a->parts_in;
    int flag = 0;

    while (!flag) {
        WORKS(MPI_Parrived(a->requests[ASIDE_PRECV], part, &flag));
        if (!flag) {
            sched_yield();
        }
    }
    for (int i = part * bytes; i < (part + 1) * bytes; i++) {
        HOLDS((uint8_t)a->parted_in[i] ==
              byte_at(aside_content(a, a->from, 1), (size_t)i));
    }
}

static void aside_end(struct aside *a)
{
    aside_ready_all(a);
    if (choose_from(&a->own, 2) == 0) {
        aside_check_part(a);
    }
    WORKS(MPI_Waitall(ASIDE_REQUESTS, a->requests, MPI_STATUSES_IGNORE));
    HOLDS(are_bytes(a->received, (size_t)a->bytes, aside_content(a, a->from, 0)));
    HOLDS(are_bytes(a->parted_in, (size_t)a->bytes, aside_content(a, a->from, 1)));
}

static void aside_close(struct aside *a)
{
    void *address;
    int bytes;

    aside_unmake(a);
    WORKS(MPI_Comm_detach_buffer(a->comm, &address, &bytes));
    WORKS(MPI_Comm_free(&a->comm));
}

#endif
