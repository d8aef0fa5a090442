/*
 * ring.c - an MPI program that can tell its own messages from those of another one.
 *
 *   ring WORD          messages with WORD go round, each checked by its receiver; then
 *                      "WORD RANK of SIZE", with the number of wrong ones if there are
 * any ring WORD unread   the same, but the last message to each rank stays unreceived
 *   ring WORD open     the same, without MPI_Finalize
 *   ring WORD stay     the same, and it does not end by itself
 *
 * EXPECTED_APPNUM is what MPI_APPNUM must be, if it is set.
 */
#include "mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 50, TEXT = 64, LONG_BYTES = 100000 };

static int rank;
static int size;
static const char *word;

static void write_message(char *text, int round, int from)
{
    snprintf(text, TEXT, "%s %d from %d", word, round, from);
}

/* One short and one long message to the right, and the same from the left. */
static int exchange(int round, int bytes)
{
    static char sent[LONG_BYTES];
    static char got[LONG_BYTES];
    const int left = (rank + size - 1) % size;
    char expected[TEXT];

    write_message(sent, round, rank);
    write_message(expected, round, left);
    MPI_Sendrecv(sent, bytes, MPI_CHAR, (rank + 1) % size, 3, got, bytes, MPI_CHAR, left,
                 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return strcmp(got, expected) != 0;
}

static int has_wrong_number(void)
{
    const char *expected = getenv("EXPECTED_APPNUM");
    const int *number = NULL;
    int is_set = 0;

    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &is_set);
    return expected != NULL && (!is_set || *number != atoi(expected));
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    int wrong = 0;

    word = argc > 1 ? argv[1] : "hello";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < ROUNDS; i++) {
        wrong += exchange(i, TEXT);
    }
    wrong += exchange(ROUNDS, LONG_BYTES);
    wrong += has_wrong_number();
    if (strcmp(how, "unread") == 0) {
        MPI_Send(word, 1, MPI_CHAR, (rank + 1) % size, 3, MPI_COMM_WORLD);
    }
    printf("%s %d of %d", word, rank, size);
    if (wrong > 0) {
        printf(", %d wrong", wrong);
    }
    printf("\n");
    fflush(stdout);
    if (strcmp(how, "open") == 0) {
        _exit(0);
    }
    if (strcmp(how, "stay") == 0) {
        pause();
    }
    MPI_Finalize();
    return wrong > 0;
}
