/*
 * operation.c - MPI-5.0 chapter 6.9: operations of the user, and reductions that need no
 * message.
 */
#include "binding.h"

#include "check/coll.h"
#include "check/p2p.h"
#include "check/rc.h"
#include "engine/lock.h"
#include "wireup/recorder.h"

static int create(const char *function, MPI_User_function *user,
                  MPI_User_function_c *user_c, int commute, MPI_Op *op)
{
    struct weft_operation *made;
    enum weft_rc rc;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, op, "op");
    }
    if (err == MPI_SUCCESS && user == NULL && user_c == NULL) {
        err = weft_raise(function, WEFT_E_NULL_FUNCTION);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_operation_new(user, user_c, commute != 0, &made);
    weft_unlock();
    if (rc == WEFT_OK) {
        *op = made->handle;
    }
    return weft_raise_rc(NULL, rc, function);
}

int PMPI_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op)
{
    return create("MPI_Op_create", user_fn, NULL, commute, op);
}
WEFT_WEAK_ALIAS(MPI_Op_create, PMPI_Op_create);

int PMPI_Op_create_c(MPI_User_function_c *user_fn, int commute, MPI_Op *op)
{
    return create("MPI_Op_create_c", NULL, user_fn, commute, op);
}
WEFT_WEAK_ALIAS(MPI_Op_create_c, PMPI_Op_create_c);

/* With the lock. */
static int find(const char *function, MPI_Op handle, struct weft_operation **out)
{
    char text[WEFT_DATATYPE_TEXT];

    *out = weft_operation_from_handle(handle);
    if (*out != NULL) {
        return MPI_SUCCESS;
    }
    return weft_raise(function, MPI_ERR_OP, WEFT_T_HANDLE,
                      weft_describe_handle(WEFT_KIND_OP, handle, text, sizeof(text)));
}

int PMPI_Op_free(MPI_Op *op)
{
    static const char function[] = "MPI_Op_free";
    struct weft_operation *found;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, op, "op");
    }
    if (err == MPI_SUCCESS) {
        err = find(function, *op, &found);
    }
    if (err == MPI_SUCCESS && !weft_operation_is_user(found)) {
        err = weft_raise(function, WEFT_E_OP_PREDEFINED);
    }
    if (err == MPI_SUCCESS) {
        weft_lock();
        weft_operation_free(found);
        weft_unlock();
        *op = MPI_OP_NULL;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Op_free, PMPI_Op_free);

int PMPI_Op_commutative(MPI_Op op, int *commute)
{
    static const char function[] = "MPI_Op_commutative";
    struct weft_operation *found;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, commute, "commute");
    }
    if (err == MPI_SUCCESS) {
        err = find(function, op, &found);
    }
    if (err == MPI_SUCCESS) {
        *commute = found->commutes;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Op_commutative, PMPI_Op_commutative);

static int reduce_local(const char *function, const void *inbuf, void *inoutbuf,
                        MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    struct weft_operation *found = NULL;
    struct weft_datatype *type = weft_datatype_from_handle(datatype);
    size_t bytes;
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_buffer(function, NULL, inbuf, count, datatype, &bytes);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_buffer(function, NULL, inoutbuf, count, datatype, &bytes);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_op(function, NULL, op, type, &found);
    }
    if (err == MPI_SUCCESS && (inbuf == MPI_IN_PLACE || inoutbuf == MPI_IN_PLACE)) {
        err = weft_raise(function, WEFT_E_BUFFER_IN_PLACE);
    }
    if (err == MPI_SUCCESS) {
        weft_operation_apply(found, type, inbuf, inoutbuf, (uint64_t)count);
    }
    weft_recorder_count();
    return err;
}

int PMPI_Reduce_local(const void *inbuf, void *inoutbuf, int count, MPI_Datatype datatype,
                      MPI_Op op)
{
    return reduce_local("MPI_Reduce_local", inbuf, inoutbuf, count, datatype, op);
}
WEFT_WEAK_ALIAS(MPI_Reduce_local, PMPI_Reduce_local);

int PMPI_Reduce_local_c(const void *inbuf, void *inoutbuf, MPI_Count count,
                        MPI_Datatype datatype, MPI_Op op)
{
    return reduce_local("MPI_Reduce_local_c", inbuf, inoutbuf, count, datatype, op);
}
WEFT_WEAK_ALIAS(MPI_Reduce_local_c, PMPI_Reduce_local_c);
