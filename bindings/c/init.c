/*
 * init.c - MPI-5.0 chapter 11, the World Model: start, end, thread level, abort.
 */
#include "binding.h"

#include "check/rc.h"

#include <stdio.h>

/* What the program asked for: every level works, and the lower ones need no lock. */
static int thread_level = MPI_THREAD_SINGLE;

static int init_checked(const char *function, int required)
{
    if (weft_world_state() != WEFT_WORLD_BEFORE) {
        return weft_raise(function, WEFT_E_INITIALIZED_TWICE);
    }
    if (weft_world_init(required >= MPI_THREAD_MULTIPLE) != WEFT_OK) {
        weft_runtime_give_up(); /* as the initial error handler does */
    }
    thread_level = required;
    return MPI_SUCCESS;
}

int PMPI_Init(int *argc, char ***argv)
{
    WEFT_RECORD_PLAIN(Init);

    (void)argc;
    (void)argv;
    return init_checked("MPI_Init", MPI_THREAD_SINGLE);
}
WEFT_WEAK_ALIAS(MPI_Init, PMPI_Init);

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    WEFT_RECORD_PLAIN(Init_thread);
    int err;

    (void)argc;
    (void)argv;
    if (required != MPI_THREAD_SINGLE && required != MPI_THREAD_FUNNELED &&
        required != MPI_THREAD_SERIALIZED) {
        required = MPI_THREAD_MULTIPLE; /* whatever it is, this is enough */
    }
    err = init_checked("MPI_Init_thread", required);
    if (err == MPI_SUCCESS && provided != NULL) {
        *provided = thread_level;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Init_thread, PMPI_Init_thread);

int PMPI_Initialized(int *flag)
{
    int err = weft_check_out("MPI_Initialized", NULL, flag, "flag");

    if (err == MPI_SUCCESS) {
        *flag = weft_world_state() >= WEFT_WORLD_OPEN;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Initialized, PMPI_Initialized);

int PMPI_Finalized(int *flag)
{
    int err = weft_check_out("MPI_Finalized", NULL, flag, "flag");

    if (err == MPI_SUCCESS) {
        *flag = weft_world_state() == WEFT_WORLD_CLOSED;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Finalized, PMPI_Finalized);

/* What a failing delete callback returned is raised, and finalizing goes on. */
static int delete_attributes(struct weft_comm *comm)
{
    int err = weft_attributes_clear(WEFT_KIND_COMM, comm->handle, &comm->attributes);

    return err == MPI_SUCCESS
               ? err
               : weft_raise_comm(comm, "MPI_Finalize", err, WEFT_T_KEY_DELETE_ANY, err);
}

/*
 * First of all, while MPI still works, the attributes of MPI_COMM_SELF go (MPI-5.0,
 * 11.2.4), and then those of MPI_COMM_WORLD, which nobody else can delete any more.
 */
/* MPI_COMM_WORLD is closed, so errors have no communicator; a message that did not fit
 * the last barrier was sent on it. */
static int raise_finalize(enum weft_rc rc)
{
    char text[WEFT_TRUNCATED_TEXT];

    if (rc == WEFT_ERR_ARGUMENT) {
        return weft_raise("MPI_Finalize", WEFT_E_FINALIZED_TWICE);
    }
    if (rc == WEFT_ERR_TRUNCATE) {
        return weft_raise("MPI_Finalize", MPI_ERR_TRUNCATE, WEFT_T_TRUNCATED,
                          weft_describe_truncated(&weft_comm_world, text, sizeof(text)));
    }
    return weft_raise_rc(NULL, rc, "MPI_Finalize");
}

int PMPI_Finalize(void)
{
    WEFT_RECORD_PLAIN(Finalize);
    int err = weft_check_world("MPI_Finalize");
    int world_err;
    enum weft_rc rc;

    if (err != MPI_SUCCESS) {
        return err;
    }
    err = delete_attributes(&weft_comm_self);
    world_err = delete_attributes(&weft_comm_world);
    rc = weft_world_finalize();
    if (rc != WEFT_OK) {
        return raise_finalize(rc);
    }
    return err != MPI_SUCCESS ? err : world_err;
}
WEFT_WEAK_ALIAS(MPI_Finalize, PMPI_Finalize);

int PMPI_Query_thread(int *provided)
{
    int err = weft_check_world("MPI_Query_thread");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Query_thread", NULL, provided, "provided");
    }
    if (err == MPI_SUCCESS) {
        *provided = thread_level;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Query_thread, PMPI_Query_thread);

int PMPI_Is_thread_main(int *flag)
{
    int err = weft_check_world("MPI_Is_thread_main");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Is_thread_main", NULL, flag, "flag");
    }
    if (err == MPI_SUCCESS) {
        *flag = weft_world_is_main_thread();
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Is_thread_main, PMPI_Is_thread_main);

/* Takes no lock: it must work from any thread in any state of the library. */
int PMPI_Abort(MPI_Comm comm, int errorcode)
{
    const struct weft_comm *c = weft_comm_from_handle(comm);
    char text[256];

    weft_record_abort(__builtin_return_address(0), c, errorcode);
    snprintf(text, sizeof(text), "MPI_Abort%s%s with code %d", c != NULL ? " on " : "",
             c != NULL ? c->name : "", errorcode);
    weft_runtime_abort(errorcode, text);
}
WEFT_WEAK_ALIAS(MPI_Abort, PMPI_Abort);
