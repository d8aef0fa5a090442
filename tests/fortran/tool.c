/* tool.c - counts the sends and receives that reach the C library by their MPI_ name. */
#include <mpi.h>

int tool_sends(void);
int tool_receives(void);

static int sends;
static int receives;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag,
             MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    receives++;
    return PMPI_Irecv(buf, count, datatype, source, tag, comm, request);
}

int tool_sends(void)
{
    return sends;
}

int tool_receives(void)
{
    return receives;
}
