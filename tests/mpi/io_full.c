/*
 * io_full.c FILE KIND - writes that the file system refuses, of all ranks together, alone
 * and in the background.
 *
 *   space   FILE is on a file system with room for less than 8 MiB. All ranks are told;
 *           the file has nothing but bytes that somebody wrote, and once it is gone
 *           there is room again.
 *   quota   The first rank's writes fail with EDQUOT, by a filter of its system calls.
 */
#include "io.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIECE = 1000, ALL = 8 << 20 };

static unsigned char *data;
static int pieces; /* of each rank */

static unsigned char value_of(int owner, int piece)
{
    return (unsigned char)(1 + (owner * 31 + piece) % 250);
}

/* Pieces of all ranks in turn. */
static MPI_File open_in_turns(void)
{
    MPI_File fh = new_file(MPI_MODE_RDWR);
    MPI_Datatype type;
    MPI_Datatype wide;

    DONE(MPI_Type_contiguous(PIECE, MPI_BYTE, &type));
    DONE(MPI_Type_create_resized(type, 0, (MPI_Aint)PIECE * size, &wide));
    DONE(MPI_Type_commit(&wide));
    DONE(MPI_File_set_view(fh, (MPI_Offset)PIECE * rank, MPI_BYTE, wide, "native",
                           MPI_INFO_NULL));
    DONE(MPI_Type_free(&type));
    DONE(MPI_Type_free(&wide));
    return fh;
}

/* What can be read is what its rank has written, or nothing. Something is missing: at the
 * end of the file, or before it, if who writes the end came first. */
static void check_contents(MPI_File fh)
{
    unsigned char *back = calloc((size_t)pieces, PIECE);
    MPI_Status status;
    int missing;
    int count;

    CHECK(back != NULL);
    DONE(MPI_File_read_at_all(fh, 0, back, pieces * PIECE, MPI_BYTE, &status));
    count = count_of(&status, MPI_BYTE);
    missing = pieces * PIECE - count;
    for (int i = 0; i < count; i++) {
        CHECK(back[i] == data[i] || back[i] == 0);
        missing += back[i] == 0 ? 1 : 0;
    }
    DONE(MPI_Allreduce(MPI_IN_PLACE, &missing, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(missing > 0);
    free(back);
}

static void space(void)
{
    const int bytes = pieces * PIECE;
    MPI_File fh = open_in_turns();
    MPI_Request request;

    IS_ERROR(MPI_File_write_at_all(fh, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE),
             MPI_ERR_NO_SPACE);
    check_contents(fh);
    DONE(MPI_File_set_size(fh, 0));
    DONE(MPI_File_write_at_all(fh, 0, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    DONE(MPI_File_iwrite_at_all(fh, 0, data, bytes, MPI_BYTE, &request));
    IS_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    check_contents(fh);
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    IS_ERROR(MPI_File_write_at(fh, 0, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE),
             MPI_ERR_NO_SPACE);
    DONE(MPI_File_iwrite_at(fh, 0, data, bytes, MPI_BYTE, &request));
    IS_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    DONE(MPI_File_close(&fh));
    fh = open_in_turns();
    DONE(MPI_File_write_at_all(fh, 0, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE));
    DONE(MPI_File_close(&fh));
}

/* From now on pwritev() fails with EDQUOT in all threads of this process. */
static bool refuse_writes(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pwritev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EDQUOT),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {sizeof(code) / sizeof(code[0]), code};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
                   &filter) == 0;
}

static void quota(void)
{
    MPI_File fh = open_in_turns();
    int is_refused = rank == 0 && refuse_writes();
    MPI_Request request;

    DONE(MPI_Bcast(&is_refused, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (is_refused) {
        IS_ERROR(MPI_File_write_at_all(fh, 0, data, pieces * PIECE, MPI_BYTE,
                                       MPI_STATUS_IGNORE),
                 MPI_ERR_QUOTA);
        DONE(MPI_File_iwrite_at_all(fh, 0, data, pieces * PIECE, MPI_BYTE, &request));
        IS_ERROR(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_QUOTA);
        CHECK((MPI_File_write_at(fh, 0, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE) ==
               MPI_ERR_QUOTA) == (rank == 0));
    } else if (rank == 0) {
        printf("no filters of system calls here\n");
    }
    DONE(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    begin(argc, argv);
    CHECK(argc > 2);
    pieces = ALL / size / PIECE;
    data = malloc((size_t)pieces * PIECE);
    CHECK(data != NULL);
    for (int i = 0; i < pieces; i++) {
        memset(data + (size_t)i * PIECE, value_of(rank, i), PIECE);
    }
    if (strcmp(argv[2], "space") == 0) {
        space();
    } else {
        quota();
    }
    free(data);
    DONE(MPI_Finalize());
    return 0;
}
