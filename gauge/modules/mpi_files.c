/*
 * mpi_files.c - files of MPI that all ends read and write together.
 *
 * Errors are returned and reported as those of messages are. The view says which bytes
 * are an end's; the file pointer is set back to its start before every access.
 */
#include "gauge/modules/mpi_object.h"

static enum gauge_rc files_open(struct gauge_module *module, const char *name)
{
    return judge(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR,
                               MPI_INFO_NULL, &mpi_of(module)->file),
                 "MPI_File_open");
}

static void files_close(struct gauge_module *module)
{
    MPI_File_close(&mpi_of(module)->file);
}

/* A piece of this end, and room for those of the others. */
static enum gauge_rc make_view(struct mpi *mpi, MPI_Offset at, size_t piece, size_t step)
{
    MPI_Datatype bytes = MPI_DATATYPE_NULL;
    MPI_Datatype view = MPI_DATATYPE_NULL;
    enum gauge_rc rc =
        judge(MPI_Type_contiguous((int)piece, MPI_BYTE, &bytes), "MPI_Type_contiguous");

    if (rc == GAUGE_OK) {
        rc = judge(MPI_Type_create_resized(bytes, 0, (MPI_Aint)step, &view),
                   "MPI_Type_create_resized");
        MPI_Type_free(&bytes);
    }
    if (rc == GAUGE_OK) {
        MPI_Type_commit(&view);
        rc = judge(
            MPI_File_set_view(mpi->file, at, MPI_BYTE, view, "native", MPI_INFO_NULL),
            "MPI_File_set_view");
        MPI_Type_free(&view);
    }
    return rc;
}

static enum gauge_rc files_arrange(struct gauge_module *module, size_t size, size_t piece)
{
    struct mpi *mpi = mpi_of(module);
    int ends = 0;
    int rank = 0;

    MPI_Comm_size(MPI_COMM_WORLD, &ends);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (piece == 0) {
        return make_view(mpi, (MPI_Offset)size * rank, 1, 1);
    }
    return make_view(mpi, (MPI_Offset)piece * rank, piece, piece * (size_t)ends);
}

static enum gauge_rc files_write(struct gauge_module *module, const void *buffer,
                                 size_t size)
{
    return judge(MPI_File_write_at_all(mpi_of(module)->file, 0, (void *)buffer, (int)size,
                                       MPI_BYTE, MPI_STATUS_IGNORE),
                 "MPI_File_write_at_all");
}

static enum gauge_rc files_read(struct gauge_module *module, void *buffer, size_t size)
{
    return judge(MPI_File_read_at_all(mpi_of(module)->file, 0, buffer, (int)size,
                                      MPI_BYTE, MPI_STATUS_IGNORE),
                 "MPI_File_read_at_all");
}

const struct gauge_files gauge_mpi_files = {
    .open = files_open,
    .close = files_close,
    .arrange = files_arrange,
    .write = files_write,
    .read = files_read,
};
