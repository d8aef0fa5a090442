/*
 * error_texts_rma.h - mistakes with windows, for error_texts.c: at least one for each
 * text of the chapter that a job of one rank can get.
 */
#ifndef WEFT_TEST_ERROR_TEXTS_RMA_H
#define WEFT_TEST_ERROR_TEXTS_RMA_H

#include "mpi.h"

#include <stddef.h>

enum { WORDS = 16 };

static int words[WORDS];

static MPI_Win named_window(void)
{
    MPI_Win win;

    MPI_Win_create(words, sizeof(words), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD,
                   &win);
    MPI_Win_set_name(win, "results");
    return win;
}

/* In an epoch in which every operation is allowed. */
static MPI_Win locked_window(void)
{
    MPI_Win win = named_window();

    MPI_Win_lock_all(0, win);
    return win;
}

static MPI_Win dynamic_window(void)
{
    MPI_Win win;

    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    return win;
}

static void put(MPI_Win win, int target, MPI_Aint disp)
{
    MPI_Put(words, 1, MPI_INT, target, disp, 1, MPI_INT, win);
}

/* ---- making windows ---- */

static void window_size(void)
{
    MPI_Win win;

    MPI_Win_create(words, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

static void window_unit(void)
{
    MPI_Win win;
    void *base;

    MPI_Win_allocate(8, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win);
}

static void window_without_memory(void)
{
    MPI_Win win;

    MPI_Win_create(NULL, 8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
}

static void null_window(void)
{
    MPI_Win_fence(0, MPI_WIN_NULL);
}

static void freed_window(void)
{
    MPI_Win win = named_window();
    MPI_Win copy = win;

    MPI_Win_free(&win);
    MPI_Win_fence(0, copy);
}

static void window_that_is_a_type(void)
{
    MPI_Win_fence(0, (MPI_Win)MPI_INT);
}

static void attach_to_created(void)
{
    MPI_Win_attach(named_window(), words, 4);
}

static void shared_query_of_dynamic(void)
{
    MPI_Aint bytes;
    int unit;
    void *base;

    MPI_Win_shared_query(dynamic_window(), 0, &bytes, &unit, &base);
}

static void attached_again(void)
{
    MPI_Win win = dynamic_window();

    MPI_Win_attach(win, words, sizeof(words));
    MPI_Win_attach(win, words + 2, 4);
}

static void detached_again(void)
{
    MPI_Win win = dynamic_window();

    MPI_Win_attach(win, words, sizeof(words));
    MPI_Win_detach(win, words);
    MPI_Win_detach(win, words);
}

static void window_key(void)
{
    MPI_Win_set_attr(named_window(), MPI_WIN_BASE, words);
}

/* ---- operations ---- */

static void target(void)
{
    put(locked_window(), 3, 0);
}

static void displacement(void)
{
    put(locked_window(), 0, -2);
}

static void behind_the_window(void)
{
    put(locked_window(), 0, WORDS);
}

static void not_attached(void)
{
    MPI_Win win = dynamic_window();
    MPI_Aint address;

    MPI_Get_address(words, &address);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    put(win, 0, address);
    MPI_Win_unlock(0, win);
}

static void sides_that_differ(void)
{
    MPI_Put(words, 4, MPI_INT, 0, 0, 2, MPI_INT, locked_window());
}

static void two_basic_types(void)
{
    MPI_Datatype type;

    MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 8},
                           (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &type);
    MPI_Type_commit(&type);
    MPI_Accumulate(words, 1, type, 0, 0, 1, type, MPI_SUM, locked_window());
}

static void other_elements(void)
{
    MPI_Accumulate(words, 2, MPI_FLOAT, 0, 0, 2, MPI_INT, MPI_SUM, locked_window());
}

static void cut_elements(void)
{
    MPI_Accumulate(words, 6, MPI_BYTE, 0, 0, 2, MPI_INT, MPI_REPLACE, locked_window());
}

static void derived_in_fetch(void)
{
    MPI_Datatype type;

    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Fetch_and_op(words, words + 4, type, 0, 0, MPI_SUM, locked_window());
}

static void swap_of_doubles(void)
{
    double a = 0;
    double b = 0;
    double c;

    MPI_Compare_and_swap(&a, &b, &c, MPI_DOUBLE, 0, 0, locked_window());
}

static void no_function(void *in, void *inout, int *n, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)n;
    (void)type;
}

static void op_of_the_program(void)
{
    MPI_Op op;

    MPI_Op_create(no_function, 1, &op);
    MPI_Accumulate(words, 1, MPI_INT, 0, 0, 1, MPI_INT, op, locked_window());
}

static void no_op(void)
{
    MPI_Accumulate(words, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_NO_OP, locked_window());
}

static void op_of_characters(void)
{
    MPI_Accumulate(words, 1, MPI_CHAR, 0, 0, 1, MPI_CHAR, MPI_SUM, locked_window());
}

/* ---- epochs ---- */

static void lock_type(void)
{
    MPI_Win_lock(4711, 0, 0, named_window());
}

static void no_locks(void)
{
    MPI_Info info;
    MPI_Win win;

    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Win_create(words, sizeof(words), 1, info, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
}

static void assertion(void)
{
    MPI_Win_fence(MPI_MODE_NOCHECK, named_window());
}

static void put_without_epoch(void)
{
    put(named_window(), 0, 0);
}

static void start_after_fence(void)
{
    MPI_Win win = named_window();

    MPI_Win_fence(0, win);
    put(win, 0, 0);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
}

static void started_again(void)
{
    MPI_Win win = named_window();

    MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
}

static void put_outside_of_start(void)
{
    MPI_Win win = named_window();

    MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
    put(win, 0, 0);
}

static void posted_again(void)
{
    MPI_Win win = named_window();

    MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
}

static void wait_without_post(void)
{
    MPI_Win_wait(named_window());
}

static void fence_inside_lock(void)
{
    MPI_Win win = named_window();

    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Win_fence(0, win);
}

static void free_inside_lock_all(void)
{
    MPI_Win win = locked_window();

    MPI_Win_free(&win);
}

static void unlock_without_lock(void)
{
    MPI_Win_unlock(0, named_window());
}

static void unlock_all_without_lock(void)
{
    MPI_Win_unlock_all(named_window());
}

static void flush_without_lock(void)
{
    MPI_Win_flush(0, named_window());
}

#endif
