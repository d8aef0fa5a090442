/*
 * sessions_alone.c - every built function in a process with a session and without
 * MPI_Init; see sessions_alone.py, which makes the calls.
 */
#include "mpi.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 65536, FEW = 64, RETURNED_ERROR = 77, SAID = 4096 };

struct call {
    const char *name;
    int (*function)(void);
    int may_fail;
};

static MPI_Session session;
static MPI_Session made_session;
static MPI_Comm comm;
static MPI_Comm other;
static MPI_Group group;
static MPI_Group made_group;
static MPI_Info info;
static MPI_Info made_info;
static MPI_Errhandler handler;
static MPI_Op op;
static MPI_Win win = MPI_WIN_NULL;
static MPI_File file = MPI_FILE_NULL;
static char file_name[] = "sessions_alone.XXXXXX";
static MPI_Message message = MPI_MESSAGE_NO_PROC;
static MPI_Request request = MPI_REQUEST_NULL;
static MPI_Datatype derived;
static MPI_Datatype types[FEW];
static MPI_Datatype given_types[FEW];
static MPI_Status status;
static int comm_key = MPI_KEYVAL_INVALID;
static int type_key = MPI_KEYVAL_INVALID;
static int win_key = MPI_KEYVAL_INVALID;
static void *memory;
static _Alignas(64) char buffer[BYTES];
static _Alignas(64) char second_buffer[BYTES];
static char text[BYTES] = "text";
static _Alignas(64) int numbers[BYTES];
static int ones[FEW];
static int zeros[FEW];
static long long long_ones[FEW];
static long long long_zeros[FEW];
static int distributions[FEW];
static int arguments[FEW];
static int ranges[1][3] = {{0, 0, 1}};

static void on_comm(MPI_Comm *c, int *code, ...)
{
    (void)c;
    (void)code;
}

static void on_file(MPI_File *f, int *code, ...)
{
    (void)f;
    (void)code;
}

static void on_session(MPI_Session *s, int *code, ...)
{
    (void)s;
    (void)code;
}

static void on_win(MPI_Win *w, int *code, ...)
{
    (void)w;
    (void)code;
}

static int query(void *state, MPI_Status *filled)
{
    (void)state;
    MPI_Status_set_elements(filled, MPI_INT, 0);
    MPI_Status_set_cancelled(filled, 0);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    (void)state;
    return MPI_SUCCESS;
}

static int cancel(void *state, int is_complete)
{
    (void)state;
    (void)is_complete;
    return MPI_SUCCESS;
}

static void persist(MPI_Request *out)
{
    MPI_Recv_init(buffer, 1, MPI_INT, MPI_PROC_NULL, 0, comm, out);
}

static void combine(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)length;
    (void)type;
}

static void combine_c(void *in, void *inout, MPI_Count *length, MPI_Datatype *type)
{
    (void)in;
    (void)inout;
    (void)length;
    (void)type;
}

static void make_window(void)
{
    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &win_key, NULL);
    MPI_Win_create(buffer, BYTES, 1, MPI_INFO_NULL, comm, &win);
}

static void make_file(void)
{
    close(mkstemp(file_name));
    MPI_File_open(comm, file_name, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    unlink(file_name); /* it lives while it is open */
}

static int file_extent(MPI_Datatype type, MPI_Aint *extent, void *extra_state)
{
    MPI_Aint lb;

    (void)extra_state;
    return MPI_Type_get_extent(type, &lb, extent);
}

static void make_dynamic(void)
{
    memory = second_buffer;
    MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &win);
}

/* One process that is its own neighbour, on both sides. */
static void make_ring(void)
{
    MPI_Comm ring;

    MPI_Cart_create(comm, 1, ones, ones, 0, &ring);
    comm = ring;
}

static void no_message(void)
{
    message = MPI_MESSAGE_NO_PROC;
}

#include "sessions_alone_calls.h"

static void open_session(void)
{
    for (int i = 0; i < FEW; i++) {
        ones[i] = 1;
        long_ones[i] = 1;
        given_types[i] = MPI_INT;
        distributions[i] = MPI_DISTRIBUTE_NONE;
        arguments[i] = MPI_DISTRIBUTE_DFLT_DARG;
    }
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Comm_create_from_group(group, "alone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Info_create(&info);
    MPI_Info_set(info, "word", "value");
    MPI_Type_contiguous(1, MPI_INT, &derived);
    MPI_Type_commit(&derived);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key,
                           NULL);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &type_key,
                           NULL);
}

/* In a child: what it says on standard error goes to the parent. */
static void make_call(const struct call *call, int to)
{
    int err;

    dup2(to, STDERR_FILENO);
    open_session();
    err = call->function();
    if (err != MPI_SUCCESS) {
        char why[MPI_MAX_ERROR_STRING];
        int length;

        MPI_Error_string(err, why, &length);
        fprintf(stderr, "%s returned %d, %s\n", call->name, err, why);
    }
    _exit(err == MPI_SUCCESS ? 0 : RETURNED_ERROR);
}

static void read_all(int from, char *said)
{
    size_t held = 0;
    ssize_t n;

    while ((n = read(from, said + held, SAID - 1 - held)) > 0) {
        held += (size_t)n;
    }
    said[held] = '\0';
}

static bool is_good(const struct call *call)
{
    char said[SAID];
    int ends[2];
    int how;
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0) {
        perror("sessions_alone");
        return false;
    }
    if (child == 0) {
        make_call(call, ends[1]);
    }
    close(ends[1]);
    read_all(ends[0], said);
    close(ends[0]);
    waitpid(child, &how, 0);
    if (WIFSIGNALED(how) || strstr(said, "MPI_Init") != NULL ||
        strstr(said, "MPI_Finalize") != NULL ||
        (WEXITSTATUS(how) != 0 && !call->may_fail)) {
        printf("%s, status 0x%x: %s\n", call->name, (unsigned)how, said);
        return false;
    }
    return true;
}

static bool are_attributes_there(void)
{
    const int *value = NULL;
    int is_set = 0;

    open_session();
    MPI_Comm_get_attr(comm, MPI_TAG_UB, &value, &is_set);
    if (!is_set || *value < 32767) {
        printf("MPI_TAG_UB is %d\n", is_set ? *value : -1);
        return false;
    }
    MPI_Comm_get_attr(comm, MPI_WTIME_IS_GLOBAL, &value, &is_set);
    return is_set != 0;
}

int main(void)
{
    const size_t count = sizeof(calls) / sizeof(calls[0]);
    size_t bad = 0;

    for (size_t i = 0; i < count; i++) {
        fflush(stdout);
        bad += is_good(&calls[i]) ? 0 : 1;
    }
    bad += are_attributes_there() ? 0 : 1;
    printf("%zu of %zu functions work with a session alone\n", count - bad, count);
    return bad == 0 ? 0 : 1;
}
