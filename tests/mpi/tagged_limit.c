/*
 * tagged_limit.c - messages that are longer than the network's matcher takes are refused
 * by an error and a line that names the limit (the first argument, in bytes); all others
 * arrive, also in receives with more room than that.
 */
#include "bytes.h"
#include "check.h"

#include <unistd.h>

enum { SEED = 7 };

static int rank;
static size_t limit;
static char *out;
static char *in;

/* What is written to standard error between the two goes to a file. */
static int keep_errors(FILE *to)
{
    const int old = dup(STDERR_FILENO);

    CHECK(old >= 0 && dup2(fileno(to), STDERR_FILENO) == STDERR_FILENO);
    return old;
}

static void show_errors(int old)
{
    CHECK(dup2(old, STDERR_FILENO) == STDERR_FILENO);
    close(old);
}

static void is_said(FILE *file)
{
    char line[512] = "";
    char number[32];
    int lines = 0;

    snprintf(number, sizeof(number), "the %zu that", limit);
    rewind(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        CHECK(strstr(line, number) != NULL && strstr(line, "WEFT_TRANSPORT") != NULL);
        lines++;
    }
    CHECK(lines == 3);
    fclose(file);
}

static void send_too_long(void)
{
    const int length = (int)limit + 1;
    MPI_Request request;
    FILE *said = tmpfile();
    const int old = keep_errors(said);
    const int sent = MPI_Send(out, length, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    const int synchronous = MPI_Ssend(out, length, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
    const int begun = MPI_Isend(out, length, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &request);
    const int ended =
        begun == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : begun;

    show_errors(old);
    CHECK(sent == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(synchronous == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(ended == MPI_ERR_UNSUPPORTED_OPERATION);
    is_said(said);
}

static void receive(int source)
{
    MPI_Status status;
    int count;

    memset(in, 0, 2 * limit);
    CHECK(MPI_Recv(in, 2 * (int)limit, MPI_BYTE, source, 1, MPI_COMM_WORLD, &status) ==
          MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS);
    CHECK(count == (int)limit && are_bytes(in, limit, SEED));
}

static void receive_probed(void)
{
    MPI_Message message;
    MPI_Status status;
    int count;

    memset(in, 0, 2 * limit);
    CHECK(MPI_Mprobe(0, 1, MPI_COMM_WORLD, &message, &status) == MPI_SUCCESS);
    CHECK(MPI_Mrecv(in, 2 * (int)limit, MPI_BYTE, &message, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS);
    CHECK(count == (int)limit && are_bytes(in, limit, SEED));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    CHECK(argc == 2);
    limit = strtoul(argv[1], NULL, 10);
    out = malloc(limit + 1);
    in = malloc(2 * limit);
    CHECK(out != NULL && in != NULL);
    fill_bytes(out, limit + 1, SEED);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        send_too_long();
        for (int i = 0; i < 3; i++) {
            CHECK(MPI_Send(out, (int)limit, MPI_BYTE, 1, 1, MPI_COMM_WORLD) ==
                  MPI_SUCCESS);
        }
    } else if (rank == 1) {
        receive(0);
        receive(MPI_ANY_SOURCE);
        receive_probed();
    }
    free(in);
    free(out);
    MPI_Finalize();
    return 0;
}
