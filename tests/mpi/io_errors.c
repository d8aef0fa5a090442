/*
 * io_errors.c FILE [another] - whose error handler is called for a wrong argument of
 * a call on files, that no member waits for one that has given it, and which file is
 * deleted when it is closed; or what the first rank is told of another one's fault.
 *
 * The handler of MPI_COMM_WORLD and MPI_COMM_SELF ends the job; that of files returns.
 */
#include "io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BYTES = 1000, LIMIT = 1 << 20 };

static MPI_Info dead_info(void)
{
    MPI_Info info;
    MPI_Info dead;

    DONE(MPI_Info_create(&info));
    dead = info;
    DONE(MPI_Info_free(&info));
    return dead;
}

/* The last rank gives an argument that is wrong. */
static void wrong_arguments(void)
{
    const MPI_Info dead = dead_info();
    const MPI_Info mine = rank == size - 1 ? dead : MPI_INFO_NULL;
    MPI_File fh = MPI_FILE_NULL;

    IS_ERROR(MPI_File_open(MPI_COMM_NULL, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh),
             MPI_ERR_COMM);
    IS_ERROR(
        MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDWR | MPI_MODE_CREATE, mine, &fh),
        MPI_ERR_INFO);
    CHECK(fh == MPI_FILE_NULL);
    fh = new_file(MPI_MODE_RDWR);
    IS_ERROR(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", mine), MPI_ERR_INFO);
    IS_ERROR(MPI_File_set_info(fh, dead), MPI_ERR_INFO);
    IS_ERROR(MPI_File_delete(path, dead), MPI_ERR_INFO);
    DONE(MPI_File_close(&fh));
}

/* The last rank may not write behind LIMIT. The error of the first one ends the job. */
static void another_member(void)
{
    const struct rlimit limit = {LIMIT, RLIM_INFINITY};
    const bool is_last = rank == size - 1;
    MPI_File fh = new_file(MPI_MODE_RDWR);
    char data[BYTES] = "";

    if (is_last) {
        signal(SIGXFSZ, SIG_IGN);
        CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    }
    if (rank == 0) {
        DONE(MPI_File_set_errhandler(fh, MPI_ERRORS_ARE_FATAL));
    }
    MPI_File_write_at_all(fh, is_last ? LIMIT : (MPI_Offset)rank * BYTES, data, BYTES,
                          MPI_BYTE, MPI_STATUS_IGNORE);
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

/* On one rank, for all. */
static void make_file(const char *name)
{
    if (rank == 0) {
        int fd = open(name, O_RDWR | O_CREAT, 0600);

        CHECK(fd >= 0 && close(fd) == 0);
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
}

static MPI_File open_there(const char *name)
{
    MPI_File fh;

    DONE(MPI_File_open(MPI_COMM_WORLD, name,
                       MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                       MPI_INFO_NULL, &fh));
    return fh;
}

/* In two directories of the test's own. */
static void deleted_on_close(void)
{
    char one[NAME_BYTES + 8];
    char two[NAME_BYTES + 8];
    MPI_File fh;

    snprintf(one, sizeof(one), "%s.one", path);
    snprintf(two, sizeof(two), "%s.two", path);
    if (rank == 0) {
        mkdir(one, 0700);
        mkdir(two, 0700);
    }
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(chdir(one) == 0);
    fh = open_there("same");
    CHECK(chdir(two) == 0);
    make_file("same");
    DONE(MPI_File_close(&fh));
    CHECK(access("same", F_OK) == 0 && chdir(one) == 0 && access("same", F_OK) != 0);

    DONE(MPI_Barrier(MPI_COMM_WORLD));
    fh = open_there("first");
    if (rank == 0) {
        CHECK(rename("first", "second") == 0);
    }
    make_file("first"); /* another one */
    IS_ERROR(MPI_File_close(&fh), MPI_ERR_NO_SUCH_FILE);
    CHECK(access("first", F_OK) == 0 && access("second", F_OK) == 0);
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        CHECK(unlink("first") == 0 && unlink("second") == 0 && chdir(two) == 0);
        CHECK(unlink("same") == 0 && chdir("/") == 0);
        CHECK(rmdir(one) == 0 && rmdir(two) == 0);
    }
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    if (argc > 2) {
        another_member();
    } else {
        wrong_arguments();
        deleted_on_close();
    }
    DONE(MPI_Finalize());
    return 0;
}
