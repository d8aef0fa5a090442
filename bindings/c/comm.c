/*
 * comm.c - MPI-5.0 chapter 7: what a communicator tells, its name and its end.
 */
#include "binding.h"

#include "check/rc.h"
#include "coll/coll.h"
#include "comm/make.h"
#include "p2p/p2p.h"
#include "engine/lock.h"

#include <string.h>

int PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    struct weft_comm *c;
    int err = weft_check_comm("MPI_Comm_rank", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Comm_rank", c, rank, "rank");
    }
    if (err == MPI_SUCCESS) {
        *rank = c->rank;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Comm_rank, PMPI_Comm_rank);

int PMPI_Comm_size(MPI_Comm comm, int *size)
{
    struct weft_comm *c;
    int err = weft_check_comm("MPI_Comm_size", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Comm_size", c, size, "size");
    }
    if (err == MPI_SUCCESS) {
        *size = c->size;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Comm_size, PMPI_Comm_size);

int PMPI_Comm_remote_size(MPI_Comm comm, int *size)
{
    struct weft_comm *c;
    int err = weft_check_inter("MPI_Comm_remote_size", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Comm_remote_size", c, size, "size");
    }
    if (err == MPI_SUCCESS) {
        *size = c->peers;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Comm_remote_size, PMPI_Comm_remote_size);

int PMPI_Comm_test_inter(MPI_Comm comm, int *flag)
{
    struct weft_comm *c;
    int err = weft_check_comm("MPI_Comm_test_inter", comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Comm_test_inter", c, flag, "flag");
    }
    if (err == MPI_SUCCESS) {
        *flag = weft_comm_is_inter(c);
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Comm_test_inter, PMPI_Comm_test_inter);

/* Processes are not started by other processes yet, so nobody has a parent. */
int PMPI_Comm_get_parent(MPI_Comm *parent)
{
    static const char function[] = "MPI_Comm_get_parent";
    int err = weft_check_open(function);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, parent, "parent");
    }
    if (err == MPI_SUCCESS) {
        *parent = MPI_COMM_NULL;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Comm_get_parent, PMPI_Comm_get_parent);

int PMPI_Comm_compare(MPI_Comm comm1, MPI_Comm comm2, int *result)
{
    static const char function[] = "MPI_Comm_compare";
    struct weft_comm *a;
    struct weft_comm *b;
    int err = weft_check_comm(function, comm1, &a);

    if (err == MPI_SUCCESS) {
        err = weft_check_comm(function, comm2, &b);
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, a, result, "result");
    }
    return err == MPI_SUCCESS
               ? weft_raise_rc(a, weft_comm_compare(a, b, result), function)
               : err;
}
WEFT_WEAK_ALIAS(MPI_Comm_compare, PMPI_Comm_compare);

int PMPI_Comm_set_name(MPI_Comm comm, const char *comm_name)
{
    static const char function[] = "MPI_Comm_set_name";
    struct weft_comm *c;
    enum weft_rc rc;
    int err = weft_check_comm(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, comm_name, "comm_name");
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_lock();
    rc = weft_comm_set_name(c, comm_name);
    weft_unlock();
    return weft_raise_rc(c, rc, function);
}
WEFT_WEAK_ALIAS(MPI_Comm_set_name, PMPI_Comm_set_name);

/* MPI_COMM_NULL has a name too (MPI-5.0, 7.8). */
int PMPI_Comm_get_name(MPI_Comm comm, char *comm_name, int *resultlen)
{
    static const char function[] = "MPI_Comm_get_name";
    const char *name = "MPI_COMM_NULL";
    struct weft_comm *c = NULL;
    int err = comm == MPI_COMM_NULL ? weft_check_open(function)
                                    : weft_check_comm(function, comm, &c);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, comm_name, "comm_name");
    }
    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, c, resultlen, "resultlen");
    }
    if (err == MPI_SUCCESS) {
        weft_lock();
        name = c != NULL ? c->name : name;
        *resultlen = (int)strlen(name);
        memcpy(comm_name, name, (size_t)*resultlen + 1);
        weft_unlock();
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Comm_get_name, PMPI_Comm_get_name);

/* A communicator that the user may free. */
static int check_free(const char *function, const MPI_Comm *comm, struct weft_comm **out)
{
    int err = weft_check_out(function, NULL, comm, "comm");

    if (err == MPI_SUCCESS) {
        err = weft_check_comm(function, *comm, out);
    }
    if (err == MPI_SUCCESS && weft_handle_is_predefined((uintptr_t)*comm)) {
        err = weft_raise_comm(*out, function, WEFT_E_COMM_PREDEFINED);
    }
    return err;
}

/* An error on the way is one of an attribute's: then it is not freed. */
static int free_checked(const char *function, struct weft_comm *c, MPI_Comm *comm)
{
    int err = weft_comm_free(c);

    if (err != MPI_SUCCESS) {
        return weft_raise_comm(c, function, err, WEFT_T_KEY_NOT_DELETED);
    }
    *comm = MPI_COMM_NULL;
    return MPI_SUCCESS;
}

int PMPI_Comm_free(MPI_Comm *comm)
{
    WEFT_RECORD_PLAIN(Comm_free);
    struct weft_comm *c;
    int err = check_free("MPI_Comm_free", comm, &c);

    return err == MPI_SUCCESS ? free_checked("MPI_Comm_free", c, comm) : err;
}
WEFT_WEAK_ALIAS(MPI_Comm_free, PMPI_Comm_free);

/*
 * The caller has received all that it wants, but what it has sent may be under way,
 * though nobody can wait for it any more. Then come the others of its side.
 */
int PMPI_Comm_disconnect(MPI_Comm *comm)
{
    WEFT_RECORD_PLAIN(Comm_disconnect);
    static const char function[] = "MPI_Comm_disconnect";
    struct weft_comm *c;
    int err = check_free(function, comm, &c);

    if (err == MPI_SUCCESS) {
        struct weft_comm *side = c->local != NULL ? c->local : c;

        weft_p2p_wait_detached(c, function);
        err = weft_raise_rc(c, weft_coll_barrier(side, function), function);
    }
    return err == MPI_SUCCESS ? free_checked(function, c, comm) : err;
}
WEFT_WEAK_ALIAS(MPI_Comm_disconnect, PMPI_Comm_disconnect);
