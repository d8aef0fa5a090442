/*
 * complete_some.c - MPI-5.0 chapter 3.7.5: calls that complete one, some or all of
 * several requests, whichever are complete.
 */
#include "complete.h"
#include "status.h"

#include "p2p/p2p.h"
#include "engine/lock.h"

#include <stdlib.h>

enum { FEW = 64 }; /* so many are waited for without asking for memory */

/* Returns when one of them is complete; at least one is under way. */
static int wait_for_any(const char *function, int count, const MPI_Request *handles)
{
    const struct weft_wait_reason why = {function, "several requests", -1, -2, 0};
    struct weft_request *few[FEW];
    struct weft_request **list = few;
    int n = 0;

    if (count > FEW) {
        list = malloc((size_t)count * sizeof(struct weft_request *));
        if (list == NULL) {
            return weft_raise(function, WEFT_E_NO_MEM_REQUESTS, count);
        }
    }
    weft_lock();
    for (int i = 0; i < count; i++) {
        struct weft_request *request = weft_request_from_handle(handles[i]);

        if (request != NULL && !request->is_inactive) {
            list[n++] = request;
        }
    }
    weft_unlock();
    weft_wait_any(list, n, &why);
    if (list != few) {
        free(list);
    }
    return MPI_SUCCESS;
}

/* Looks, and waits if none is complete but one is under way. */
static int look_or_wait(const char *function, int count, const MPI_Request *handles,
                        struct weft_requests *seen)
{
    int err = weft_look_at_requests(function, count, handles, seen);

    if (err == MPI_SUCCESS && seen->active > 0 && seen->complete == 0) {
        err = wait_for_any(function, count, handles);
        if (err == MPI_SUCCESS) {
            err = weft_look_at_requests(function, count, handles, seen);
        }
    }
    return err;
}

/* The first complete one, or MPI_UNDEFINED where none is under way. */
static int complete_first(const char *function, MPI_Request *handles,
                          const struct weft_requests *seen, int *index,
                          MPI_Status *status)
{
    if (seen->active == 0) {
        *index = MPI_UNDEFINED;
        weft_status_set_empty(status);
        return MPI_SUCCESS;
    }
    *index = seen->first;
    return weft_complete(function, &handles[seen->first], status);
}

static int check_any(const char *function, int count, const MPI_Request *requests,
                     const int *index)
{
    int err = weft_check_requests(function, count, requests);

    return err != MPI_SUCCESS ? err : weft_check_out(function, NULL, index, "index");
}

int PMPI_Waitany(int count, MPI_Request array_of_requests[], int *index,
                 MPI_Status *status)
{
    WEFT_RECORD_WAIT(Waitany, count, array_of_requests);
    static const char function[] = "MPI_Waitany";
    struct weft_requests seen;
    int err = check_any(function, count, array_of_requests, index);

    if (err == MPI_SUCCESS) {
        err = look_or_wait(function, count, array_of_requests, &seen);
    }
    return err != MPI_SUCCESS
               ? err
               : complete_first(function, array_of_requests, &seen, index, status);
}
WEFT_WEAK_ALIAS(MPI_Waitany, PMPI_Waitany);

int PMPI_Testany(int count, MPI_Request array_of_requests[], int *index, int *flag,
                 MPI_Status *status)
{
    WEFT_RECORD_POLL(Testany, MPI_COMM_NULL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG);
    static const char function[] = "MPI_Testany";
    struct weft_requests seen;
    int err = check_any(function, count, array_of_requests, index);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, flag, "flag");
    }
    if (err == MPI_SUCCESS) {
        err = weft_test_requests(function, count, array_of_requests, false, &seen);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    *flag = seen.active == 0 || seen.complete > 0;
    *index = MPI_UNDEFINED;
    return *flag ? complete_first(function, array_of_requests, &seen, index, status)
                 : MPI_SUCCESS;
}
WEFT_WEAK_ALIAS(MPI_Testany, PMPI_Testany);

int weft_test_all(const char *function, int count, const MPI_Request *requests, int *flag)
{
    struct weft_requests seen;
    int err = weft_check_requests(function, count, requests);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, flag, "flag");
    }
    if (err == MPI_SUCCESS) {
        err = weft_test_requests(function, count, requests, true, &seen);
    }
    if (err == MPI_SUCCESS) {
        *flag = seen.active == seen.complete;
    }
    return err;
}

int PMPI_Testall(int count, MPI_Request array_of_requests[], int *flag,
                 MPI_Status *array_of_statuses)
{
    WEFT_RECORD_POLL(Testall, MPI_COMM_NULL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG);
    static const char function[] = "MPI_Testall";
    struct weft_batch batch = {.function = function, .statuses = array_of_statuses};
    int err = weft_test_all(function, count, array_of_requests, flag);

    if (err != MPI_SUCCESS || !*flag) {
        return err;
    }
    weft_lock();
    for (int i = 0; i < count; i++) {
        weft_batch_complete(&batch, &array_of_requests[i]);
    }
    weft_unlock();
    return weft_batch_finish(&batch);
}
WEFT_WEAK_ALIAS(MPI_Testall, PMPI_Testall);

/* Completes all that are complete. */
static int complete_some(const char *function, int count, MPI_Request *handles,
                         const struct weft_requests *seen, int *outcount, int *indices,
                         MPI_Status *statuses)
{
    struct weft_batch batch = {.function = function, .statuses = statuses};

    if (seen->active == 0) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    weft_lock();
    for (int i = seen->complete > 0 ? seen->first : count; i < count; i++) {
        const struct weft_request *request =
            handles[i] != MPI_REQUEST_NULL ? weft_request_from_handle(handles[i]) : NULL;

        if (request != NULL && weft_request_is_complete(request) &&
            !request->is_inactive) {
            indices[batch.done] = i;
            weft_batch_complete(&batch, &handles[i]);
        }
    }
    weft_unlock();
    *outcount = batch.done;
    return weft_batch_finish(&batch);
}

static int check_some(const char *function, int count, const MPI_Request *requests,
                      const int *outcount, const int *indices)
{
    int err = weft_check_requests(function, count, requests);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, outcount, "outcount");
    }
    return err != MPI_SUCCESS || count == 0
               ? err
               : weft_check_out(function, NULL, indices, "array_of_indices");
}

int PMPI_Waitsome(int incount, MPI_Request array_of_requests[], int *outcount,
                  int array_of_indices[], MPI_Status array_of_statuses[])
{
    WEFT_RECORD_WAIT(Waitsome, incount, array_of_requests);
    static const char function[] = "MPI_Waitsome";
    struct weft_requests seen;
    int err =
        check_some(function, incount, array_of_requests, outcount, array_of_indices);

    if (err == MPI_SUCCESS) {
        err = look_or_wait(function, incount, array_of_requests, &seen);
    }
    return err != MPI_SUCCESS
               ? err
               : complete_some(function, incount, array_of_requests, &seen, outcount,
                               array_of_indices, array_of_statuses);
}
WEFT_WEAK_ALIAS(MPI_Waitsome, PMPI_Waitsome);

int PMPI_Testsome(int incount, MPI_Request array_of_requests[], int *outcount,
                  int array_of_indices[], MPI_Status array_of_statuses[])
{
    WEFT_RECORD_POLL(Testsome, MPI_COMM_NULL, WEFT_DOING_UNKNOWN, MPI_ANY_TAG);
    static const char function[] = "MPI_Testsome";
    struct weft_requests seen;
    int err =
        check_some(function, incount, array_of_requests, outcount, array_of_indices);

    if (err == MPI_SUCCESS) {
        err = weft_test_requests(function, incount, array_of_requests, false, &seen);
    }
    return err != MPI_SUCCESS
               ? err
               : complete_some(function, incount, array_of_requests, &seen, outcount,
                               array_of_indices, array_of_statuses);
}
WEFT_WEAK_ALIAS(MPI_Testsome, PMPI_Testsome);
