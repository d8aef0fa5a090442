/*
 * io_hints.c FILE - hints and collective writes: members that give different values of a
 * hint, and hints that are set while a write is under way.
 */
#include "io.h"

enum { INTS = 50000 };

static int data[INTS];
static int back[INTS];

static MPI_Info info_of(const char *key, const char *value)
{
    MPI_Info info;

    DONE(MPI_Info_create(&info));
    DONE(MPI_Info_set(info, "romio_cb_write", "enable"));
    DONE(MPI_Info_set(info, "romio_cb_read", "enable"));
    DONE(MPI_Info_set(info, key, value));
    return info;
}

/* Every rank sees every `size`-th int. */
static void set_view(MPI_File fh, MPI_Info info)
{
    MPI_Datatype every;

    DONE(MPI_Type_vector(INTS, 1, size, MPI_INT, &every));
    DONE(MPI_Type_commit(&every));
    DONE(MPI_File_set_view(fh, 4 * rank, MPI_INT, every, "native", info));
    DONE(MPI_Type_free(&every));
}

static void fill(int seed)
{
    for (int i = 0; i < INTS; i++) {
        data[i] = i * size + rank + seed;
    }
}

/* Reads alone what was written together. */
static void check_file(MPI_File fh)
{
    sync_all(fh);
    memset(back, 0, sizeof(back));
    DONE(MPI_File_read_at(fh, 0, back, INTS, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(memcmp(data, back, sizeof(back)) == 0);
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

/* The first rank gives one value, the others give another one. */
static void differ(const char *key, const char *first, const char *others)
{
    MPI_Info info = info_of(key, rank == 0 ? first : others);
    MPI_File fh = new_file(MPI_MODE_RDWR);

    set_view(fh, info);
    fill(1);
    DONE(MPI_File_write_at_all(fh, 0, data, INTS, MPI_INT, MPI_STATUS_IGNORE));
    check_file(fh);
    memset(back, 0, sizeof(back));
    DONE(MPI_File_read_at_all(fh, 0, back, INTS, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(memcmp(data, back, sizeof(back)) == 0);
    DONE(MPI_File_close(&fh));
    DONE(MPI_Info_free(&info));
}

/* The last rank sets hints after its call has begun and before any work can be; the
 * others set the same ones when their calls have ended. */
static void change(const char *key, const char *before, const char *after)
{
    MPI_Info info[2] = {info_of(key, before), info_of(key, after)};
    MPI_File fh = new_file(MPI_MODE_RDWR);
    MPI_Request request;

    set_view(fh, info[0]);
    for (int round = 0; round < 4; round++) {
        fill(round);
        if (rank == size - 1) {
            DONE(MPI_File_iwrite_at_all(fh, 0, data, INTS, MPI_INT, &request));
            DONE(MPI_File_set_info(fh, info[(round + 1) % 2]));
        }
        DONE(MPI_Barrier(MPI_COMM_WORLD));
        if (rank != size - 1) {
            DONE(MPI_File_iwrite_at_all(fh, 0, data, INTS, MPI_INT, &request));
        }
        DONE(MPI_Wait(&request, MPI_STATUS_IGNORE));
        if (rank != size - 1) {
            DONE(MPI_File_set_info(fh, info[(round + 1) % 2]));
        }
        check_file(fh);
    }
    DONE(MPI_File_close(&fh));
    DONE(MPI_Info_free(&info[0]));
    DONE(MPI_Info_free(&info[1]));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    differ("cb_nodes", "1", "2");
    differ("cb_nodes", "2", "2147483647");
    differ("cb_buffer_size", "65536", "1048576");
    differ("cb_buffer_size", "9223372036854775807", "1");
    differ("romio_cb_write", "enable", "disable");
    differ("romio_cb_write", "disable", "enable");
    differ("romio_cb_read", "enable", "disable");
    differ("collective_buffering", "true", "false");
    change("cb_nodes", "1", "2");
    change("cb_buffer_size", "65536", "1048576");
    change("romio_cb_write", "enable", "disable");
    DONE(MPI_Finalize());
    return 0;
}
