/* coll_gather.c - chapter 6: the root, or everyone, gets a block from each rank. */
#include "coll.h"

static void check_blocks(const unsigned char *buffer, size_t bytes)
{
    for (int r = 0; r < size; r++) {
        CHECK(is_from(buffer + (size_t)r * bytes, bytes, r));
    }
}

static void gather(const struct type_row *row, int count, int root, bool is_in_place)
{
    const size_t bytes = (size_t)count * row->width;
    const size_t all = rank == root ? (size_t)size * bytes : 0;
    unsigned char *send = make_buffer(bytes);
    unsigned char *recv = make_buffer(all);
    const void *from = send;

    call++;
    fill(send, bytes, rank);
    if (is_in_place && rank == root) {
        fill(recv + (size_t)rank * bytes, bytes, rank);
        from = MPI_IN_PLACE;
    }
    if (rank != root) { /* what is said there about receiving does not matter */
        CHECK(MPI_Gather(from, count, row->type, NULL, -1, MPI_DATATYPE_NULL, root,
                         MPI_COMM_WORLD) == MPI_SUCCESS);
    } else if (root % 2 == 0) {
        CHECK(MPI_Gather(from, count, row->type, recv, count, row->type, root,
                         MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Gather_c(from, count, row->type, recv, count, row->type, root,
                           MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    if (rank == root) {
        check_blocks(recv, bytes);
    }
    CHECK(is_from(send, bytes, rank));
    free_buffer(send, bytes);
    free_buffer(recv, all);
}

static void allgather(const struct type_row *row, int count, bool is_in_place)
{
    const size_t bytes = (size_t)count * row->width;
    const size_t all = (size_t)size * bytes;
    unsigned char *send = make_buffer(bytes);
    unsigned char *recv = make_buffer(all);

    call++;
    fill(send, bytes, rank);
    if (is_in_place) {
        fill(recv + (size_t)rank * bytes, bytes, rank);
        CHECK(MPI_Allgather(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, recv, count, row->type,
                            MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Allgather_c(send, count, row->type, recv, count, row->type,
                              MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    check_blocks(recv, bytes);
    CHECK(is_from(send, bytes, rank));
    free_buffer(send, bytes);
    free_buffer(recv, all);
}

static void many_in_a_row(void)
{
    enum { CALLS = 500 };
    int *got = malloc((size_t)size * sizeof(int));

    CHECK(got != NULL);
    for (int i = 0; i < CALLS; i++) {
        const int root = i / 50 % size;
        const int value = i * 1000 + rank;

        CHECK(MPI_Gather_c(&value, 1, MPI_INT, got, 1, MPI_INT, root, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        for (int r = 0; rank == root && r < size; r++) {
            CHECK(got[r] == i * 1000 + r);
        }
        CHECK(MPI_Allgather(&value, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        for (int r = 0; r < size; r++) {
            CHECK(got[r] == i * 1000 + r);
        }
    }
    free(got);
}

/* Messages whose senders wait for the receiver: all come to an end. Among few ranks there
 * is one algorithm for all messages; small data have another one. Ranks that name
 * different sizes and have different algorithms may wait for ever.
 */
static void too_long_by_far(void)
{
    enum { COUNT = 30000, ROOM = 5000 };
    int *value = calloc(COUNT, sizeof(int));
    int *got = calloc((size_t)size * ROOM, sizeof(int));
    int err;

    CHECK(value != NULL && got != NULL);
    err = MPI_Gather(value, COUNT, MPI_INT, got, ROOM, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(err == (rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    free(value);
    free(got);
}

/* The root has room for less than it is sent: it says so, and all goes on. */
static void too_long(void)
{
    const int value[2] = {rank, rank};
    int *got = malloc((size_t)size * sizeof(int));
    int err;

    CHECK(got != NULL);
    err = MPI_Gather(value, 2, MPI_INT, got, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK(err == (rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
    if (size <= 4) {
        too_long_by_far();
    }
    CHECK(MPI_Allgather(value, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    for (int r = 0; r < size; r++) {
        CHECK(got[r] == r);
    }
    free(got);
}

static void gather_errors(int *got)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int value = 0;

    IS_ERROR(MPI_Gather(&value, 1, MPI_INT, got, 1, MPI_INT, -1, w), MPI_ERR_ROOT);
    IS_ERROR(MPI_Gather(&value, 1, MPI_INT, got, 1, MPI_INT, size, w), MPI_ERR_ROOT);
    IS_ERROR(MPI_Gather(&value, -1, MPI_INT, got, 1, MPI_INT, rank, w), MPI_ERR_COUNT);
    IS_ERROR(MPI_Gather(&value, 1, MPI_INT, got, -1, MPI_INT, rank, w), MPI_ERR_COUNT);
    IS_ERROR(MPI_Gather(&value, 1, MPI_DATATYPE_NULL, got, 1, MPI_INT, rank, w),
             MPI_ERR_TYPE);
    IS_ERROR(MPI_Gather(&value, 1, MPI_INT, got, 1, MPI_DATATYPE_NULL, rank, w),
             MPI_ERR_TYPE);
    IS_ERROR(MPI_Gather(NULL, 1, MPI_INT, got, 1, MPI_INT, rank, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Gather(&value, 1, MPI_INT, NULL, 1, MPI_INT, rank, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Gather(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, rank, w),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Gather(got + rank, 1, MPI_INT, got, 1, MPI_INT, rank, w),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Gather(&value, 1, MPI_INT, got, 1, MPI_INT, 0, MPI_COMM_NULL),
             MPI_ERR_COMM);
    if (size > 1) { /* in place is for the root */
        IS_ERROR(
            MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, (rank + 1) % size, w),
            MPI_ERR_BUFFER);
        IS_ERROR(MPI_Gather_c(MPI_IN_PLACE, 0, MPI_CHAR, got, (MPI_Count)1 << 62,
                              MPI_SHORT, rank, w),
                 MPI_ERR_COUNT);
    }
}

static void allgather_errors(int *got)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int value = 0;

    IS_ERROR(MPI_Allgather(&value, -1, MPI_INT, got, 1, MPI_INT, w), MPI_ERR_COUNT);
    IS_ERROR(MPI_Allgather(&value, 1, MPI_INT, got, -1, MPI_INT, w), MPI_ERR_COUNT);
    IS_ERROR(MPI_Allgather(&value, 1, MPI_DATATYPE_NULL, got, 1, MPI_INT, w),
             MPI_ERR_TYPE);
    IS_ERROR(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_DATATYPE_NULL, w),
             MPI_ERR_TYPE);
    IS_ERROR(MPI_Allgather(NULL, 1, MPI_INT, got, 1, MPI_INT, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Allgather(&value, 1, MPI_INT, NULL, 1, MPI_INT, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Allgather(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, w),
             MPI_ERR_BUFFER);
    IS_ERROR(MPI_Allgather(got + rank, 1, MPI_INT, got, 1, MPI_INT, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Allgather(&value, 1, MPI_INT, got, 1, MPI_INT, MPI_COMM_NULL),
             MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
    int *got;

    begin(&argc, &argv);
    for (size_t t = 0; t < LENGTH(types); t++) {
        for (size_t c = 0; c < LENGTH(counts); c++) {
            for (int root = 0; root < size; root++) {
                gather(&types[t], counts[c], root, false);
                gather(&types[t], counts[c], root, true);
            }
            allgather(&types[t], counts[c], false);
            allgather(&types[t], counts[c], true);
        }
    }
    CHECK(MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(MPI_Allgather(&rank, 1, MPI_INT, &call, 1, MPI_INT, MPI_COMM_SELF) ==
          MPI_SUCCESS);
    CHECK(call == rank);
    many_in_a_row();
    return_errors();
    too_long();
    got = malloc((size_t)size * sizeof(int));
    CHECK(got != NULL);
    gather_errors(got);
    allgather_errors(got);
    free(got);
    return MPI_Finalize();
}
