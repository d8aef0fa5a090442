/*
 * mpi_object.c - messages through MPI_Send and MPI_Recv, or their non-blocking sisters.
 *
 * This file sees whatever mpi.h its compiler finds: that of the standard ABI, of Open MPI
 * or of MPICH. It uses MPI-3 and nothing else. Ends and ranks are counted by different
 * people, so every end tells its rank to the others when the module opens.
 */
#include "gauge/modules/mpi_object.h"

#include <stdlib.h>
#include <string.h>

/* The one thing that this object shows. */
extern struct gauge_mpi_object gauge_mpi_object;

_Static_assert(sizeof(MPI_Request) <= sizeof(((struct gauge_request *)0)->space),
               "a request of MPI fits into one of ours");

static MPI_Request *request_of(struct gauge_request *request)
{
    return (MPI_Request *)(void *)request->space;
}

static enum gauge_rc mpi_sendto(struct gauge_module *module, int dest, const void *buffer,
                                size_t size)
{
    return judge(
        MPI_Send(buffer, (int)size, MPI_BYTE, rank_of(module, dest), 0, MPI_COMM_WORLD),
        "MPI_Send");
}

static enum gauge_rc mpi_recvfrom(struct gauge_module *module, int source, void *buffer,
                                  size_t size)
{
    return judge(MPI_Recv(buffer, (int)size, MPI_BYTE, rank_of(module, source), 0,
                          MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                 "MPI_Recv");
}

static enum gauge_rc mpi_isendto(struct gauge_module *module, int dest,
                                 const void *buffer, size_t size,
                                 struct gauge_request *request)
{
    return judge(MPI_Isend(buffer, (int)size, MPI_BYTE, rank_of(module, dest), 0,
                           MPI_COMM_WORLD, request_of(request)),
                 "MPI_Isend");
}

static enum gauge_rc mpi_irecvfrom(struct gauge_module *module, int source, void *buffer,
                                   size_t size, struct gauge_request *request)
{
    return judge(MPI_Irecv(buffer, (int)size, MPI_BYTE, rank_of(module, source), 0,
                           MPI_COMM_WORLD, request_of(request)),
                 "MPI_Irecv");
}

static enum gauge_rc mpi_test(struct gauge_module *module, struct gauge_request *request)
{
    int is_done = 0;
    enum gauge_rc rc =
        judge(MPI_Test(request_of(request), &is_done, MPI_STATUS_IGNORE), "MPI_Test");

    (void)module;
    request->is_done = is_done != 0;
    return rc;
}

static enum gauge_rc mpi_wait(struct gauge_module *module, struct gauge_request *request)
{
    enum gauge_rc rc =
        judge(MPI_Wait(request_of(request), MPI_STATUS_IGNORE), "MPI_Wait");

    (void)module;
    request->is_done = true;
    return rc;
}

static void mpi_facts(struct gauge_module *module,
                      void (*put)(void *arg, const char *key, const char *value),
                      void *arg)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;

    (void)module;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, "\n")] = '\0';
    put(arg, "mpi_library", text);
}

static void mpi_shutdown(struct gauge_module *module)
{
    struct mpi *mpi = module->state;

    MPI_Finalize();
    free(mpi->rank);
    free(mpi);
    module->state = NULL;
}

/* The job that the library sees must be the one that the ends are of. */
static enum gauge_rc learn_ranks(struct mpi *mpi, const struct gauge_world *world)
{
    int rank = 0;
    int size = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size != world->ends) {
        return gauge_mpi_fail("mpi: the library sees a job of %d and there are %d "
                              "ends: start them with this MPI's own mpiexec",
                              size, world->ends);
    }
    if (size == 1) {
        return gauge_mpi_fail("mpi: one rank alone would wait for itself: start "
                              "at least two");
    }
    return world->exchange(world, &rank, sizeof(rank), mpi->rank);
}

static enum gauge_rc mpi_init(struct gauge_module *module,
                              const struct gauge_world *world)
{
    struct mpi *mpi = calloc(1, sizeof(*mpi));

    gauge_mpi_fail = gauge_mpi_object.fail;
    if (mpi == NULL || (mpi->rank = calloc((size_t)world->ends, sizeof(int))) == NULL) {
        free(mpi);
        return gauge_mpi_fail("mpi: no memory for %d ends", world->ends);
    }
    module->state = mpi;
    if (MPI_Init(NULL, NULL) != MPI_SUCCESS) {
        free(mpi->rank);
        free(mpi);
        return gauge_mpi_fail("mpi: MPI_Init failed");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (learn_ranks(mpi, world) != GAUGE_OK) {
        mpi_shutdown(module);
        return GAUGE_FAILED;
    }
    return GAUGE_OK;
}

struct gauge_mpi_object gauge_mpi_object = {
    .version = GAUGE_MPI_VERSION,
    .world_size = sizeof(struct gauge_world),
    .init = mpi_init,
    .shutdown = mpi_shutdown,
    .facts = mpi_facts,
    .sendto = mpi_sendto,
    .recvfrom = mpi_recvfrom,
    .isendto = mpi_isendto,
    .irecvfrom = mpi_irecvfrom,
    .test = mpi_test,
    .wait = mpi_wait,
    .one_sided = &gauge_mpi_windows,
    .files = &gauge_mpi_files,
};
