/*
 * full.c - windows where the memory that ranks share is a file system without room.
 *
 *   full BYTES          more than there is
 *   full BYTES fatal    errors end the job
 *
 * What MPI allocates for a window is private memory then, and operations go another way;
 * memory that all have to share is refused, on all ranks. No page that is touched is
 * missing, which would be SIGBUS.
 */
#include "../mpi/check.h"

#include <stdbool.h>
#include <string.h>

enum { PIECE = 1 << 20, MOST = 1024 };

static int rank;
static int size;

/* Writes all of it, and gives the next rank a word. */
static void use(MPI_Win win, char *base, MPI_Aint bytes)
{
    const int next = (rank + 1) % size;
    const int from = (rank + size - 1) % size;

    memset(base, rank + 1, (size_t)bytes);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    CHECK(MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    CHECK(memcmp(base, &from, sizeof(from)) == 0 && base[bytes - 1] == rank + 1);
}

static void allocate(MPI_Aint bytes, MPI_Win *win)
{
    char *base = NULL;

    CHECK(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, win) ==
          MPI_SUCCESS);
    use(*win, base, bytes);
}

/* Returns whether it was granted: all get the same answer. */
static bool share(MPI_Aint bytes, MPI_Win *win)
{
    char *base = NULL;
    int class = MPI_SUCCESS;
    int sum = 0;
    const int err =
        MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, win);
    const int is_refused = err != MPI_SUCCESS;

    CHECK(MPI_Allreduce(&is_refused, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(sum == 0 || sum == size);
    if (err == MPI_SUCCESS) {
        use(*win, base, bytes);
        return true;
    }
    CHECK(MPI_Error_class(err, &class) == MPI_SUCCESS && class == MPI_ERR_NO_MEM);
    return false;
}

/* Windows take all that there is, and a few more go without it. */
static void fill(MPI_Aint bytes)
{
    static MPI_Win wins[MOST];
    const int count = (int)(bytes / PIECE) + 4;
    char memory[64];
    MPI_Win win;

    CHECK(count <= MOST);
    for (int i = 0; i < count; i++) {
        allocate(PIECE, &wins[i]);
    }
    CHECK(!share(PIECE, &win));
    CHECK(MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD,
                         &win) == MPI_SUCCESS);
    use(win, memory, sizeof(memory));
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    for (int i = 0; i < count; i++) {
        CHECK(MPI_Win_free(&wins[i]) == MPI_SUCCESS);
    }
}

int main(int argc, char **argv)
{
    MPI_Aint bytes;
    MPI_Win win;

    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS && argc >= 2);
    bytes = atol(argv[1]);
    if (argc == 2) {
        CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    }
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    allocate(bytes, &win);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    CHECK(!share(bytes, &win));
    fill(bytes);
    CHECK(share(PIECE, &win)); /* what was freed is there again */
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
