/*
 * io_access.c - chapter 14.4: every call that reads or writes, each with its twin for
 * large counts. Every rank writes its own numbers, and reads those of its neighbour.
 */
#include "io.h"

enum { N = 25 }; /* numbers of a rank */

static int mine[N];
static int theirs[N];
static int neighbour;

static void fill(int salt)
{
    for (int i = 0; i < N; i++) {
        mine[i] = salt * 1000000 + rank * 1000 + i;
        theirs[i] = -1;
    }
}

static void is_theirs(int salt)
{
    for (int i = 0; i < N; i++) {
        CHECK(theirs[i] == salt * 1000000 + neighbour * 1000 + i);
    }
}

static void is_done(MPI_Request *request)
{
    MPI_Status status;

    DONE(MPI_Wait(request, &status));
    CHECK(*request == MPI_REQUEST_NULL);
    CHECK(count_of(&status, MPI_INT) == N);
}

static void is_whole(const MPI_Status *status)
{
    CHECK(count_of(status, MPI_INT) == N);
}

/* ---- explicit offsets ---- */

static void at_offsets(MPI_File fh)
{
    const MPI_Offset own = rank * N;
    const MPI_Offset other = neighbour * N;
    MPI_Request request;
    MPI_Status status;
    int salt = 1;

    DONE(MPI_File_set_view(fh, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
#define TRY(write, read)                                                                 \
    fill(salt);                                                                          \
    write;                                                                               \
    sync_all(fh);                                                                        \
    read;                                                                                \
    is_theirs(salt++);                                                                   \
    DONE(MPI_Barrier(MPI_COMM_WORLD))
    TRY(DONE(MPI_File_write_at(fh, own, mine, N, MPI_INT, &status));
        is_whole(&status), DONE(MPI_File_read_at(fh, other, theirs, N, MPI_INT, &status));
        is_whole(&status));
    TRY(DONE(MPI_File_write_at_c(fh, own, mine, N, MPI_INT, &status)),
        DONE(MPI_File_read_at_c(fh, other, theirs, N, MPI_INT, &status)));
    TRY(DONE(MPI_File_write_at_all(fh, own, mine, N, MPI_INT, &status));
        is_whole(&status),
        DONE(MPI_File_read_at_all(fh, other, theirs, N, MPI_INT, &status));
        is_whole(&status));
    TRY(DONE(MPI_File_write_at_all_c(fh, own, mine, N, MPI_INT, MPI_STATUS_IGNORE)),
        DONE(MPI_File_read_at_all_c(fh, other, theirs, N, MPI_INT, MPI_STATUS_IGNORE)));
    TRY(DONE(MPI_File_iwrite_at(fh, own, mine, N, MPI_INT, &request));
        is_done(&request),
        DONE(MPI_File_iread_at(fh, other, theirs, N, MPI_INT, &request));
        is_done(&request));
    TRY(DONE(MPI_File_iwrite_at_c(fh, own, mine, N, MPI_INT, &request));
        is_done(&request),
        DONE(MPI_File_iread_at_c(fh, other, theirs, N, MPI_INT, &request));
        is_done(&request));
    TRY(DONE(MPI_File_iwrite_at_all(fh, own, mine, N, MPI_INT, &request));
        is_done(&request),
        DONE(MPI_File_iread_at_all(fh, other, theirs, N, MPI_INT, &request));
        is_done(&request));
    TRY(DONE(MPI_File_iwrite_at_all_c(fh, own, mine, N, MPI_INT, &request));
        is_done(&request),
        DONE(MPI_File_iread_at_all_c(fh, other, theirs, N, MPI_INT, &request));
        is_done(&request));
    TRY(DONE(MPI_File_write_at_all_begin(fh, own, mine, N, MPI_INT));
        DONE(MPI_File_write_at_all_end(fh, mine, &status));
        is_whole(&status),
        DONE(MPI_File_read_at_all_begin(fh, other, theirs, N, MPI_INT));
        DONE(MPI_File_read_at_all_end(fh, theirs, &status)); is_whole(&status));
    TRY(DONE(MPI_File_write_at_all_begin_c(fh, own, mine, N, MPI_INT));
        DONE(MPI_File_write_at_all_end(fh, mine, &status));
        is_whole(&status),
        DONE(MPI_File_read_at_all_begin_c(fh, other, theirs, N, MPI_INT));
        DONE(MPI_File_read_at_all_end(fh, theirs, MPI_STATUS_IGNORE)));
}

/* ---- the own file pointer ---- */

static void at(MPI_File fh, MPI_Offset expected)
{
    MPI_Offset now = -1;

    DONE(MPI_File_get_position(fh, &now));
    CHECK(now == expected);
}

static void to_own(MPI_File fh)
{
    DONE(MPI_File_seek(fh, rank * N, MPI_SEEK_SET));
}

static void to_other(MPI_File fh)
{
    at(fh, (rank + 1) * N); /* it has moved behind what was written */
    DONE(MPI_File_seek(fh, (neighbour - rank - 1) * N, MPI_SEEK_CUR));
    at(fh, neighbour * N);
}

static void at_own_pointer(MPI_File fh)
{
    MPI_Request request;
    MPI_Status status;
    int salt = 20;

    DONE(MPI_File_set_view(fh, 4, MPI_INT, MPI_INT, "internal", MPI_INFO_NULL));
    at(fh, 0);
#undef TRY
#define TRY(write, read)                                                                 \
    fill(salt);                                                                          \
    to_own(fh);                                                                          \
    write;                                                                               \
    sync_all(fh);                                                                        \
    to_other(fh);                                                                        \
    read;                                                                                \
    is_theirs(salt++);                                                                   \
    at(fh, (neighbour + 1) * N);                                                         \
    DONE(MPI_Barrier(MPI_COMM_WORLD))
    TRY(DONE(MPI_File_write(fh, mine, N, MPI_INT, &status));
        is_whole(&status), DONE(MPI_File_read(fh, theirs, N, MPI_INT, &status));
        is_whole(&status));
    TRY(DONE(MPI_File_write_c(fh, mine, N, MPI_INT, &status)),
        DONE(MPI_File_read_c(fh, theirs, N, MPI_INT, &status)));
    TRY(DONE(MPI_File_write_all(fh, mine, N, MPI_INT, &status));
        is_whole(&status), DONE(MPI_File_read_all(fh, theirs, N, MPI_INT, &status));
        is_whole(&status));
    TRY(DONE(MPI_File_write_all_c(fh, mine, N, MPI_INT, &status)),
        DONE(MPI_File_read_all_c(fh, theirs, N, MPI_INT, &status)));
    TRY(DONE(MPI_File_iwrite(fh, mine, N, MPI_INT, &request));
        is_done(&request), DONE(MPI_File_iread(fh, theirs, N, MPI_INT, &request));
        is_done(&request));
    TRY(DONE(MPI_File_iwrite_c(fh, mine, N, MPI_INT, &request));
        is_done(&request), DONE(MPI_File_iread_c(fh, theirs, N, MPI_INT, &request));
        is_done(&request));
    TRY(DONE(MPI_File_iwrite_all(fh, mine, N, MPI_INT, &request));
        is_done(&request), DONE(MPI_File_iread_all(fh, theirs, N, MPI_INT, &request));
        is_done(&request));
    TRY(DONE(MPI_File_iwrite_all_c(fh, mine, N, MPI_INT, &request));
        is_done(&request), DONE(MPI_File_iread_all_c(fh, theirs, N, MPI_INT, &request));
        is_done(&request));
    TRY(DONE(MPI_File_write_all_begin(fh, mine, N, MPI_INT));
        DONE(MPI_File_write_all_end(fh, mine, &status));
        is_whole(&status), DONE(MPI_File_read_all_begin(fh, theirs, N, MPI_INT));
        DONE(MPI_File_read_all_end(fh, theirs, &status)); is_whole(&status));
    TRY(DONE(MPI_File_write_all_begin_c(fh, mine, N, MPI_INT));
        DONE(MPI_File_write_all_end(fh, mine, &status)),
        DONE(MPI_File_read_all_begin_c(fh, theirs, N, MPI_INT));
        DONE(MPI_File_read_all_end(fh, theirs, &status)));
}

/* ---- the shared file pointer ---- */

static MPI_Offset shared_at(MPI_File fh)
{
    MPI_Offset now = -1;

    DONE(MPI_File_get_position_shared(fh, &now));
    return now;
}

/* Somebody's numbers, all of one rank, in order. Returns the rank. */
static int whose(int salt)
{
    const int who = theirs[0] / 1000 - salt * 1000;

    CHECK(who >= 0 && who < size);
    for (int i = 0; i < N; i++) {
        CHECK(theirs[i] == salt * 1000000 + who * 1000 + i);
    }
    return who;
}

/* Each part was read by one rank. */
static void all_read(int who)
{
    const int one = 1 << who;
    int all = 0;

    DONE(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_BOR, MPI_COMM_WORLD));
    CHECK(all == (1 << size) - 1);
}

static void rewind_shared(MPI_File fh)
{
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    CHECK(shared_at(fh) == (MPI_Offset)size * N);
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    CHECK(shared_at(fh) == 0);
}

static void at_shared_pointer(MPI_File fh)
{
    MPI_Request request;
    MPI_Status status;
    int salt = 40;

    DONE(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
#undef TRY
#define TRY(write, read)                                                                 \
    fill(salt);                                                                          \
    write;                                                                               \
    sync_all(fh);                                                                        \
    rewind_shared(fh);                                                                   \
    DONE(MPI_Barrier(MPI_COMM_WORLD));                                                   \
    read;                                                                                \
    all_read(whose(salt++));                                                             \
    rewind_shared(fh);                                                                   \
    DONE(MPI_Barrier(MPI_COMM_WORLD))
    TRY(DONE(MPI_File_write_shared(fh, mine, N, MPI_INT, &status));
        is_whole(&status), DONE(MPI_File_read_shared(fh, theirs, N, MPI_INT, &status));
        is_whole(&status));
    TRY(DONE(MPI_File_write_shared_c(fh, mine, N, MPI_INT, &status)),
        DONE(MPI_File_read_shared_c(fh, theirs, N, MPI_INT, &status)));
    TRY(DONE(MPI_File_iwrite_shared(fh, mine, N, MPI_INT, &request));
        is_done(&request), DONE(MPI_File_iread_shared(fh, theirs, N, MPI_INT, &request));
        is_done(&request));
    TRY(DONE(MPI_File_iwrite_shared_c(fh, mine, N, MPI_INT, &request));
        is_done(&request),
        DONE(MPI_File_iread_shared_c(fh, theirs, N, MPI_INT, &request));
        is_done(&request));
    /* In the order of ranks. */
#undef TRY
#define TRY(write, read)                                                                 \
    fill(salt);                                                                          \
    write;                                                                               \
    sync_all(fh);                                                                        \
    DONE(MPI_File_read_at(fh, neighbour *N, theirs, N, MPI_INT, &status));               \
    is_theirs(salt);                                                                     \
    rewind_shared(fh);                                                                   \
    read;                                                                                \
    CHECK(whose(salt++) == rank);                                                        \
    rewind_shared(fh);                                                                   \
    DONE(MPI_Barrier(MPI_COMM_WORLD))
    TRY(DONE(MPI_File_write_ordered(fh, mine, N, MPI_INT, &status));
        is_whole(&status), DONE(MPI_File_read_ordered(fh, theirs, N, MPI_INT, &status));
        is_whole(&status));
    TRY(DONE(MPI_File_write_ordered_c(fh, mine, N, MPI_INT, &status)),
        DONE(MPI_File_read_ordered_c(fh, theirs, N, MPI_INT, &status)));
    TRY(DONE(MPI_File_write_ordered_begin(fh, mine, N, MPI_INT));
        DONE(MPI_File_write_ordered_end(fh, mine, &status));
        is_whole(&status), DONE(MPI_File_read_ordered_begin(fh, theirs, N, MPI_INT));
        DONE(MPI_File_read_ordered_end(fh, theirs, &status)); is_whole(&status));
    TRY(DONE(MPI_File_write_ordered_begin_c(fh, mine, N, MPI_INT));
        DONE(MPI_File_write_ordered_end(fh, mine, &status)),
        DONE(MPI_File_read_ordered_begin_c(fh, theirs, N, MPI_INT));
        DONE(MPI_File_read_ordered_end(fh, theirs, &status)));
}

/* Ranks that write different amounts in order, the first of them nothing. */
static void in_order_of_ranks(MPI_File fh)
{
    MPI_Status status;
    int got[32];

    DONE(MPI_File_set_size(fh, 0));
    for (int i = 0; i < rank; i++) {
        mine[i] = rank * 100 + i;
    }
    DONE(MPI_File_write_ordered(fh, mine, rank, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == rank);
    sync_all(fh);
    DONE(MPI_File_read_at(fh, 0, got, 32, MPI_INT, &status));
    CHECK(count_of(&status, MPI_INT) == size * (size - 1) / 2);
    for (int r = 0, at_number = 0; r < size; r++) {
        for (int i = 0; i < r; i++) {
            CHECK(got[at_number++] == r * 100 + i);
        }
    }
    CHECK(shared_at(fh) == (MPI_Offset)size * (size - 1) / 2);
}

/* ---- the end of the file ---- */

static void past_the_end(MPI_File fh)
{
    MPI_Request request;
    MPI_Status status;
    char bytes[16] = "................";

    DONE(MPI_Barrier(MPI_COMM_WORLD));
    DONE(MPI_File_set_size(fh, 10));
    DONE(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    DONE(MPI_File_read_at(fh, 4, bytes, 16, MPI_BYTE, &status));
    CHECK(count_of(&status, MPI_BYTE) == 6);
    CHECK(bytes[6] == '.');
    DONE(MPI_File_read_at_all(fh, 10, bytes, 16, MPI_BYTE, &status));
    CHECK(count_of(&status, MPI_BYTE) == 0);
    DONE(MPI_File_iread_at(fh, 8, bytes, 16, MPI_BYTE, &request));
    DONE(MPI_Wait(&request, &status));
    CHECK(count_of(&status, MPI_BYTE) == 2);
    DONE(MPI_File_read_at(fh, 1000, bytes, 0, MPI_BYTE, &status));
    CHECK(count_of(&status, MPI_BYTE) == 0);
}

/* Many requests at once, completed together and in any order. */
static void many_requests(MPI_File fh)
{
    enum { MANY = 40 };
    static int out[MANY][N];
    static int in[MANY][N];
    MPI_Request requests[MANY];

    DONE(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < N; k++) {
            out[i][k] = rank * 10000 + i * 100 + k;
        }
        DONE(MPI_File_iwrite_at(fh, (rank * MANY + i) * N, out[i], N, MPI_INT,
                                &requests[i]));
    }
    DONE(MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < MANY; i++) {
        DONE(MPI_File_iread_at(fh, (rank * MANY + i) * N, in[i], N, MPI_INT,
                               &requests[i]));
    }
    for (int i = 0; i < MANY; i++) {
        int which = -1;

        DONE(MPI_Waitany(MANY, requests, &which, MPI_STATUS_IGNORE));
        CHECK(memcmp(in[which], out[which], sizeof(in[which])) == 0);
    }
    DONE(MPI_File_iwrite_at(fh, rank * MANY * N, out[0], N, MPI_INT, &requests[0]));
    DONE(MPI_Request_free(&requests[0]));
    sync_all(fh);
}

int main(int argc, char **argv)
{
    MPI_File fh;

    begin(argc, argv);
    neighbour = (rank + 1) % size;
    fh = new_file(MPI_MODE_RDWR);
    at_offsets(fh);
    at_own_pointer(fh);
    at_shared_pointer(fh);
    in_order_of_ranks(fh);
    past_the_end(fh);
    many_requests(fh);
    DONE(MPI_File_close(&fh));
    CHECK(fh == MPI_FILE_NULL);
    IS_ERROR(MPI_File_delete(path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
    DONE(MPI_Finalize());
    return 0;
}
