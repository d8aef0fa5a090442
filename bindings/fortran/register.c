/*
 * register.c - what the C library has to know of Fortran, and LOGICAL values.
 *
 * The sizes are those of the compiler that has made this library: types.f90 gives them.
 * They are handed over at MPI_Init, or, if C has initialised MPI, at the first call with
 * a datatype. A library of another compiler may have done so before; that is well if its
 * LOGICAL values are the same.
 */
#include "fortran.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of types.f90, in this order. */
enum {
    SIZE_LOGICAL,
    SIZE_INTEGER,
    SIZE_REAL,
    SIZE_DOUBLE,
    SIZE_LOGICAL1,
    SIZE_LOGICAL2,
    SIZE_LOGICAL4,
    SIZE_LOGICAL8,
    SIZE_LOGICAL16,
    SIZE_INTEGER1,
    SIZE_INTEGER2,
    SIZE_INTEGER4,
    SIZE_INTEGER8,
    SIZE_INTEGER16,
    SIZE_REAL2,
    SIZE_REAL4,
    SIZE_REAL8,
    SIZE_REAL16,
    SIZE_COMPLEX4,
    SIZE_COMPLEX8,
    SIZE_COMPLEX16,
    SIZE_COMPLEX32,
    SIZE_DOUBLE_COMPLEX,
    VALUE_TRUE,
    VALUE_FALSE,
    VALUES,
};

void weft_fortran_types(int values[VALUES]);

static const char *const keys[] = {
    [SIZE_LOGICAL] = "mpi_logical_size",
    [SIZE_INTEGER] = "mpi_integer_size",
    [SIZE_REAL] = "mpi_real_size",
    [SIZE_DOUBLE] = "mpi_double_precision_size",
    [SIZE_LOGICAL1] = "mpi_logical1_supported",
    [SIZE_LOGICAL2] = "mpi_logical2_supported",
    [SIZE_LOGICAL4] = "mpi_logical4_supported",
    [SIZE_LOGICAL8] = "mpi_logical8_supported",
    [SIZE_LOGICAL16] = "mpi_logical16_supported",
    [SIZE_INTEGER1] = "mpi_integer1_supported",
    [SIZE_INTEGER2] = "mpi_integer2_supported",
    [SIZE_INTEGER4] = "mpi_integer4_supported",
    [SIZE_INTEGER8] = "mpi_integer8_supported",
    [SIZE_INTEGER16] = "mpi_integer16_supported",
    [SIZE_REAL2] = "mpi_real2_supported",
    [SIZE_REAL4] = "mpi_real4_supported",
    [SIZE_REAL8] = "mpi_real8_supported",
    [SIZE_REAL16] = "mpi_real16_supported",
    [SIZE_COMPLEX4] = "mpi_complex4_supported",
    [SIZE_COMPLEX8] = "mpi_complex8_supported",
    [SIZE_COMPLEX16] = "mpi_complex16_supported",
    [SIZE_COMPLEX32] = "mpi_complex32_supported",
    [SIZE_DOUBLE_COMPLEX] = "mpi_double_complex_supported",
};

static const int *types(void)
{
    static int values[VALUES];
    static atomic_bool is_filled;

    /* Two threads that fill it at once write the same. */
    if (!atomic_load_explicit(&is_filled, memory_order_acquire)) {
        weft_fortran_types(values);
        atomic_store_explicit(&is_filled, true, memory_order_release);
    }
    return values;
}

static void tell_sizes(void)
{
    MPI_Info info;

    PMPI_Info_create(&info);
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        char text[16];

        snprintf(text, sizeof(text), "%d", types()[i]);
        PMPI_Info_set(info, keys[i],
                      i < SIZE_LOGICAL1 ? text : (types()[i] > 0 ? "true" : "false"));
    }
    PMPI_Abi_set_fortran_info(info);
    PMPI_Info_free(&info);
}

/* Ends the program, whatever its error handlers are: it cannot go on. */
static void end_program(int class, const char *text, const char *cure)
{
    fprintf(stderr, "libmpifort_abi (" WEFT_FORTRAN_COMPILER "): %s: %s\n", text, cure);
    PMPI_Abort(MPI_COMM_SELF, class);
}

/* Ends the program if another Fortran library has set other values of LOGICAL. */
static void compare_booleans(int size)
{
    int is_true[4] = {0};
    int is_false[4] = {0};
    int is_set = 0;

    if (PMPI_Abi_get_fortran_booleans(size, is_true, is_false, &is_set) == MPI_SUCCESS &&
        is_set && is_true[0] == types()[VALUE_TRUE] &&
        is_false[0] == types()[VALUE_FALSE]) {
        return;
    }
    end_program(WEFT_F_BOOLEANS);
}

static void tell(void)
{
    int is_true = types()[VALUE_TRUE];
    int is_false = types()[VALUE_FALSE];
    int size = types()[SIZE_LOGICAL];
    unsigned char words[2][16];
    int is_set = 0;

    memset(words, 0, sizeof(words));
    PMPI_Abi_get_fortran_booleans(size, words[0], words[1], &is_set);
    if (is_set) {
        compare_booleans(size);
        return;
    }
    tell_sizes();
    PMPI_Abi_set_fortran_booleans(size, &is_true, &is_false);
}

void weft_fortran_register(void)
{
    static atomic_int is_told;
    int is_ready = 0;
    int is_over = 0;

    if (atomic_load_explicit(&is_told, memory_order_relaxed) != 0) {
        return;
    }
    PMPI_Initialized(&is_ready);
    PMPI_Finalized(&is_over);
    if (is_ready && !is_over &&
        atomic_exchange_explicit(&is_told, 1, memory_order_relaxed) == 0) {
        tell();
    }
}

int weft_logical_in(int logical)
{
    return logical != types()[VALUE_FALSE];
}

int weft_logical_out(int flag)
{
    return types()[flag ? VALUE_TRUE : VALUE_FALSE];
}

void weft_logicals_out(int *flags, int count)
{
    for (int i = 0; i < count; i++) {
        flags[i] = weft_logical_out(flags[i]);
    }
}

int *weft_logicals_in(const int *logicals, int count)
{
    int *flags = malloc((count > 0 ? (size_t)count : 1) * sizeof(*flags));

    for (int i = 0; flags != NULL && i < count; i++) {
        flags[i] = weft_logical_in(logicals[i]);
    }
    return flags;
}
