/*
 * file.c - calls of all members of a file. Each rank sees every `size`-th int, so that
 * the ranks exchange their data.
 */
#include "trial.h"

static int run_open(struct trial *t)
{
    return MPI_File_open(t->comm, t->path,
                         MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                         MPI_INFO_NULL, &t->file);
}

static void make_type(struct trial *t)
{
    DONE(MPI_Type_vector(t->ints, 1, t->size, MPI_INT, &t->type));
    DONE(MPI_Type_commit(&t->type));
}

static void open_file(struct trial *t)
{
    DONE(run_open(t));
    make_type(t);
}

static int run_set_view(struct trial *t)
{
    return MPI_File_set_view(t->file, (MPI_Offset)sizeof(int) * t->rank, MPI_INT, t->type,
                             "native", MPI_INFO_NULL);
}

static void open_view(struct trial *t)
{
    MPI_Info info;

    open_file(t);
    DONE(MPI_Info_create(&info));
    DONE(MPI_Info_set(info, "collective_buffering", "true"));
    DONE(MPI_File_set_view(t->file, (MPI_Offset)sizeof(int) * t->rank, MPI_INT, t->type,
                           "native", info));
    DONE(MPI_Info_free(&info));
}

static void open_written(struct trial *t)
{
    open_view(t);
    DONE(MPI_File_write_at_all(t->file, 0, t->send, t->ints, MPI_INT, MPI_STATUS_IGNORE));
}

static int run_write_all(struct trial *t)
{
    return MPI_File_write_all(t->file, t->send, t->ints, MPI_INT, MPI_STATUS_IGNORE);
}

static int run_iwrite_all(struct trial *t)
{
    MPI_Request request;
    const int err = MPI_File_iwrite_all(t->file, t->send, t->ints, MPI_INT, &request);

    return err == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : err;
}

static int run_read_all(struct trial *t)
{
    return MPI_File_read_at_all(t->file, 0, t->recv, t->ints, MPI_INT, MPI_STATUS_IGNORE);
}

static int run_iread_all(struct trial *t)
{
    MPI_Request request;
    const int err =
        MPI_File_iread_at_all(t->file, 0, t->recv, t->ints, MPI_INT, &request);

    return err == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : err;
}

static int run_set_size(struct trial *t)
{
    return MPI_File_set_size(t->file, 4096);
}

static int run_sync(struct trial *t)
{
    return MPI_File_sync(t->file);
}

static int run_close(struct trial *t)
{
    return MPI_File_close(&t->file);
}

static bool is_open(struct trial *t)
{
    return MPI_File_sync(t->file) == MPI_SUCCESS;
}

static bool has_read(struct trial *t)
{
    return memcmp(t->recv, t->send, (size_t)t->ints * sizeof(int)) == 0;
}

static bool has_written(struct trial *t)
{
    return MPI_File_read_at_all(t->file, 0, t->recv, t->ints, MPI_INT,
                                MPI_STATUS_IGNORE) == MPI_SUCCESS &&
           has_read(t);
}

const struct kind file_kinds[] = {
    {"file_open", true, NULL, run_open, is_open},
    {"file_set_view", true, open_file, run_set_view, is_open},
    {"file_set_size", true, open_file, run_set_size, is_open},
    {"file_sync", true, open_file, run_sync, is_open},
    {"file_write_all", true, open_view, run_write_all, has_written},
    {"file_iwrite_all", true, open_view, run_iwrite_all, has_written},
    {"file_iread_all", true, open_written, run_iread_all, has_read},
    {"file_read_all", true, open_written, run_read_all, has_read},
    {"file_close", true, open_view, run_close, NULL},
    {0},
};
