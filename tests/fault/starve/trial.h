/*
 * trial.h - one call of all members, in which one of them is refused memory.
 */
#ifndef WEFT_TEST_TRIAL_H
#define WEFT_TEST_TRIAL_H

#include "../../mpi/check.h"

#include <stdbool.h>

#define DONE(call) CHECK((call) == MPI_SUCCESS)

enum { RANKS_MOST = 8, ROOT = 0 };

enum form { BLOCKING, NONBLOCKING, PERSISTENT };

struct trial {
    MPI_Comm comm; /* made for this trial */
    int rank;
    int size;
    int ints; /* of a block */
    int *send;
    int *recv; /* `size` blocks each */
    enum form form;
    const char *path; /* of a file of this job's own */
    MPI_Comm around;  /* what prepare() has made, or the call; or a null handle */
    MPI_Comm made;
    MPI_Group group;
    MPI_Win win;
    int *memory; /* of the window, if the trial has given it */
    MPI_File file;
    MPI_Datatype type;
};

/* A kind of call. Its functions are called by all members. */
struct kind {
    const char *name;
    bool agrees;                          /* all members return an error, or none */
    void (*prepare)(struct trial *trial); /* or NULL; memory is not refused */
    int (*run)(struct trial *trial);      /* returns the error of MPI */
    /* After success of this member, or of all if these agree. Or NULL. */
    bool (*is_right)(struct trial *trial);
};

extern const struct kind coll_kinds[]; /* the last one has no name */
extern const struct kind make_kinds[];
extern const struct kind file_kinds[];
extern const struct kind window_kinds[];

/* The value that rank `from` sends to rank `to`, at place i of the block. */
static inline int value(int from, int to, int i)
{
    return 10007 * from + 1009 * to + i % 1000 + 1;
}

#endif
