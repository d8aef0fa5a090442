/*
 * gone.h - what the programs share in which a peer fails or is lost (failed.c,
 * rma_failed.c, lost.c).
 *
 * A program defines check_error() and a table of cases. The calls below end with the
 * error of a peer that is gone; check_error() is given each of these errors.
 */
#ifndef WEFT_TEST_GONE_H
#define WEFT_TEST_GONE_H

#include "check.h"

#include <stdbool.h>
#include <time.h>

enum { TAG = 3, LONG = 8 * 1024 * 1024, MANY = 50000 };

struct gone_case {
    const char *name;
    void (*run)(void);
};

static int rank;
static char *memory; /* LONG bytes, in two halves where two are needed */

static void check_error(int err);

static inline void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000},
              NULL);
}

/* Checks the class of an error, and that its text has this part. */
static inline void check_text(int err, const char *part)
{
    char text[MPI_MAX_ERROR_STRING];
    int class;
    int length;

    CHECK(MPI_Error_class(err, &class) == MPI_SUCCESS && class == MPI_ERR_PROC_ABORTED);
    CHECK(MPI_Error_string(err, text, &length) == MPI_SUCCESS);
    CHECK(strstr(text, part) != NULL);
}

/* Waits for a message that the peer never sends. */
static inline void recv_until_gone(int peer, int tag)
{
    int word;

    check_error(
        MPI_Recv(&word, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
}

/* Tests such a receive, and pauses between two tests; 0: it does not. */
static inline void test_until_gone(int peer, int tag, long pause_ms)
{
    MPI_Request request;
    int flag = 0;
    int err = MPI_SUCCESS;
    int word;

    MPI_Irecv(&word, 1, MPI_INT, peer, tag, MPI_COMM_WORLD, &request);
    while (!flag) {
        err = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (pause_ms > 0) {
            sleep_ms(pause_ms);
        }
    }
    check_error(err);
}

/* Sends small messages, until the space that the peer has granted is used up. */
static inline void send_until_gone(int peer, int tag)
{
    char bytes[512] = {0};
    int err = MPI_SUCCESS;

    for (int i = 0; i < MANY && err == MPI_SUCCESS; i++) {
        err = MPI_Send(bytes, sizeof(bytes), MPI_BYTE, peer, tag, MPI_COMM_WORLD);
    }
    check_error(err);
}

/* Sends to this peer and receives from it, a long message each. */
static inline int exchange_long(int peer, MPI_Status statuses[2])
{
    MPI_Request requests[2];

    MPI_Irecv(memory, LONG / 2, MPI_BYTE, peer, TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(memory + LONG / 2, LONG / 2, MPI_BYTE, peer, TAG, MPI_COMM_WORLD,
              &requests[1]);
    return MPI_Waitall(2, requests, statuses);
}

/* One of two long messages has failed, or both. */
static inline void check_exchange(int err, const MPI_Status statuses[2])
{
    CHECK(err == MPI_ERR_IN_STATUS);
    for (int i = 0; i < 2; i++) {
        if (statuses[i].MPI_ERROR != MPI_SUCCESS) {
            check_error(statuses[i].MPI_ERROR);
        }
    }
}

/* Initialises MPI and what is above; calls return errors, unless they are fatal. */
static inline void open_case(int *argc, char ***argv, bool is_fatal)
{
    CHECK(MPI_Init(argc, argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    if (!is_fatal) {
        CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    }
    memory = calloc(1, LONG);
    CHECK(memory != NULL);
}

static inline const struct gone_case *find_case(const struct gone_case *cases,
                                                size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(cases[i].name, name) == 0) {
            return &cases[i];
        }
    }
    fail(__FILE__, __LINE__, "there is a case of this name");
    return NULL;
}

#endif
