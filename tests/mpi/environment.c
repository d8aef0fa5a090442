/* environment.c - chapter 9: versions, names, time, memory, hardware, error handlers. */
#include "check.h"

#include <unistd.h>

static void versions(void)
{
    int version = 0;
    int subversion = -1;
    int length = -1;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];

    CHECK(MPI_Get_version(&version, &subversion) == MPI_SUCCESS);
    CHECK(version == 5 && subversion == 0);
    CHECK(MPI_Abi_get_version(&version, &subversion) == MPI_SUCCESS);
    CHECK(version == 1 && subversion == 0);
    CHECK(MPI_Get_library_version(text, &length) == MPI_SUCCESS);
    CHECK(length == (int)strlen(text) && strncmp(text, "Weft ", 5) == 0);
}

static void names(void)
{
    char name[MPI_MAX_PROCESSOR_NAME];
    char host[256];
    int length = -1;

    CHECK(MPI_Get_processor_name(name, &length) == MPI_SUCCESS);
    CHECK(length == (int)strlen(name) && length > 0);
    CHECK(gethostname(host, sizeof(host)) == 0 && strcmp(name, host) == 0);
}

static void time_passes(void)
{
    double before = MPI_Wtime();
    double step = MPI_Wtick();

    CHECK(step > 0 && step < 1e-3);
    usleep(2000);
    CHECK(MPI_Wtime() - before >= 2e-3);
}

static void memory(void)
{
    MPI_Info info;
    char *base = NULL;
    char *empty = NULL;

    CHECK(MPI_Alloc_mem(1000, MPI_INFO_NULL, &base) == MPI_SUCCESS && base != NULL);
    CHECK((uintptr_t)base % 64 == 0);
    memset(base, 1, 1000);
    CHECK(MPI_Free_mem(base) == MPI_SUCCESS);
    CHECK(MPI_Alloc_mem(0, MPI_INFO_NULL, &empty) == MPI_SUCCESS);
    CHECK(MPI_Free_mem(empty) == MPI_SUCCESS);

    CHECK(MPI_Info_create(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "8192") == MPI_SUCCESS);
    CHECK(MPI_Alloc_mem(10, info, &base) == MPI_SUCCESS && (uintptr_t)base % 8192 == 0);
    CHECK(MPI_Free_mem(base) == MPI_SUCCESS);
    CHECK(MPI_Info_set(info, "mpi_minimum_memory_alignment", "a lot") == MPI_SUCCESS);
    CHECK(MPI_Alloc_mem(10, info, &base) == MPI_SUCCESS);
    CHECK(MPI_Free_mem(base) == MPI_SUCCESS);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);

    IS_ERROR(MPI_Alloc_mem(-1, MPI_INFO_NULL, &base), MPI_ERR_SIZE);
    IS_ERROR(MPI_Alloc_mem(1, MPI_INFO_NULL, NULL), MPI_ERR_ARG);
    IS_ERROR(MPI_Alloc_mem(1, (MPI_Info)&base, &base), MPI_ERR_INFO);
}

static void hardware(void)
{
    MPI_Info info;
    char text[8] = "";
    int length = sizeof(text);
    int flag = 0;

    CHECK(MPI_Get_hw_resource_info(&info) == MPI_SUCCESS);
    CHECK(MPI_Info_get_string(info, "weft://node", &length, text, &flag) == MPI_SUCCESS);
    CHECK(flag && strcmp(text, "true") == 0);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS);
    IS_ERROR(MPI_Get_hw_resource_info(NULL), MPI_ERR_ARG);
}

static void error_texts(void)
{
    char text[MPI_MAX_ERROR_STRING];
    int class = -1;
    int length = -1;

    CHECK(MPI_Error_class(MPI_ERR_RANK, &class) == MPI_SUCCESS && class == MPI_ERR_RANK);
    CHECK(MPI_Error_string(MPI_ERR_RANK, text, &length) == MPI_SUCCESS);
    CHECK(length == (int)strlen(text) && strncmp(text, "MPI_ERR_RANK: ", 14) == 0);
    IS_ERROR(MPI_Error_class(-5, &class), MPI_ERR_ARG);
    IS_ERROR(MPI_Error_string(16383, text, &length), MPI_ERR_ARG);
    IS_ERROR(MPI_Error_string(MPI_ERR_RANK, NULL, &length), MPI_ERR_ARG);
}

static struct {
    MPI_Comm comm;
    int class;
    int calls;
} seen;

static void note_error(MPI_Comm *comm, int *class, ...)
{
    seen.comm = *comm;
    seen.class = *class;
    seen.calls++;
}

static void error_handlers(void)
{
    MPI_Errhandler handler;
    MPI_Errhandler same;
    MPI_Errhandler stale;
    int rank;

    CHECK(MPI_Comm_create_errhandler(note_error, &handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_errhandler(MPI_COMM_WORLD, &same) == MPI_SUCCESS &&
          same == handler);
    CHECK(MPI_Errhandler_free(&same) == MPI_SUCCESS && same == MPI_ERRHANDLER_NULL);

    stale = handler; /* freed, but in use by the communicator: it still runs */
    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS && handler == MPI_ERRHANDLER_NULL);
    IS_ERROR(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    CHECK(seen.calls == 1 && seen.comm == MPI_COMM_WORLD && seen.class == MPI_ERR_ARG);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TAG) == MPI_SUCCESS);
    same = stale; /* freeing it twice takes nothing from the communicator */
    IS_ERROR(MPI_Errhandler_free(&same), MPI_ERR_ERRHANDLER);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TAG) == MPI_SUCCESS);
    CHECK(seen.calls == 3);
    seen.calls = 2;
    CHECK(seen.calls == 2 && seen.class == MPI_ERR_TAG);

    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    IS_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, stale), MPI_ERR_ERRHANDLER);
    IS_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRHANDLER_NULL),
             MPI_ERR_ERRHANDLER);
    CHECK(seen.calls == 2);

    /* A communicator that is none has no handler of its own: MPI_COMM_SELF's runs. */
    IS_ERROR(MPI_Comm_rank(MPI_COMM_NULL, &rank), MPI_ERR_COMM);
    IS_ERROR(MPI_Comm_rank((MPI_Comm)0, &rank), MPI_ERR_COMM);
    IS_ERROR(MPI_Comm_size((MPI_Comm)&rank, &rank), MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    versions();
    names();
    time_passes();
    memory();
    hardware();
    error_texts();
    error_handlers();
    CHECK(MPI_Pcontrol(1) == MPI_SUCCESS);
    return MPI_Finalize();
}
