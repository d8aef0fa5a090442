/*
 * mixed.c - receives from any source while some senders share a node with the receiver
 * and others are reached by the network.
 *
 * Every rank in turn receives from MPI_ANY_SOURCE what all others send at once, short and
 * long: each sender's messages come in order and whole, whichever way they take. That
 * both ways were taken is counted. For several nodes with several ranks each.
 */
#include "../mpi/bytes.h"
#include "../mpi/check.h"

enum { MESSAGES = 24, LARGEST = 300000 };

static const int sizes[] = {0, 8, 4000, 40000, 100, LARGEST};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static int rank;
static int size;

static uint32_t seed_of(int from, int number)
{
    return (uint32_t)(from * 1000 + number);
}

static void send_all(int root, char *buffer)
{
    for (int i = 0; i < MESSAGES; i++) {
        const int bytes = sizes[(i + rank) % SIZES];

        fill_bytes(buffer, (size_t)bytes, seed_of(rank, i));
        CHECK(MPI_Send(buffer, bytes, MPI_BYTE, root, i, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

static void take(char *buffer, const MPI_Status *status, int *next)
{
    const int from = status->MPI_SOURCE;
    int bytes = -1;

    CHECK(from >= 0 && from < size && from != rank);
    CHECK(status->MPI_TAG == next[from]);
    CHECK(MPI_Get_count(status, MPI_BYTE, &bytes) == MPI_SUCCESS);
    CHECK(bytes == sizes[(next[from] + from) % SIZES]);
    CHECK(are_bytes(buffer, (size_t)bytes, seed_of(from, next[from])));
    next[from]++;
}

/* Ranks of even number ask for one message at a time, the others for two in advance. */
static void receive_all(char *buffers[2], int *next)
{
    const int all = MESSAGES * (size - 1);
    const int ahead = rank % 2;
    MPI_Request requests[2];
    MPI_Status status;

    for (int i = 0; i < all + ahead; i++) {
        if (i < all) {
            CHECK(MPI_Irecv(buffers[i % 2], LARGEST, MPI_BYTE, MPI_ANY_SOURCE,
                            MPI_ANY_TAG, MPI_COMM_WORLD,
                            &requests[i % 2]) == MPI_SUCCESS);
        }
        if (i >= ahead) {
            const int done = (i - ahead) % 2;

            CHECK(MPI_Wait(&requests[done], &status) == MPI_SUCCESS);
            take(buffers[done], &status, next);
        }
    }
}

/* ---- which way they went ---- */

static const char *const ways[] = {"shm_packets_received", "msg_packets_received"};
enum { WAYS = sizeof(ways) / sizeof(ways[0]) };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[WAYS];

static void start_counting(void)
{
    int number = 0;
    int index = -1;

    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    for (int i = 0; i < WAYS; i++) {
        CHECK(MPI_T_pvar_get_index(ways[i], MPI_T_PVAR_CLASS_COUNTER, &index) ==
              MPI_SUCCESS);
        CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &number) ==
              MPI_SUCCESS);
    }
    CHECK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES) == MPI_SUCCESS);
}

static void all_ways_were_taken(void)
{
    for (int i = 0; i < WAYS; i++) {
        unsigned long long packets = 0;

        CHECK(MPI_T_pvar_read(session, handles[i], &packets) == MPI_SUCCESS);
        CHECK(packets > 0);
    }
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    char *buffers[2] = {malloc(LARGEST), malloc(LARGEST)};
    int *next;
    int provided;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = calloc((size_t)size, sizeof(*next));
    CHECK(buffers[0] != NULL && buffers[1] != NULL && next != NULL);
    start_counting();
    for (int root = 0; root < size; root++) {
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
        if (root == rank) {
            receive_all(buffers, next);
        } else {
            send_all(root, buffers[0]);
        }
    }
    for (int from = 0; from < size; from++) {
        CHECK(next[from] == (from == rank ? 0 : MESSAGES));
    }
    all_ways_were_taken();
    MPI_T_finalize();
    free(next);
    free(buffers[0]);
    free(buffers[1]);
    return MPI_Finalize();
}
