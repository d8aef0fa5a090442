/*
 * forum.c - a program that has seen nothing of Weft before it runs.
 *
 * It is compiled with a header laid out as the MPI Forum's stub header and linked with a
 * stub library. With Weft in that library's place it prints Weft's version and succeeds.
 */
#include "check.h"

#ifdef MPI_SUCCESS
#error "this is not the Forum's layout: error classes are enumerators there"
#endif

static void versions(void)
{
    int number = -1;
    int part = -1;
    int length = -1;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];

    CHECK(MPI_Get_version(&number, &part) == MPI_SUCCESS);
    CHECK(number == MPI_VERSION && part == MPI_SUBVERSION);
    CHECK(MPI_Abi_get_version(&number, &part) == MPI_SUCCESS);
    CHECK(number == MPI_ABI_VERSION && part == MPI_ABI_SUBVERSION);
    CHECK(MPI_Get_library_version(text, &length) == MPI_SUCCESS);
    CHECK(strncmp(text, "Weft", 4) == 0 && length == (int)strlen(text));
    puts(text);
}

static void places(void)
{
    int rank = -1;
    int size = -1;

    CHECK(MPI_Comm_rank(MPI_COMM_WORLD, &rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) == MPI_SUCCESS);
    CHECK(rank == 0 && size == 1);
}

static void error_texts(void)
{
    const int classes[] = {MPI_SUCCESS, MPI_ERR_COMM, MPI_ERR_ABI, MPI_T_ERR_INVALID};
    char text[MPI_MAX_ERROR_STRING];
    int class;
    int length;

    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
        class = -1;
        length = -1;
        CHECK(MPI_Error_class(classes[i], &class) == MPI_SUCCESS && class == classes[i]);
        CHECK(MPI_Error_string(classes[i], text, &length) == MPI_SUCCESS);
        CHECK(length > 0 && length == (int)strlen(text));
    }
    CHECK(MPI_Error_string(MPI_ERR_ABI, text, &length) == MPI_SUCCESS);
    CHECK(strncmp(text, "MPI_ERR_ABI", 11) == 0);
}

static int calls;

static void handler(MPI_Comm *comm, int *class, ...)
{
    CHECK(*comm == MPI_COMM_WORLD && *class == MPI_ERR_TOPOLOGY);
    calls++;
}

static void error_handlers(void)
{
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    int number;

    CHECK(MPI_Comm_create_errhandler(handler, &made) == MPI_SUCCESS);
    number = MPI_Errhandler_toint(made);
    CHECK(MPI_Errhandler_fromint(number) == made);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, made) == MPI_SUCCESS);
    CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TOPOLOGY) == MPI_SUCCESS);
    CHECK(calls == 1);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&made) == MPI_SUCCESS && made == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Errhandler_fromint(number) == MPI_ERRHANDLER_NULL);
}

static void integers(void)
{
#define HANDLE(infix, constant, value, null_handle)                                      \
    CHECK(MPI_##infix##_toint(constant) == (value));                                     \
    CHECK(MPI_##infix##_fromint(value) == (constant));                                   \
    CHECK(MPI_##infix##_fromint(0) == (null_handle));
#include "handles.h"
#undef HANDLE
}

int main(int argc, char **argv)
{
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    versions();
    places();
    error_texts();
    error_handlers();
    integers();
    return MPI_Finalize();
}
