/*
 * handles.c - what is no handle is told apart from what is one, and never followed.
 */
#include "check.h"

#include <limits.h>

static void handler_a(MPI_Comm *comm, int *class, ...)
{
    (void)comm;
    (void)class;
}

/* Every predefined handle of the table, both ways, and integers that name nothing. */
static void integers(void)
{
#define HANDLE(infix, constant, value, null_handle)                                      \
    CHECK(MPI_##infix##_toint(constant) == (value));                                     \
    CHECK(MPI_##infix##_fromint(value) == (constant));                                   \
    CHECK(MPI_##infix##_fromint(0) == (null_handle));                                    \
    CHECK(MPI_##infix##_fromint(-1) == (null_handle));                                   \
    CHECK(MPI_##infix##_fromint(INT_MIN) == (null_handle));                              \
    CHECK(MPI_##infix##_fromint(INT_MAX) == (null_handle));                              \
    CHECK(MPI_##infix##_fromint(4096) == (null_handle));
#include "handles.h"
#undef HANDLE
}

static void is_no_comm(MPI_Comm comm)
{
    int number = -7;

    IS_ERROR(MPI_Comm_rank(comm, &number), MPI_ERR_COMM);
    IS_ERROR(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN), MPI_ERR_COMM);
    CHECK(number == -7);
}

static void is_no_errhandler(MPI_Errhandler errhandler)
{
    MPI_Errhandler before = errhandler;

    IS_ERROR(MPI_Comm_set_errhandler(MPI_COMM_WORLD, errhandler), MPI_ERR_ERRHANDLER);
    IS_ERROR(MPI_Errhandler_free(&errhandler), MPI_ERR_ERRHANDLER);
    CHECK(errhandler == before);
}

/* Memory of any sort, and numbers that look like handles. */
static void foreign(void)
{
    static int fixed;
    int local = 0;
    void *heap = malloc(64);
    const uintptr_t values[] = {
        0,
        (uintptr_t)&fixed,
        (uintptr_t)&local,
        (uintptr_t)heap,
        (uintptr_t)handler_a,
        4096,
        UINTPTR_MAX,
        (uintptr_t)1 << 63,
    };

    CHECK(heap != NULL);
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        is_no_comm((MPI_Comm)values[i]);
        is_no_errhandler((MPI_Errhandler)values[i]);
    }
    free(heap);
}

static void of_another_kind(MPI_Errhandler errhandler)
{
    is_no_comm((MPI_Comm)errhandler);
    is_no_comm((MPI_Comm)MPI_ERRORS_RETURN);
    is_no_comm((MPI_Comm)MPI_INT);
    is_no_comm(MPI_COMM_NULL);
    is_no_errhandler((MPI_Errhandler)MPI_COMM_WORLD);
    is_no_errhandler((MPI_Errhandler)MPI_INT);
    is_no_errhandler(MPI_ERRHANDLER_NULL);
    CHECK(MPI_Comm_fromint(MPI_Errhandler_toint(errhandler)) == MPI_COMM_NULL);
    CHECK(MPI_Type_fromint(MPI_Errhandler_toint(errhandler)) == MPI_DATATYPE_NULL);
}

static MPI_Errhandler create(void)
{
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;

    CHECK(MPI_Comm_create_errhandler(handler_a, &made) == MPI_SUCCESS);
    CHECK((uintptr_t)made > 4095);
    return made;
}

/* Same index and generation, another kind: bits 27 to 30, and bit 31, which is 0. */
static void of_a_forged_kind(MPI_Errhandler errhandler)
{
    unsigned number = (unsigned)MPI_Errhandler_toint(errhandler);

    for (int bit = 27; bit <= 31; bit++) {
        is_no_errhandler((MPI_Errhandler)((uintptr_t)errhandler ^ (uintptr_t)1 << bit));
        CHECK(MPI_Errhandler_fromint((int)(number ^ 1u << bit)) == MPI_ERRHANDLER_NULL);
    }
}

/* The integer stays the same while the handler is used, and names nothing afterwards. */
static void life_of_an_errhandler(void)
{
    MPI_Errhandler handler = create();
    MPI_Errhandler other = create();
    MPI_Errhandler stale = handler;
    int number = MPI_Errhandler_toint(handler);

    CHECK(handler != other);
    CHECK(number > 4095 && number != MPI_Errhandler_toint(other));
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_toint(handler) == number);
    CHECK(MPI_Errhandler_fromint(number) == handler);
    of_another_kind(handler);
    of_a_forged_kind(handler);

    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS && handler == MPI_ERRHANDLER_NULL);
    CHECK(MPI_Errhandler_fromint(number) == MPI_ERRHANDLER_NULL);
    is_no_errhandler(stale);

    handler = create(); /* in the same place, and still not the stale one */
    CHECK(MPI_Errhandler_toint(handler) == number);
    CHECK(handler != stale);
    is_no_errhandler(stale);
    CHECK(MPI_Errhandler_fromint(number) == handler);

    CHECK(MPI_Errhandler_free(&handler) == MPI_SUCCESS);
    CHECK(MPI_Errhandler_free(&other) == MPI_SUCCESS);
}

int main(int argc, char **argv)
{
    integers();
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    integers();
    foreign();
    life_of_an_errhandler();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    integers();
    return 0;
}
