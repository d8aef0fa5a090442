/*
 * spoil.c - spoils the first element of what a program receives, to see that its check
 * of the answer finds it.
 *
 * It is loaded with LD_PRELOAD and stands between program and MPI by the profiling
 * interface, with any MPI. SPOIL names the datatype that it touches, double, int or byte,
 * and SPOIL_LEAST the fewest elements: a program that sends loop counts as doubles hangs
 * if these are spoiled. Only results of blocking calls are, and bytes that are put or
 * read from files.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static void spoil(void *buffer, int count, MPI_Datatype type)
{
    const char *kind = getenv("SPOIL");
    const char *least = getenv("SPOIL_LEAST");

    if (kind == NULL || least == NULL || count < atoi(least)) {
        return;
    }
    if ((type == MPI_DOUBLE || type == MPI_DOUBLE_PRECISION) &&
        strcmp(kind, "double") == 0) {
        *(double *)buffer = *(double *)buffer * 1.5 + 1;
    } else if (type == MPI_INT && strcmp(kind, "int") == 0) {
        *(int *)buffer += 1;
    } else if ((type == MPI_BYTE || type == MPI_CHAR) && strcmp(kind, "byte") == 0) {
        *(unsigned char *)buffer ^= 1;
    }
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int source, int tag,
             MPI_Comm comm, MPI_Status *status)
{
    int err = PMPI_Recv(buffer, count, type, source, tag, comm, status);

    spoil(buffer, count, type);
    return err;
}

int MPI_Sendrecv(const void *sent, int send_count, MPI_Datatype send_type, int dest,
                 int send_tag, void *buffer, int count, MPI_Datatype type, int source,
                 int tag, MPI_Comm comm, MPI_Status *status)
{
    int err = PMPI_Sendrecv(sent, send_count, send_type, dest, send_tag, buffer, count,
                            type, source, tag, comm, status);

    spoil(buffer, count, type);
    return err;
}

int MPI_Allreduce(const void *sent, void *buffer, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    int err = PMPI_Allreduce(sent, buffer, count, type, op, comm);

    spoil(buffer, count, type);
    return err;
}

int MPI_Alltoall(const void *sent, int send_count, MPI_Datatype send_type, void *buffer,
                 int count, MPI_Datatype type, MPI_Comm comm)
{
    int err = PMPI_Alltoall(sent, send_count, send_type, buffer, count, type, comm);

    spoil(buffer, count, type);
    return err;
}

int MPI_Alltoallv(const void *sent, const int *send_counts, const int *send_starts,
                  MPI_Datatype send_type, void *buffer, const int *counts,
                  const int *starts, MPI_Datatype type, MPI_Comm comm)
{
    int err = PMPI_Alltoallv(sent, send_counts, send_starts, send_type, buffer, counts,
                             starts, type, comm);

    spoil(buffer, starts[0] == 0 ? counts[0] : 0, type);
    return err;
}

/* The window gets a copy, which has to stay as long as the program's own buffer: it is
 * never freed. */
int MPI_Put(const void *buffer, int count, MPI_Datatype type, int target, MPI_Aint disp,
            int target_count, MPI_Datatype target_type, MPI_Win win)
{
    const void *sent = buffer;

    if (count > 0 && type == MPI_BYTE) {
        void *copy = malloc((size_t)count);

        if (copy != NULL) {
            memcpy(copy, buffer, (size_t)count);
            spoil(copy, count, type);
            sent = copy;
        }
    }
    return PMPI_Put(sent, count, type, target, disp, target_count, target_type, win);
}

/* What is read from files. */
int MPI_File_read_at(MPI_File file, MPI_Offset offset, void *buffer, int count,
                     MPI_Datatype type, MPI_Status *status)
{
    int err = PMPI_File_read_at(file, offset, buffer, count, type, status);

    spoil(buffer, count, type);
    return err;
}

int MPI_File_read_at_all(MPI_File file, MPI_Offset offset, void *buffer, int count,
                         MPI_Datatype type, MPI_Status *status)
{
    int err = PMPI_File_read_at_all(file, offset, buffer, count, type, status);

    spoil(buffer, count, type);
    return err;
}
