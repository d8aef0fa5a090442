/*
 * prints.c - a rank that prints without fflush(), and when that is seen.
 *
 *   prints waits         lines before and after MPI_Init; then it waits for a signal
 *   prints kill|segv|abort
 *                        three lines of each rank; then rank 1 ends in that way, and the
 *                        others wait for it
 *   prints order [MODE]  three lines, of which the second passes the buffer by; MODE is
 *                        that of a setvbuf() of the program's own: full, line or none
 *   prints bytes COUNT   so many bytes, in pieces of odd sizes, and lines on
 *                        standard error
 *
 * The two last ones do not call MPI_Init, though they are linked with MPI.
 */
#include "mpi.h"

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIECE = 70000 };

static void wait_for_ever(void)
{
    while (1) {
        pause();
    }
}

static void die(const char *how)
{
    if (strcmp(how, "segv") == 0) {
        raise(SIGSEGV);
    } else if (strcmp(how, "abort") == 0) {
        abort();
    }
    raise(SIGKILL);
}

static void print_in_a_job(int argc, char **argv, const char *how)
{
    int rank;

    printf("one\n");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("two of rank %d\n", rank);
    fputs("three", stdout);
    putchar('\n');
    if (strcmp(how, "waits") == 0) {
        wait_for_ever();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        die(how);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}

static void print_in_order(const char *mode)
{
    if (strcmp(mode, "") != 0) {
        setvbuf(stdout, NULL,
                strcmp(mode, "full") == 0   ? _IOFBF
                : strcmp(mode, "line") == 0 ? _IOLBF
                                            : _IONBF,
                BUFSIZ);
    }
    printf("one\n");
    if (write(STDOUT_FILENO, "two\n", 4) != 4) {
        exit(1);
    }
    printf("three\n");
}

static void print_bytes(long count)
{
    static unsigned char piece[PIECE];
    uint64_t x = 1;

    for (long left = count; left > 0;) {
        size_t n;

        x = x * UINT64_C(6364136223846793005) + 1;
        n = 1 + (x >> 33) % (x >> 60 == 0 ? PIECE : 300); /* most are short */
        n = n > (size_t)left ? (size_t)left : n;
        for (size_t i = 0; i < n; i++) {
            piece[i] = (unsigned char)((x >> 32) + i * i);
        }
        if (fwrite(piece, 1, n, stdout) != n) {
            exit(1);
        }
        left -= (long)n;
        if (x >> 60 == 0) {
            fprintf(stderr, "%ld are left\n", left);
        }
    }
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";

    if (strcmp(how, "order") == 0) {
        print_in_order(argc > 2 ? argv[2] : "");
    } else if (strcmp(how, "bytes") == 0 && argc > 2) {
        print_bytes(atol(argv[2]));
    } else {
        print_in_a_job(argc, argv, how);
    }
    return 0;
}
