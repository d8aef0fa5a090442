/*
 * partitioned.h - messages that become ready, and arrive, in parts (MPI-5.0, chapter 4).
 *
 * The requests are persistent ones (core/request.h), of a kind of their own. Arguments
 * were checked; those functions that say so need the lock.
 */
#ifndef WEFT_SCHED_PARTITIONED_H
#define WEFT_SCHED_PARTITIONED_H

#include "p2p/p2p.h"

/* `data` is all of it, `partitions` times `bytes`. Takes the lock. */
WEFT_MUST_CHECK enum weft_rc weft_psend_init(struct weft_comm *comm, int dest, int tag,
                                             const struct weft_data *data,
                                             uint32_t partitions, uint64_t bytes,
                                             struct weft_request **out);
WEFT_MUST_CHECK enum weft_rc weft_precv_init(struct weft_comm *comm, int source, int tag,
                                             const struct weft_data *data,
                                             uint32_t partitions, uint64_t bytes,
                                             struct weft_request **out);

/* With the lock: is it such a request, and how many partitions does it have? */
bool weft_is_psend(const struct weft_request *request);
bool weft_is_precv(const struct weft_request *request);
uint32_t weft_partitions(const struct weft_request *request);

/* With the lock: what a report about a job that hangs says of it. */
struct weft_partitioned_facts {
    int peer;
    int tag;
    uint64_t bytes;
    uint32_t partitions;
    uint32_t ready; /* send: of them, those that were said to be */
};
void weft_partitioned_tell(const struct weft_request *request,
                           struct weft_partitioned_facts *facts);

/* With the lock, of an active send: was it said to be ready; it is ready now. */
bool weft_partition_is_ready(const struct weft_request *request, uint32_t partition);
void weft_partition_ready(struct weft_request *request, uint32_t partition);

/* With the lock, of a receive: has it arrived? Does not poll. */
bool weft_partition_has_arrived(const struct weft_request *request, uint32_t partition);

/* Frees what requests were not freed for. */
void weft_partitioned_close(void);

#endif
