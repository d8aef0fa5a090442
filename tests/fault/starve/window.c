/*
 * window.c - calls that make, synchronise and free a window.
 */
#include "trial.h"

static MPI_Aint bytes_of(const struct trial *t)
{
    return (MPI_Aint)t->ints * (MPI_Aint)sizeof(int);
}

static int run_create(struct trial *t)
{
    return MPI_Win_create(t->recv, bytes_of(t), sizeof(int), MPI_INFO_NULL, t->comm,
                          &t->win);
}

static int run_allocate(struct trial *t)
{
    int *memory;

    return MPI_Win_allocate(bytes_of(t), sizeof(int), MPI_INFO_NULL, t->comm, &memory,
                            &t->win);
}

static int run_allocate_shared(struct trial *t)
{
    int *memory;

    return MPI_Win_allocate_shared(bytes_of(t), sizeof(int), MPI_INFO_NULL, t->comm,
                                   &memory, &t->win);
}

static int run_create_dynamic(struct trial *t)
{
    return MPI_Win_create_dynamic(MPI_INFO_NULL, t->comm, &t->win);
}

static void make_window(struct trial *t)
{
    DONE(run_create(t));
    DONE(MPI_Win_set_errhandler(t->win, MPI_ERRORS_RETURN));
}

static void begin_fence(struct trial *t)
{
    make_window(t);
    DONE(MPI_Win_fence(0, t->win));
}

static int put(struct trial *t)
{
    return MPI_Put(t->send, t->ints, MPI_INT, (t->rank + 1) % t->size, 0, t->ints,
                   MPI_INT, t->win);
}

static void begin_put(struct trial *t)
{
    begin_fence(t);
    DONE(put(t));
}

static int run_fence(struct trial *t)
{
    return MPI_Win_fence(0, t->win);
}

static int run_put(struct trial *t)
{
    const int err = put(t);
    const int at_fence = run_fence(t);

    return err != MPI_SUCCESS ? err : at_fence;
}

static int run_free(struct trial *t)
{
    return MPI_Win_free(&t->win);
}

static bool has_window(struct trial *t)
{
    return MPI_Win_fence(0, t->win) == MPI_SUCCESS;
}

static bool has_put(struct trial *t)
{
    for (int i = 0; i < t->ints; i++) {
        if (t->recv[i] != value((t->rank + t->size - 1) % t->size, 0, i)) {
            return false;
        }
    }
    return true;
}

const struct kind window_kinds[] = {
    {"win_create", true, NULL, run_create, has_window},
    {"win_allocate", true, NULL, run_allocate, has_window},
    {"win_allocate_shared", true, NULL, run_allocate_shared, has_window},
    {"win_create_dynamic", true, NULL, run_create_dynamic, has_window},
    {"win_fence", false, begin_put, run_fence, has_put},
    {"win_put", false, begin_fence, run_put, NULL}, /* the target succeeds alone */
    {"win_free", false, make_window, run_free, NULL},
    {0},
};
