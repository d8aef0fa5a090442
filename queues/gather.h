/*
 * gather.h - reads all message queues of a stopped process into lists.
 *
 * Nothing that is read is trusted: the process may have been stopped in the middle of a
 * change, or have overwritten its memory. Every list is bounded, each link must lead back
 * to the one before it, sizes are compared with limits, and whatever does not fit ends
 * that list. What was read before it stays.
 */
#ifndef WEFT_QUEUES_GATHER_H
#define WEFT_QUEUES_GATHER_H

#include "mqs.h"

#include "runtime/queues.h"

#include <stdbool.h>
#include <stdint.h>

/* A process, and how to read it. */
struct target {
    mqs_process *process;
    int (*fetch)(mqs_process *process, mqs_taddr_t from, int bytes, void *to);
    struct weft_queue_table table;
    uint32_t fetches; /* so far */
};

/* Where the ranks of a communicator are: a table in the process, or a formula. */
struct members {
    uint64_t table;
    uint64_t first;
    int64_t stride;
    int32_t size;
};

struct comm {
    uint32_t context; /* with its plane */
    int32_t rank;
    struct members local;
    struct members peers; /* to whom messages go: the remote group, or the local one */
    char name[64];
};

struct operation {
    uint32_t class; /* mqs_op_class */
    uint32_t context;
    uint64_t number; /* in the order in which they began */
    int32_t peer;    /* rank in the communicator; -1: any; -2: unknown */
    int32_t tag;
    uint64_t length;
    uint64_t buffer;
    bool is_any_tag;
    bool is_eager; /* a message that is here as a whole */
};

struct queues {
    struct comm *comms;
    uint32_t comm_count;
    struct operation *operations;
    uint32_t operation_count;
};

/* Reads the table, and checks it; false: it is none of a version that we know. */
bool target_open(struct target *target, mqs_taddr_t table);

/* Is MPI initialised there? */
bool target_is_open(struct target *target);

/* Fills empty lists. What does not fit into memory is left out. */
void queues_gather(struct target *target, struct queues *queues);
void queues_free(struct queues *queues);

/* The rank in MPI_COMM_WORLD of a member; -1: it cannot be read. */
int members_global(struct target *target, const struct members *members, int rank);

#endif
