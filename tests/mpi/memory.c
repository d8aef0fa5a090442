/*
 * memory.c - memory follows use: what a process, a peer spoken to and a busy peer cost,
 * held to the figures of docs/memory.md. With an argument it prints what it measures.
 */
#include "check.h"

#include <malloc.h>
#include <stdint.h>

enum {
    PROCESS_KIB = 512,  /* private, after MPI_Init */
    PEER_BYTES = 2048,  /* private, per peer spoken to */
    NETWORK_KIB = 1536, /* the same two with libfabric */
    CONNECTION_BYTES = 32 * 1024,
    RDM_KIB = 40 * 1024, /* the same without connections, where ofi_rxm has a pool */
    PEER_KIB = 48,       /* shared, per peer spoken to a little, both directions */
    BUSY_KIB = 192,      /* shared, per peer spoken to a lot */
};

static int rank;
static int size;

/* A field of the kernel's own account, in KiB. */
static long account(const char *file_name, const char *field)
{
    FILE *file = fopen(file_name, "r");
    char line[256];
    long kib = 0;

    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0) {
            CHECK(sscanf(line + strlen(field), " %ld", &kib) == 1);
        }
    }
    fclose(file);
    return kib;
}

static long shared_kib(void)
{
    return account("/proc/self/status", "RssShmem:");
}

/* Bytes in small allocations; the buffers for unexpected messages are not among them. */
static long heap_bytes(void)
{
    return (long)mallinfo2().uordblks;
}

/* `rounds` messages to and from everybody else who is at most `farthest` ranks away. */
static void speak_within(int farthest, int rounds)
{
    for (int step = 1; step < size && step <= farthest; step++) {
        int to = (rank + step) % size;
        int from = (rank + size - step) % size;

        for (int i = 0; i < rounds; i++) {
            uint64_t out = (uint64_t)i;
            uint64_t in = 0;

            CHECK(MPI_Sendrecv(&out, 1, MPI_UINT64_T, to, 1, &in, 1, MPI_UINT64_T, from,
                               1, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(in == (uint64_t)i);
        }
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void speak(int rounds)
{
    speak_within(size, rounds);
}

/* The first connection loads libfabric, if no thread has yet. Peers that start on
 * datagrams get one after 64 packets, when a thread has loaded it (engine/promote.h). */
static void speak_until_connected(void)
{
    MPI_T_pvar_session session = MPI_T_PVAR_SESSION_NULL;
    MPI_T_pvar_handle handle = MPI_T_PVAR_HANDLE_NULL;
    unsigned long long open = 0;
    int provided;
    int index;
    int all = 0;
    int count;

    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_get_index("msg_connections", MPI_T_PVAR_CLASS_LEVEL, &index) ==
          MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count) == MPI_SUCCESS);
    while (!all) {
        int mine;

        speak_within(1, 100);
        CHECK(MPI_T_pvar_read(session, handle, &open) == MPI_SUCCESS);
        mine = open > 0 || size == 1;
        CHECK(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) ==
              MPI_SUCCESS);
    }
    CHECK(MPI_T_pvar_handle_free(session, &handle) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_free(&session) == MPI_SUCCESS);
    CHECK(MPI_T_finalize() == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    const char *transport = getenv("WEFT_TRANSPORT");
    const int is_rdm = transport != NULL && strcmp(transport, "rdm") == 0;
    const int is_network =
        is_rdm || (transport != NULL && strstr(transport, "msg") != NULL);
    long private_kib;
    long heap[3];
    long shared[3];
    long peers;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    /* Clean pages are the program's and the library's: shared by all that touch them. */
    /* Not the segment, which is nobody else's where there is one rank. */
    private_kib = account("/proc/self/smaps_rollup", "Anonymous:");
    if (is_network) {
        speak_until_connected();
    }
    heap[0] = heap_bytes();
    shared[0] = shared_kib();
    speak(8);
    heap[1] = heap_bytes();
    shared[1] = shared_kib();
    speak(3000);
    heap[2] = heap_bytes();
    shared[2] = shared_kib();
    peers = is_network ? size - 3 : size - 1; /* two were spoken to before */
    peers = peers > 1 ? peers : 1;
    if (argc > 1 && rank == 0) {
        printf("private after MPI_Init %ld KiB; per peer: heap %ld B, shared %.1f KiB; "
               "busy: heap %ld B, shared %.1f KiB\n",
               private_kib, (heap[1] - heap[0]) / peers,
               (double)(shared[1] - shared[0]) / (double)peers,
               (heap[2] - heap[0]) / peers,
               (double)(shared[2] - shared[0]) / (double)peers);
    }
    if (argc == 1 || strcmp(argv[1], "sanitized") != 0) {
        CHECK(private_kib <= (is_rdm ? RDM_KIB : is_network ? NETWORK_KIB : PROCESS_KIB));
        CHECK(heap[2] - heap[0] <=
              32 * 1024 + (is_network ? CONNECTION_BYTES : PEER_BYTES) * peers);
        CHECK(shared[1] - shared[0] <= 64 + PEER_KIB * peers);
        CHECK(shared[2] - shared[0] <= 64 + BUSY_KIB * peers);
    }
    return MPI_Finalize();
}
