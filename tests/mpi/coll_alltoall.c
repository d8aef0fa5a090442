/* coll_alltoall.c - chapter 6: everyone has a block for everyone. */
#include "coll.h"

/* The bytes on their way from one rank to another. */
static int pair(int from, int to)
{
    return from * size + to;
}

static void exchange(const struct type_row *row, int count, bool is_in_place)
{
    const size_t bytes = (size_t)count * row->width;
    const size_t all = (size_t)size * bytes;
    unsigned char *send = make_buffer(all);
    unsigned char *recv = make_buffer(all);

    call++;
    for (int r = 0; r < size; r++) {
        fill((is_in_place ? recv : send) + (size_t)r * bytes, bytes, pair(rank, r));
    }
    if (is_in_place) {
        CHECK(MPI_Alltoall(MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, recv, count, row->type,
                           MPI_COMM_WORLD) == MPI_SUCCESS);
    } else {
        CHECK(MPI_Alltoall_c(send, count, row->type, recv, count, row->type,
                             MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    for (int r = 0; r < size; r++) {
        CHECK(is_from(recv + (size_t)r * bytes, bytes, pair(r, rank)));
        CHECK(is_in_place || is_from(send + (size_t)r * bytes, bytes, pair(rank, r)));
    }
    free_buffer(send, all);
    free_buffer(recv, all);
}

/* All collectives by turns, so that a message that strays is found by its neighbour. */
static void mixed(void)
{
    enum { CALLS = 300 };
    int *send = malloc((size_t)size * sizeof(int));
    int *recv = malloc((size_t)size * sizeof(int));
    int sum;

    CHECK(send != NULL && recv != NULL);
    for (int i = 0; i < CALLS; i++) {
        const int root = i % size;
        const int mine = i + rank;
        int value = rank == root ? i : -1;

        for (int r = 0; r < size; r++) {
            send[r] = i * 10000 + pair(rank, r);
        }
        CHECK(MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        for (int r = 0; r < size; r++) {
            CHECK(recv[r] == i * 10000 + pair(r, rank));
        }
        CHECK(MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(value == i);
        CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        CHECK(sum == i * size + size * (size - 1) / 2);
        CHECK(MPI_Gather(&mine, 1, MPI_INT, recv, 1, MPI_INT, root, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
        CHECK(rank != root || recv[size - 1] == i + size - 1);
    }
    free(send);
    free(recv);
}

static void errors(void)
{
    MPI_Comm w = MPI_COMM_WORLD;
    int *send = malloc((size_t)size * sizeof(int));
    int *recv = malloc((size_t)size * sizeof(int));

    CHECK(send != NULL && recv != NULL);
    return_errors();
    IS_ERROR(MPI_Alltoall(send, -1, MPI_INT, recv, 1, MPI_INT, w), MPI_ERR_COUNT);
    IS_ERROR(MPI_Alltoall(send, 1, MPI_INT, recv, -1, MPI_INT, w), MPI_ERR_COUNT);
    IS_ERROR(MPI_Alltoall(send, 1, MPI_DATATYPE_NULL, recv, 1, MPI_INT, w), MPI_ERR_TYPE);
    IS_ERROR(MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_DATATYPE_NULL, w), MPI_ERR_TYPE);
    IS_ERROR(MPI_Alltoall(NULL, 1, MPI_INT, recv, 1, MPI_INT, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Alltoall(send, 1, MPI_INT, NULL, 1, MPI_INT, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Alltoall(send, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Alltoall(recv, 1, MPI_INT, recv, 1, MPI_INT, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Alltoall(send, 1, MPI_INT, recv, 1, MPI_INT, MPI_COMM_NULL),
             MPI_ERR_COMM);
    if (size > 1) { /* a block would fit, but not one for each */
        IS_ERROR(MPI_Alltoall_c(MPI_IN_PLACE, 0, MPI_CHAR, recv, (MPI_Count)1 << 62,
                                MPI_SHORT, w),
                 MPI_ERR_COUNT);
    }
    free(send);
    free(recv);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (size_t t = 0; t < LENGTH(types); t++) {
        for (size_t c = 0; c < LENGTH(counts); c++) {
            exchange(&types[t], counts[c], false);
            exchange(&types[t], counts[c], true);
        }
    }
    CHECK(MPI_Alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(MPI_Alltoall(&rank, 1, MPI_INT, &call, 1, MPI_INT, MPI_COMM_SELF) ==
          MPI_SUCCESS);
    CHECK(call == rank);
    mixed();
    errors();
    return MPI_Finalize();
}
