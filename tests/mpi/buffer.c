/*
 * buffer.c - chapters 3 and 9: buffers that cannot be read or written are an error of the
 * call that names them, or end the job with a line. Nobody hangs.
 *
 *     WEFT_TRANSPORT=msg mpiexec -n N buffer       errors are returned
 *     mpiexec -n N buffer [send | recv | device]   one is fatal: the job ends
 *     mpiexec -n N buffer bcast                    one of a collective: the job ends
 *
 * This program has a library of a device, or what looks like one. buffer.py holds mpiexec
 * to what it prints and returns.
 */
#include "check.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

enum { TAG = 3, LONG = 1024 * 1024, MIDDLE = 40000, DEVICE_MEMORY = 2 };

static int rank;
static char *good;
static char *unmapped;  /* LONG bytes that are nowhere */
static char *ends;      /* LONG bytes of which the last ones cannot be accessed */
static char *read_only; /* LONG bytes */
static char *of_device; /* LONG bytes that only a device could read */

int cuPointerGetAttribute(void *out, int what, uintptr_t pointer);

/* As CUDA's: 0 and the kind of memory, for a pointer that it knows. */
__attribute__((visibility("default"))) int cuPointerGetAttribute(void *out, int what,
                                                                 uintptr_t pointer)
{
    if (what != 2 || pointer - (uintptr_t)of_device >= LONG) {
        return 1;
    }
    *(unsigned *)out = DEVICE_MEMORY;
    return 0;
}

static char *map(int protection)
{
    char *at = mmap(NULL, LONG, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(at != MAP_FAILED);
    return at;
}

static void make_buffers(void)
{
    good = calloc(1, LONG);
    CHECK(good != NULL);
    unmapped = (char *)0x10000; /* where nothing is mapped unless somebody insists */
    of_device = map(PROT_NONE);
    read_only = map(PROT_READ);
    ends = map(PROT_READ | PROT_WRITE);
    CHECK(mprotect(ends + LONG / 2, LONG / 2, PROT_NONE) == 0);
}

static void check_error(int err)
{
    int class;

    CHECK(MPI_Error_class(err, &class) == MPI_SUCCESS && class == MPI_ERR_BUFFER);
}

/* The other side is not harmed, and gets the next message. */
static void send_bad(int to)
{
    MPI_Request request;

    check_error(MPI_Send(unmapped, LONG, MPI_BYTE, to, TAG, MPI_COMM_WORLD));
    check_error(MPI_Send(unmapped, MIDDLE, MPI_BYTE, to, TAG, MPI_COMM_WORLD));
    check_error(MPI_Ssend(ends, LONG, MPI_BYTE, to, TAG, MPI_COMM_WORLD));
    check_error(MPI_Isend(of_device, LONG, MPI_BYTE, to, TAG, MPI_COMM_WORLD, &request));
    CHECK(MPI_Send(good, LONG, MPI_BYTE, to, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void recv_bad(int from)
{
    char *const bad[] = {unmapped, ends, of_device, read_only};

    CHECK(MPI_Recv(good, LONG, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
    for (int i = 0; i < 4; i++) {
        check_error(MPI_Recv(bad[i], LONG, MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE));
    }
    CHECK(MPI_Recv(good, LONG, MPI_BYTE, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE) ==
          MPI_SUCCESS);
}

static void send_good(int to)
{
    for (int i = 0; i < 5; i++) {
        CHECK(MPI_Send(good, LONG, MPI_BYTE, to, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    const bool is_fatal = how[0] != '\0';

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    make_buffers();
    if (!is_fatal) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    if (strcmp(how, "bcast") == 0) {
        /* A root may send what it cannot write; nobody can receive so. */
        for (int i = 0; i < 2; i++) {
            MPI_Bcast(rank == 0 || i == 1 ? read_only : good, LONG, MPI_BYTE, 0,
                      MPI_COMM_WORLD);
        }
    } else if (rank == 0 && is_fatal) {
        MPI_Send(strcmp(how, "send") == 0     ? unmapped
                 : strcmp(how, "device") == 0 ? of_device
                                              : good,
                 LONG, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
    } else if (rank == 1 && is_fatal) {
        MPI_Recv(strcmp(how, "recv") == 0 ? unmapped : good, LONG, MPI_BYTE, 0, TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 0) {
        send_bad(1);
        send_good(1);
    } else if (rank == 1) {
        recv_bad(0);
    }
    MPI_Finalize();
    free(good);
    return 0;
}
