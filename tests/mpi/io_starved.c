/*
 * io_starved.c FILE - one member of a file runs out of memory in a collective access: no
 * member waits for ever, and all get the same error, or none.
 *
 * This program's calloc() and realloc() fail once, at the first allocation of the access,
 * then at the second one, and so on until there are no more. Messages have their memory
 * from malloc(), which does not fail: without memory for a message the job ends.
 */
#include "io.h"

#include <errno.h>
#include <stdatomic.h>

enum { INTS = 3000, MOST = 1000, MESSAGES = 64, SMALL = 4000, LONG = 1 << 20 };

void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);

static atomic_int countdown; /* to the allocation that fails; 0: none does */
static atomic_bool has_failed;

static bool fails(void)
{
    int left = atomic_load(&countdown);

    while (left > 0 && !atomic_compare_exchange_weak(&countdown, &left, left - 1)) {
    }
    if (left != 1) {
        return false;
    }
    atomic_store(&has_failed, true);
    errno = ENOMEM;
    return true;
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}

void *reallocarray(void *old, size_t count, size_t bytes)
{
    size_t all;

    if (__builtin_mul_overflow(count, bytes, &all)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(old, all);
}

static int data[INTS];
static int back[INTS];

/* Has all pairs exchange messages, so that what these need for good is there. */
static void warm_up(void)
{
    const int all = 2 * size * (MESSAGES + 1);
    MPI_Request *requests = calloc((size_t)all, sizeof(MPI_Request));
    char *bytes = calloc((size_t)size + 1, MESSAGES * SMALL + LONG);
    char *to = bytes;
    const char *from;
    int count = 0;

    CHECK(requests != NULL && bytes != NULL);
    from = bytes + (size_t)size * (MESSAGES * SMALL + LONG);
    for (int half = 0; half < 2; half++) {
        for (int r = 0; r < size; r++) {
            for (int i = 0; i <= MESSAGES; i++) {
                const int length = i < MESSAGES ? SMALL : LONG;

                if (half == 0) {
                    DONE(MPI_Isend(from, length, MPI_BYTE, r, i, MPI_COMM_WORLD,
                                   &requests[count++]));
                } else {
                    DONE(MPI_Irecv(to, length, MPI_BYTE, r, i, MPI_COMM_WORLD,
                                   &requests[count++]));
                    to += length;
                }
            }
        }
    }
    DONE(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    free(bytes);
    free(requests);
}

/* Every rank sees every `size`-th int, so that the ranks exchange their data. */
static MPI_File open_file(void)
{
    MPI_File fh = new_file(MPI_MODE_RDWR);
    MPI_Datatype every;
    MPI_Info info;

    DONE(MPI_Info_create(&info));
    DONE(MPI_Info_set(info, "collective_buffering", "true"));
    DONE(MPI_Type_vector(INTS, 1, size, MPI_INT, &every));
    DONE(MPI_Type_commit(&every));
    DONE(MPI_File_set_view(fh, 4 * rank, MPI_INT, every, "native", info));
    DONE(MPI_Type_free(&every));
    DONE(MPI_Info_free(&info));
    return fh;
}

static int access_all(MPI_File fh, bool is_write, bool is_blocking)
{
    MPI_Request request;
    int err;

    if (is_blocking) {
        return is_write
                   ? MPI_File_write_at_all(fh, 0, data, INTS, MPI_INT, MPI_STATUS_IGNORE)
                   : MPI_File_read_at_all(fh, 0, back, INTS, MPI_INT, MPI_STATUS_IGNORE);
    }
    err = is_write ? MPI_File_iwrite_at_all(fh, 0, data, INTS, MPI_INT, &request)
                   : MPI_File_iread_at_all(fh, 0, back, INTS, MPI_INT, &request);
    return err == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : err;
}

/* Allocation `number` of one member fails. Returns whether there was one. */
static bool starve(MPI_File fh, bool is_write, bool is_blocking, int victim, int number)
{
    int results[2]; /* an error class, and its opposite */
    int is_hit;
    int err;

    memset(back, 0, sizeof(back));
    DONE(MPI_Barrier(MPI_COMM_WORLD));
    atomic_store(&has_failed, false);
    atomic_store(&countdown, rank == victim ? number : 0);
    err = access_all(fh, is_write, is_blocking);
    atomic_store(&countdown, 0);
    is_hit = atomic_load(&has_failed);
    results[0] = err;
    results[1] = -err;
    DONE(MPI_Allreduce(MPI_IN_PLACE, results, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
    CHECK(results[0] == -results[1]);
    CHECK(err == MPI_SUCCESS || err == MPI_ERR_NO_MEM);
    CHECK(err != MPI_SUCCESS || is_write || memcmp(data, back, sizeof(back)) == 0);
    DONE(MPI_Bcast(&is_hit, 1, MPI_INT, victim, MPI_COMM_WORLD));
    return is_hit != 0;
}

static void starve_all(MPI_File fh, bool is_write, bool is_blocking, int victim)
{
    int number = 1;

    while (starve(fh, is_write, is_blocking, victim, number)) {
        CHECK(++number < MOST);
    }
    CHECK(number > 1);
    DONE(access_all(fh, is_write, is_blocking));
}

int main(int argc, char **argv)
{
    MPI_File fh;

    begin(argc, argv);
    warm_up();
    fh = open_file();
    for (int i = 0; i < INTS; i++) {
        data[i] = i * size + rank;
    }
    DONE(access_all(fh, true, true));
    for (int kind = 0; kind < 4; kind++) {
        starve_all(fh, kind % 2 == 0, kind / 2 == 0, 0);
        starve_all(fh, kind % 2 == 0, kind / 2 == 0, size - 1);
    }
    DONE(MPI_File_close(&fh));
    DONE(MPI_Finalize());
    return 0;
}
