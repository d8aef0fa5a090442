/*
 * job.c - a job over connections, while strangers are about (strangers.py).
 *
 *   job STOP
 *
 * Neighbours exchange messages of changing sizes and look at every byte, until the file
 * STOP exists; then all speak with all, so that connections are made among strangers.
 * When those have had time to be sent away, each rank says how many strangers it has
 * counted, its connections, and the descriptors that it has beyond those of the start and
 * of the new connections.
 */
#include "mpi.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MOST = 96 * 1024, QUIET_SECONDS = 1 };

static int rank;
static int size;
static unsigned char out[MOST];
static unsigned char in[MOST];

static unsigned char byte_of(int from, int round, int at)
{
    return (unsigned char)(from * 31 + round * 7 + at);
}

static void exchange(int peer, int round, int bytes)
{
    MPI_Status status;
    int count;

    for (int i = 0; i < bytes; i++) {
        out[i] = byte_of(rank, round, i);
    }
    MPI_Sendrecv(out, bytes, MPI_BYTE, peer, round % 1000, in, MOST, MPI_BYTE, peer,
                 round % 1000, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    for (int i = 0; i < bytes; i++) {
        if (count != bytes || in[i] != byte_of(peer, round, i)) {
            fprintf(stderr, "job: rank %d, round %d: wrong byte %d of %d from %d\n", rank,
                    round, i, count, peer);
            MPI_Abort(MPI_COMM_WORLD, 9);
        }
    }
}

static int count_descriptors(void)
{
    DIR *all = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(all) != NULL) {
        count++;
    }
    closedir(all);
    return count;
}

static MPI_T_pvar_session session;

static MPI_T_pvar_handle find(const char *name, int class)
{
    MPI_T_pvar_handle handle;
    int index;
    int count;

    MPI_T_pvar_get_index(name, class, &index);
    MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count);
    if (class == MPI_T_PVAR_CLASS_COUNTER) {
        MPI_T_pvar_start(session, handle); /* what follows is counted */
    }
    return handle;
}

static int value_of(MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;

    MPI_T_pvar_read(session, handle, &value);
    return (int)value;
}

int main(int argc, char **argv)
{
    MPI_T_pvar_handle strangers;
    MPI_T_pvar_handle connections;
    MPI_T_pvar_handle peers;
    int provided;
    int has_to_stop = 0;
    int at_start;

    if (argc < 2) {
        return 2;
    }
    MPI_Init(&argc, &argv);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    strangers = find("msg_rejected", MPI_T_PVAR_CLASS_COUNTER);
    connections = find("msg_connections", MPI_T_PVAR_CLASS_LEVEL);
    peers = find("dgram_peers", MPI_T_PVAR_CLASS_LEVEL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    exchange(rank ^ 1, 0, 1000);
    at_start = count_descriptors() - value_of(connections);
    printf("pid %d %d\n", rank, (int)getpid());
    fflush(stdout);
    for (int round = 1; !has_to_stop; round++) {
        exchange(rank ^ 1, round, round * 977 % MOST);
        if (round % 50 == 0) {
            has_to_stop = access(argv[1], F_OK) == 0;
            MPI_Bcast(&has_to_stop, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    for (int k = 1; k < size; k++) {
        if ((rank ^ k) < size) {
            exchange(rank ^ k, k, 5000);
        }
    }
    for (double end = MPI_Wtime() + QUIET_SECONDS; MPI_Wtime() < end; usleep(1000)) {
        int flag;

        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    printf("end %d strangers %d connections %d more %d\n", rank, value_of(strangers),
           value_of(connections) + value_of(peers),
           count_descriptors() - value_of(connections) - at_start);
    MPI_T_finalize();
    return MPI_Finalize();
}
