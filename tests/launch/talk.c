/*
 * talk.c - a rank that prints, and prints awkwardly: every line in pieces.
 *
 *   talk lines COUNT      lines of 1 to 9,000 bytes, the pieces of random size
 *   talk flood BYTES      short lines of that many bytes in all, as fast as it can
 *   talk long BYTES       rank 0: one line of that length; the others: 2,000 short ones
 *   talk unended BYTES    the same without a line end, and rank 0 then waits for a file
 *                         called "done", which rank 1 makes when it has printed all
 *   talk progress BYTES   the same, but while rank 0 waits it shows a number in one line
 *   talk both COUNT       like lines, each once to standard output and once to error
 *
 * It needs no MPI: PMI_RANK says who it is. Line `number` of a rank is its letter, the
 * number, a colon and then its letter again and again, cut to a length that follows from
 * both (a whole line has it counted without its end). tests/launch/common.py knows the
 * same rule, so that one byte out of place is found.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LONGEST = 9000, SHORTEST_LONG = 48, BEHIND_LONG = 2000, PIECE = 16384 };

static int rank;

static unsigned next(unsigned x)
{
    return (x * 1103515245U + 12345U) & 0x7fffffffU;
}

/* Fills `line` and returns its length with the line end. */
static size_t make_line(char *line, int number, size_t longest)
{
    unsigned mixed = next(next((unsigned)(rank * 65536 + number)));
    size_t length = 1 + (mixed >> 8) % longest;
    char head[32];
    int n = snprintf(head, sizeof(head), "%c%d:", 'a' + rank, number);

    memset(line, 'a' + rank, length);
    memcpy(line, head, (size_t)n < length ? (size_t)n : length);
    line[length] = '\n';
    return length + 1;
}

static void put(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t written = write(fd, text, n);

        if (written <= 0) {
            exit(1);
        }
        text += written;
        n -= (size_t)written;
    }
}

static void put_in_pieces(int fd, const char *text, size_t n)
{
    static unsigned seed = 1;

    while (n > 0) {
        size_t piece;

        seed = next(seed);
        piece = 1 + (seed >> 8) % 4000;
        piece = piece < n ? piece : n;
        put(fd, text, piece);
        text += piece;
        n -= piece;
        if ((seed >> 20) % 16 == 0) {
            usleep(50);
        }
    }
}

static void lines(int count, int also)
{
    static char line[LONGEST + 1];

    for (int i = 0; i < count; i++) {
        size_t n = make_line(line, i, LONGEST);

        put_in_pieces(STDOUT_FILENO, line, n);
        if (also >= 0) {
            put_in_pieces(also, line, n);
        }
    }
}

static void flood(long bytes)
{
    static char text[64 * 1024 + SHORTEST_LONG];

    while (bytes > 0) {
        size_t most = bytes < 64 * 1024 ? (size_t)bytes : 64 * 1024;
        size_t n = 0;

        for (int i = 0; n < most; i++) {
            n += make_line(text + n, i, SHORTEST_LONG);
        }
        put(STDOUT_FILENO, text, n);
        bytes -= (long)n;
    }
}

static void one_long_line(long bytes)
{
    static char piece[PIECE];

    memset(piece, 'L', sizeof(piece));
    while (bytes > 0) {
        size_t n = bytes < PIECE ? (size_t)bytes : PIECE;

        put(STDOUT_FILENO, piece, n);
        bytes -= (long)n;
        usleep(1000);
    }
}

/* Long enough for the long line to be under way when it begins. */
static void lines_beside_it(void)
{
    static char line[LONGEST + 1];

    for (int i = 0; i < BEHIND_LONG; i++) {
        put(STDOUT_FILENO, line, make_line(line, i, 1000));
        if (i % 100 == 0) {
            usleep(1000);
        }
    }
}

static void wait_for_rank_1(int is_showing)
{
    for (int i = 0; access("done", F_OK) != 0; i++) {
        char number[16];
        const int n = snprintf(number, sizeof(number), "\r%d", i);

        usleep(1000);
        if (is_showing) {
            put(STDOUT_FILENO, number, (size_t)n);
        }
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    long amount = argc > 2 ? atol(argv[2]) : 0;

    rank = getenv("PMI_RANK") != NULL ? atoi(getenv("PMI_RANK")) : 0;
    if (strcmp(what, "lines") == 0) {
        lines((int)amount, -1);
    } else if (strcmp(what, "both") == 0) {
        lines((int)amount, STDERR_FILENO);
    } else if (strcmp(what, "flood") == 0) {
        flood(amount);
    } else if (rank != 0) {
        lines_beside_it();
        if (rank == 1 && strcmp(what, "long") != 0) {
            close(open("done", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        }
    } else {
        one_long_line(amount);
        if (strcmp(what, "long") != 0) {
            wait_for_rank_1(strcmp(what, "progress") == 0);
        } else {
            put(STDOUT_FILENO, "\n", 1);
        }
    }
    return 0;
}
