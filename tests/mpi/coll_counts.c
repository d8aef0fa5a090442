/*
 * coll_counts.c - members that send more than each of them has room for: the call returns
 * MPI_ERR_TRUNCATE, what fits is moved, and memory that is no argument of the call stays
 * as it is, that of other communicators too.
 */
#include "coll.h"

enum { COMMS = 8, GIVEN = 0x11111111, UNTOUCHED = 0x22222222 };

/* Ints that a member sends to another, and that the other has room for. Of the first,
 * what is sent fits into a slot of shared memory; the last are moved without slots. */
static const struct {
    int sent;
    int room;
} cases[] = {{2, 1}, {1000, 1}, {5000, 1}, {100000, 1}, {5000, 200}, {100000, 20000}};

static MPI_Comm comms[COMMS];

static int *make_ints(size_t count, int value)
{
    int *ints = malloc(count * sizeof(*ints));

    CHECK(ints != NULL);
    for (size_t i = 0; i < count; i++) {
        ints[i] = value;
    }
    return ints;
}

static void check_ints(int *ints, size_t count, int value)
{
    for (size_t i = 0; i < count; i++) {
        CHECK(ints[i] == value);
    }
    free(ints);
}

/* Every communicator still adds up right. */
static void check_comms(void)
{
    for (int round = 0; round < COMMS; round++) { /* more than there are lines */
        for (int c = 0; c < COMMS; c++) {
            const int mine = rank + round;
            int sum = UNTOUCHED;

            CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comms[c]) ==
                  MPI_SUCCESS);
            CHECK(sum == size * (size - 1) / 2 + size * round);
        }
    }
}

static int perform(int kind, const int *send, int sent, int *recv, int room,
                   MPI_Comm comm)
{
    switch (kind) {
    case 0:
        return MPI_Alltoall(send, sent, MPI_INT, recv, room, MPI_INT, comm);
    case 1:
        return MPI_Allgather(send, sent, MPI_INT, recv, room, MPI_INT, comm);
    default:
        return MPI_Scatter(send, sent, MPI_INT, recv, room, MPI_INT, size - 1, comm);
    }
}

static void send_too_much(int kind, int sent, int room, MPI_Comm comm)
{
    const size_t blocks = (size_t)size;
    const size_t all = blocks * (size_t)sent;
    const size_t gotten = (kind == 2 ? 1 : blocks) * (size_t)room;
    int *send = make_ints(all, GIVEN);
    int *other = make_ints(all, UNTOUCHED);
    int *recv = make_ints(gotten + GUARD, UNTOUCHED);

    CHECK(perform(kind, send, sent, recv, room, comm) == MPI_ERR_TRUNCATE);
    for (size_t i = 0; i < gotten + GUARD; i++) {
        CHECK(recv[i] == UNTOUCHED || (recv[i] == GIVEN && i < gotten));
    }
    free(recv);
    check_ints(other, all, UNTOUCHED);
    check_ints(send, all, GIVEN);
    check_comms();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    for (int c = 0; c < COMMS; c++) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[c]) == MPI_SUCCESS);
        CHECK(MPI_Comm_set_errhandler(comms[c], MPI_ERRORS_RETURN) == MPI_SUCCESS);
    }
    check_comms();
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < LENGTH(cases); i++) {
            send_too_much(kind, cases[i].sent, cases[i].room, comms[COMMS - 1]);
        }
    }
    for (int c = 0; c < COMMS; c++) {
        CHECK(MPI_Comm_free(&comms[c]) == MPI_SUCCESS);
    }
    return MPI_Finalize();
}
