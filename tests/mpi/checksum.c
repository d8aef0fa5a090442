/*
 * checksum.c - WEFT_CHECKSUM=1: a byte that changes on its way is never received as if it
 * were right. Rank 0 changes bytes of a message that it is sending; what has left already
 * arrives as it was.
 */
#include "bytes.h"
#include "check.h"

enum { PARTS = 8, LONGEST = 1 << 20, STRIDE = 2, TAG_LONG = 1, TAG_GO = 2 };

static uint8_t out[STRIDE * LONGEST];
static uint8_t in[STRIDE * LONGEST];
static MPI_Comm comm;

struct shape {
    size_t stride; /* every so manieth byte is sent */
    MPI_Datatype type;
};

/* The byte of a message in this part; of the last part the last byte. */
static size_t place_in(int part, size_t bytes)
{
    return part == PARTS - 1 ? bytes - 1 : (size_t)part * bytes / PARTS + 17;
}

/* Sends it; changes a byte before anybody can have asked for the rest. */
static void send_changed(const struct shape *shape, size_t bytes, size_t changed)
{
    MPI_Request request;

    fill_bytes(out, shape->stride * bytes, 1);
    CHECK(MPI_Isend(out, 1, shape->type, 1, TAG_LONG, comm, &request) == MPI_SUCCESS);
    out[shape->stride * changed] ^= 4;
    CHECK(MPI_Send(NULL, 0, MPI_BYTE, 1, TAG_GO, comm) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* True: the change was reported. Else the bytes must be right. */
static int receive_changed(const struct shape *shape, size_t bytes)
{
    int rc;

    memset(in, 0, sizeof(in));
    CHECK(MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_GO, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    rc = MPI_Recv(in, 1, shape->type, 0, TAG_LONG, comm, MPI_STATUS_IGNORE);
    if (rc != MPI_SUCCESS) {
        CHECK(rc == MPI_ERR_OTHER);
        return 1;
    }
    for (size_t i = 0; i < bytes; i++) {
        CHECK(in[shape->stride * i] == byte_at(1, shape->stride * i));
    }
    return 0;
}

/* A blocking sender's sums follow its message: nothing changes, nothing is reported. */
static void exchange_unchanged(int rank, const struct shape *shape, size_t bytes)
{
    const size_t extent = shape->stride * (bytes - 1) + 1;

    fill_bytes(out, extent, 7);
    if (rank == 0) {
        CHECK(MPI_Send(out, 1, shape->type, 1, TAG_LONG, comm) == MPI_SUCCESS);
        return;
    }
    memset(in, 0, sizeof(in));
    CHECK(MPI_Recv(in, 1, shape->type, 0, TAG_LONG, comm, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    CHECK(in[extent - 1] == byte_at(7, extent - 1));
}

static void change_every_part(int rank, size_t stride, size_t bytes, int all_are_seen)
{
    struct shape shape = {.stride = stride};
    int seen = 0;

    CHECK(MPI_Type_vector((int)bytes, 1, (int)stride, MPI_BYTE, &shape.type) ==
          MPI_SUCCESS);
    CHECK(MPI_Type_commit(&shape.type) == MPI_SUCCESS);
    for (int part = 0; part < PARTS; part++) {
        if (rank == 0) {
            send_changed(&shape, bytes, place_in(part, bytes));
        } else {
            seen += receive_changed(&shape, bytes);
        }
        exchange_unchanged(rank, &shape, bytes);
    }
    CHECK(rank == 0 || !all_are_seen || seen == PARTS);
    CHECK(MPI_Type_free(&shape.type) == MPI_SUCCESS);
}

/* With an argument: inside the node, where nothing leaves before it is asked for. */
int main(int argc, char **argv)
{
    static const size_t lengths[] = {5000, 65536, 65537, LONGEST};
    int rank;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(comm, &rank) == MPI_SUCCESS);
    for (size_t i = 0; rank < 2 && i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        for (size_t stride = 1; stride <= STRIDE; stride++) {
            change_every_part(rank, stride, lengths[i], argc > 1 && stride == 1);
        }
    }
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS);
    return MPI_Finalize();
}
