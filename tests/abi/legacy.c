/*
 * legacy.c - an old source: Fortran conversions and names from MPI-1, by mpi_legacy.h.
 */
#include "mpi_legacy.h"

#include "check.h"

/* What is not built yet may say so; anything else has to succeed. */
static int works(int err)
{
    CHECK(err == MPI_SUCCESS || err == MPI_ERR_UNSUPPORTED_OPERATION);
    return err == MPI_SUCCESS;
}

static void handles(void)
{
#define HANDLE(infix, constant, value, null_handle)                                      \
    CHECK(MPI_##infix##_c2f(constant) == (MPI_Fint)(value));                             \
    CHECK(MPI_##infix##_f2c(value) == (constant));                                       \
    CHECK(PMPI_##infix##_c2f(constant) == (MPI_Fint)(value));                            \
    CHECK(PMPI_##infix##_f2c(value) == (constant));                                      \
    CHECK(MPI_##infix##_f2c(0) == (null_handle));
#include "handles.h"
#undef HANDLE
}

static void is_same_status(const void *a, const void *b)
{
    CHECK(memcmp(a, b, sizeof(MPI_Status)) == 0);
}

static void statuses(void)
{
    const MPI_Status first = {1, 2, 3, {4, 5, 6, 7, 8}};
    MPI_Status status = {0};
    MPI_Fint array[MPI_F_STATUS_SIZE] = {0};
    MPI_F08_status derived = {0};

    CHECK(MPI_Status_c2f(&first, array) == MPI_SUCCESS);
    CHECK(array[MPI_F_SOURCE] == 1 && array[MPI_F_TAG] == 2 && array[MPI_F_ERROR] == 3);
    is_same_status(array, &first);
    CHECK(MPI_Status_f2c(array, &status) == MPI_SUCCESS);
    is_same_status(&status, &first);

    CHECK(MPI_Status_c2f08(&first, &derived) == MPI_SUCCESS);
    CHECK(derived.MPI_SOURCE == 1 && derived.MPI_TAG == 2 && derived.MPI_ERROR == 3);
    is_same_status(&derived, &first);
    memset(&status, 0, sizeof(status));
    CHECK(MPI_Status_f082c(&derived, &status) == MPI_SUCCESS);
    is_same_status(&status, &first);

    memset(array, 0, sizeof(array));
    CHECK(MPI_Status_f082f(&derived, array) == MPI_SUCCESS);
    is_same_status(array, &first);
    memset(&derived, 0, sizeof(derived));
    CHECK(MPI_Status_f2f08(array, &derived) == MPI_SUCCESS);
    is_same_status(&derived, &first);
}

static int raised;

static void handler(MPI_Comm *comm, int *class, ...)
{
    CHECK(*comm == MPI_COMM_WORLD);
    raised = *class;
}

static void error_handlers(void)
{
    MPI_Handler_function *function = handler;
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    MPI_Errhandler got = MPI_ERRHANDLER_NULL;

    CHECK(MPI_Errhandler_create(function, &made) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_f2c(MPI_Errhandler_c2f(made)) == made);
    CHECK(MPI_Errhandler_set(MPI_COMM_WORLD, made) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_get(MPI_COMM_WORLD, &got) == MPI_SUCCESS && got == made);
    IS_ERROR(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    CHECK(raised == MPI_ERR_ARG);
    CHECK(MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&got) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&made) == MPI_SUCCESS);
}

static void addresses(void)
{
    char place[8];
    MPI_Aint from = 0;
    MPI_Aint to = 0;

    CHECK(MPI_Address(&place[0], &from) == MPI_SUCCESS);
    CHECK(MPI_Address(&place[5], &to) == MPI_SUCCESS);
    CHECK(to - from == 5);
}

static void attributes(void)
{
    MPI_Copy_function *const copies[] = {MPI_NULL_COPY_FN, MPI_DUP_FN};
    int keyval = MPI_KEYVAL_INVALID;
    int value = 11;
    int *got = NULL;
    int flag = 0;

    for (int i = 0; i < 2; i++) {
        if (!works(MPI_Keyval_create(copies[i], MPI_NULL_DELETE_FN, &keyval, NULL))) {
            continue;
        }
        works(MPI_Attr_put(MPI_COMM_SELF, keyval, &value));
        if (works(MPI_Attr_get(MPI_COMM_SELF, keyval, &got, &flag))) {
            CHECK(flag && got == &value);
        }
        works(MPI_Attr_delete(MPI_COMM_SELF, keyval));
        works(MPI_Keyval_free(&keyval));
    }
}

static void made(int err, MPI_Datatype *type)
{
    if (works(err)) {
        CHECK(*type != MPI_DATATYPE_NULL);
        works(MPI_Type_free(type));
    }
}

static void datatypes(void)
{
    int lengths[] = {1, 2};
    MPI_Aint places[] = {0, 16};
    MPI_Datatype types[] = {MPI_INT, MPI_INT};
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Aint bytes = -1;

    made(MPI_Type_hvector(2, 1, 8, MPI_INT, &type), &type);
    made(MPI_Type_hindexed(2, lengths, places, MPI_INT, &type), &type);
    made(MPI_Type_struct(2, lengths, places, types, &type), &type);
    if (works(MPI_Type_extent(MPI_INT, &bytes))) {
        CHECK(bytes == sizeof(int));
    }
    if (works(MPI_Type_lb(MPI_INT, &bytes))) {
        CHECK(bytes == 0);
    }
    if (works(MPI_Type_ub(MPI_INT, &bytes))) {
        CHECK(bytes == sizeof(int));
    }
}

int main(int argc, char **argv)
{
    handles();
    statuses();
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_set(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    error_handlers();
    addresses();
    attributes();
    datatypes();
    return MPI_Finalize();
}
