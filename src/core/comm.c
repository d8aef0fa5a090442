#include "core/comm.h"

#include <stdio.h>
#include <string.h>

struct weft_comm weft_comm_world;
struct weft_comm weft_comm_self;

static void fill(struct weft_comm *comm, MPI_Comm handle, const char *name, int rank,
                 int size)
{
    comm->handle = handle;
    comm->rank = rank;
    comm->size = size;
    comm->errhandler = weft_errhandler_use(&weft_errors_are_fatal);
    snprintf(comm->name, sizeof(comm->name), "%s", name);
}

void weft_comm_open_predefined(int rank, int size)
{
    fill(&weft_comm_world, MPI_COMM_WORLD, "MPI_COMM_WORLD", rank, size);
    fill(&weft_comm_self, MPI_COMM_SELF, "MPI_COMM_SELF", 0, 1);
    weft_comm_world.stride = 1;
    weft_comm_self.first = (uint32_t)rank;
    weft_comm_self.context = WEFT_PLANES;
}

void weft_comm_close_predefined(void)
{
    weft_errhandler_release(weft_comm_world.errhandler);
    weft_errhandler_release(weft_comm_self.errhandler);
    weft_attributes_forget(&weft_comm_world.attributes);
    weft_attributes_forget(&weft_comm_self.attributes);
    memset(&weft_comm_world, 0, sizeof(weft_comm_world));
    memset(&weft_comm_self, 0, sizeof(weft_comm_self));
}
