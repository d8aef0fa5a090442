/* coll_bcast.c - chapter 6: everyone gets what the root has. */
#include "coll.h"

static void every_root(const struct type_row *row, int count)
{
    const size_t bytes = (size_t)count * row->width;

    for (int root = 0; root < size; root++) {
        unsigned char *buffer = make_buffer(bytes);

        call++;
        if (rank == root) {
            fill(buffer, bytes, root);
        }
        CHECK((root % 2 == 0 ? MPI_Bcast(buffer, count, row->type, root, MPI_COMM_WORLD)
                             : MPI_Bcast_c(buffer, count, row->type, root,
                                           MPI_COMM_WORLD)) == MPI_SUCCESS);
        CHECK(is_from(buffer, bytes, root));
        free_buffer(buffer, bytes);
    }
    CHECK(MPI_Bcast_c(NULL, 0, row->type, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* The root may be far ahead of the others. */
static void many_in_a_row(void)
{
    enum { CALLS = 2000 };

    for (int i = 0; i < CALLS; i++) {
        const int root = i / 50 % size;
        int value = rank == root ? i : -1;

        CHECK(MPI_Bcast(&value, 1, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(value == i);
    }
}

/* A receive from anyone with any tag is not for messages of a collective. */
static void receives_do_not_see_it(void)
{
    MPI_Request request;
    MPI_Status status;
    int got = -1;
    int value = rank == 0 ? 11 : -1;

    CHECK(MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                    &request) == MPI_SUCCESS);
    CHECK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(value == 11);
    CHECK(got == -1 || got == 100 + (rank + size - 1) % size);
    value = 100 + rank;
    CHECK(MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(got == 100 + (rank + size - 1) % size);
}

static void alone(void)
{
    int value = 7 + rank;

    CHECK(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_SELF) == MPI_SUCCESS);
    CHECK(value == 7 + rank);
}

static void errors(void)
{
    static const int roots[] = {-1, MPI_PROC_NULL, MPI_ROOT, 1 << 30};
    MPI_Comm w = MPI_COMM_WORLD;
    int value = 0;

    return_errors();
    for (size_t i = 0; i < LENGTH(roots); i++) {
        IS_ERROR(MPI_Bcast(&value, 1, MPI_INT, roots[i], w), MPI_ERR_ROOT);
    }
    IS_ERROR(MPI_Bcast(&value, 1, MPI_INT, size, w), MPI_ERR_ROOT);
    IS_ERROR(MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_SELF), MPI_ERR_ROOT);
    IS_ERROR(MPI_Bcast(&value, -1, MPI_INT, 0, w), MPI_ERR_COUNT);
    IS_ERROR(MPI_Bcast_c(&value, (MPI_Count)1 << 62, MPI_INT, 0, w), MPI_ERR_COUNT);
    IS_ERROR(MPI_Bcast(&value, 1, MPI_DATATYPE_NULL, 0, w), MPI_ERR_TYPE);
    IS_ERROR(MPI_Bcast(&value, 1, (MPI_Datatype)&value, 0, w), MPI_ERR_TYPE);
    IS_ERROR(MPI_Bcast(NULL, 1, MPI_INT, 0, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, w), MPI_ERR_BUFFER);
    IS_ERROR(MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_NULL), MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (size_t t = 0; t < LENGTH(types); t++) {
        for (size_t c = 0; c < LENGTH(counts); c++) {
            every_root(&types[t], counts[c]);
        }
    }
    many_in_a_row();
    receives_do_not_see_it();
    alone();
    errors();
    return MPI_Finalize();
}
