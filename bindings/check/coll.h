/*
 * coll.h - argument checks of collective calls: see check.h for what they answer.
 */
#ifndef WEFT_CHECK_COLL_H
#define WEFT_CHECK_COLL_H

#include "check/check.h"
#include "datatype/datatype.h"

/* One side of a collective: a block of so many elements, or one for each rank. */
struct weft_blocks {
    const void *buffer;
    MPI_Count count;
    MPI_Datatype datatype;
    bool is_for_each;
    size_t bytes;                     /* of data in one block: filled in by the checks */
    const struct weft_datatype *type; /* likewise; NULL: not looked at */
};

/* A communicator for collective calls, which exist for intracommunicators only so far. */
int weft_check_coll(const char *function, MPI_Comm handle, struct weft_comm **out);

int weft_check_root(const char *function, struct weft_comm *comm, int root);

/* MPI_IN_PLACE is no buffer. */
int weft_check_blocks(const char *function, struct weft_comm *comm,
                      struct weft_blocks *blocks);

/*
 * Both sides on a rank that receives. What it sends may be in place, and is then not
 * looked at; otherwise it is not also where its own block goes to.
 */
int weft_check_sides(const char *function, struct weft_comm *comm,
                     struct weft_blocks *send, struct weft_blocks *recv);

/* An operation that is defined for a type, whose handle was checked. */
int weft_check_op(const char *function, struct weft_comm *comm, MPI_Op op,
                  const struct weft_datatype *type);

#endif
