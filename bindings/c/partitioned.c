/*
 * partitioned.c - MPI-5.0 chapter 4: messages that become ready and arrive in parts.
 */
#include "complete.h"

#include "check/info.h"
#include "check/p2p.h"
#include "check/rc.h"
#include "sched/partitioned.h"
#include "p2p/state.h"
#include "engine/lock.h"

/* Partitions of `count` elements each: all the data, and the bytes of one. */
static int check_partitions(const char *function, struct weft_comm *comm,
                            const void *buffer, int partitions, MPI_Count count,
                            MPI_Datatype datatype, struct weft_data *data,
                            uint64_t *partition_bytes)
{
    MPI_Count total = 0;
    size_t bytes = 0;
    int err;

    if (partitions < 0) {
        return weft_raise_comm(comm, function, WEFT_E_PARTITIONS, partitions);
    }
    err = weft_check_buffer(function, comm, buffer, count, datatype, &bytes);
    if (err != MPI_SUCCESS) {
        return err;
    }
    *partition_bytes = bytes;
    if (__builtin_mul_overflow(count, partitions, &total)) {
        return weft_raise_comm(comm, function, WEFT_E_PARTITIONS_HUGE, partitions,
                               (long long)count);
    }
    err = weft_check_buffer(function, comm, buffer, total, datatype, &bytes);
    if (err != MPI_SUCCESS) {
        return err;
    }
    *data = weft_data_of(buffer, total, weft_datatype_from_handle(datatype), bytes);
    return MPI_SUCCESS;
}

/* A source and a tag, without wildcards. */
static int check_source(const char *function, struct weft_comm *comm, int source, int tag)
{
    if (source == MPI_ANY_SOURCE) {
        return weft_raise_comm(comm, function, WEFT_E_SOURCE_ANY);
    }
    if (tag == MPI_ANY_TAG) {
        return weft_raise_comm(comm, function, WEFT_E_TAG_ANY);
    }
    return weft_check_source(function, comm, source, tag);
}

/* `is_send` tells which of the two ranks it is. */
static int init_checked(const char *function, bool is_send, const void *buffer,
                        int partitions, MPI_Count count, MPI_Datatype datatype, int peer,
                        int tag, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    struct weft_request *made = NULL;
    struct weft_info *ignored;
    struct weft_data data = {0};
    struct weft_comm *c;
    uint64_t bytes = 0;
    enum weft_rc rc;
    int err = weft_check_comm(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = check_partitions(function, c, buffer, partitions, count, datatype, &data,
                               &bytes);
    }
    if (err == MPI_SUCCESS) {
        err = is_send ? weft_check_dest(function, c, peer, tag)
                      : check_source(function, c, peer, tag);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_info_or_null(function, c, info, &ignored);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, request, "request");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    rc = is_send
             ? weft_psend_init(c, peer, tag, &data, (uint32_t)partitions, bytes, &made)
             : weft_precv_init(c, peer, tag, &data, (uint32_t)partitions, bytes, &made);
    if (rc != WEFT_OK) {
        return weft_raise_rc(c, rc, function);
    }
    *request = made->handle;
    return MPI_SUCCESS;
}

int PMPI_Psend_init(const void *buf, int partitions, MPI_Count count,
                    MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Info info, MPI_Request *request)
{
    WEFT_RECORD(Psend_init, comm, WEFT_PLANE_PARTITIONED, dest, tag,
                weft_record_bytes(count, datatype));

    return init_checked("MPI_Psend_init", true, buf, partitions, count, datatype, dest,
                        tag, comm, info, request);
}
WEFT_WEAK_ALIAS(MPI_Psend_init, PMPI_Psend_init);

int PMPI_Precv_init(void *buf, int partitions, MPI_Count count, MPI_Datatype datatype,
                    int source, int tag, MPI_Comm comm, MPI_Info info,
                    MPI_Request *request)
{
    WEFT_RECORD(Precv_init, comm, WEFT_PLANE_PARTITIONED, source, tag,
                weft_record_bytes(count, datatype));

    return init_checked("MPI_Precv_init", false, buf, partitions, count, datatype, source,
                        tag, comm, info, request);
}
WEFT_WEAK_ALIAS(MPI_Precv_init, PMPI_Precv_init);

/* ---- the sender ---- */

/* Partitions that become ready in one call: a range, or those of a list. */
struct chosen {
    int count;
    int first;       /* of a range */
    const int *list; /* NULL: a range */
};

static int nth(const struct chosen *chosen, int i)
{
    return chosen->list != NULL ? chosen->list[i] : chosen->first + i;
}

/* With the lock. Those before one that is wrong are ready; *at: how many those are. */
static bool make_ready(struct weft_request *send, const struct chosen *chosen, int *at,
                       bool *is_known)
{
    for (*at = 0; *at < chosen->count; (*at)++) {
        const int partition = nth(chosen, *at);

        *is_known = partition >= 0 && (uint32_t)partition < weft_partitions(send);
        if (weft_unlikely(!*is_known ||
                          weft_partition_is_ready(send, (uint32_t)partition))) {
            return false;
        }
        weft_partition_ready(send, (uint32_t)partition);
    }
    return true;
}

static int ready_checked(const char *function, MPI_Request handle,
                         const struct chosen *chosen)
{
    struct weft_request *request;
    struct weft_comm *comm;
    bool is_active;
    bool is_known = true;
    bool is_done = false;
    int at = 0;

    weft_lock();
    request = weft_request_from_handle(handle);
    comm = request != NULL ? request->comm : NULL;
    is_active = request != NULL && weft_is_psend(request) && !request->is_inactive;
    if (weft_likely(is_active)) {
        is_done = make_ready(request, chosen, &at, &is_known);
        weft_engine_leave();
    }
    weft_unlock();
    if (weft_likely(is_done)) {
        return MPI_SUCCESS;
    }
    if (request == NULL) {
        return weft_find_request(function, handle, &request); /* says what is wrong */
    }
    if (!is_active) {
        return weft_raise_comm(comm, function, WEFT_E_PARTITION_NOT_SEND);
    }
    if (is_known) {
        return weft_raise_comm(comm, function, WEFT_E_PARTITION_TWICE, nth(chosen, at));
    }
    return weft_raise_comm(comm, function, WEFT_E_PARTITION, nth(chosen, at));
}

int PMPI_Pready(int partition, MPI_Request request)
{
    WEFT_RECORD_PLAIN(Pready);
    const struct chosen chosen = {.count = 1, .first = partition};

    return ready_checked("MPI_Pready", request, &chosen);
}
WEFT_WEAK_ALIAS(MPI_Pready, PMPI_Pready);

/* Both ends belong to it. */
int PMPI_Pready_range(int partition_low, int partition_high, MPI_Request request)
{
    WEFT_RECORD_PLAIN(Pready_range);
    const struct chosen chosen = {
        .count = partition_high - partition_low + 1,
        .first = partition_low,
    };

    if (partition_low < 0 || partition_high < partition_low ||
        partition_high == 0x7fffffff) {
        return weft_raise("MPI_Pready_range", WEFT_E_PARTITION_RANGE, partition_low,
                          partition_high);
    }
    return ready_checked("MPI_Pready_range", request, &chosen);
}
WEFT_WEAK_ALIAS(MPI_Pready_range, PMPI_Pready_range);

int PMPI_Pready_list(int length, const int array_of_partitions[], MPI_Request request)
{
    WEFT_RECORD_PLAIN(Pready_list);
    static const char function[] = "MPI_Pready_list";
    const struct chosen chosen = {.count = length, .list = array_of_partitions};
    int err = MPI_SUCCESS;

    if (length < 0) {
        return weft_raise(function, WEFT_E_PARTITION_LENGTH, length);
    }
    if (length > 0) {
        err = weft_check_out(function, NULL, array_of_partitions, "array_of_partitions");
    }
    return err != MPI_SUCCESS ? err : ready_checked(function, request, &chosen);
}
WEFT_WEAK_ALIAS(MPI_Pready_list, PMPI_Pready_list);

/* ---- the receiver ---- */

enum look { NOT_RECEIVE, NO_PARTITION, NOT_THERE, THERE };

static enum look look_for(struct weft_request *request, int partition)
{
    enum look seen = NOT_RECEIVE;

    weft_lock();
    if (weft_is_precv(request)) {
        if (partition < 0 || (uint32_t)partition >= weft_partitions(request)) {
            seen = NO_PARTITION;
        } else {
            seen = weft_partition_has_arrived(request, (uint32_t)partition) ? THERE
                                                                            : NOT_THERE;
        }
    }
    weft_unlock();
    return seen;
}

/* A null or inactive request has nothing that could still arrive. */
int PMPI_Parrived(MPI_Request request, int partition, int *flag)
{
    WEFT_RECORD_POLL(Parrived, MPI_COMM_NULL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG);
    static const char function[] = "MPI_Parrived";
    struct weft_request *r;
    enum look seen;
    int err = weft_check_out(function, NULL, flag, "flag");

    if (err == MPI_SUCCESS && request == MPI_REQUEST_NULL) {
        *flag = 1;
        return weft_check_open(function);
    }
    if (err == MPI_SUCCESS) {
        err = weft_find_request(function, request, &r);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    seen = look_for(r, partition);
    if (seen == NOT_THERE) {
        weft_progress();
        seen = look_for(r, partition);
    }
    if (seen == NOT_RECEIVE) {
        return weft_raise_comm(r->comm, function, WEFT_E_PARTITION_NOT_RECV);
    }
    if (seen == NO_PARTITION) {
        return weft_raise_comm(r->comm, function, WEFT_E_PARTITION, partition);
    }
    *flag = seen == THERE;
    return MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Parrived, PMPI_Parrived);
