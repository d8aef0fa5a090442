/*
 * abi_query.c - MPI-5.0 chapter 20: what the ABI is here, and what a Fortran binding says
 * of its types. All may be called at any time.
 */
#include "binding.h"

#include "check/info.h"
#include "check/rc.h"
#include "core/fortran.h"
#include "engine/lock.h"

#include <stdio.h>

int PMPI_Abi_get_version(int *abi_major, int *abi_minor)
{
    int err = weft_check_out("MPI_Abi_get_version", NULL, abi_major, "abi_major");

    if (err == MPI_SUCCESS) {
        err = weft_check_out("MPI_Abi_get_version", NULL, abi_minor, "abi_minor");
    }
    if (err == MPI_SUCCESS) {
        *abi_major = MPI_ABI_VERSION;
        *abi_minor = MPI_ABI_SUBVERSION;
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Abi_get_version, PMPI_Abi_get_version);

static enum weft_rc describe_sizes(struct weft_info *info)
{
    static const struct {
        const char *key;
        size_t size;
    } sizes[] = {
        {"mpi_aint_size", sizeof(MPI_Aint)},
        {"mpi_count_size", sizeof(MPI_Count)},
        {"mpi_offset_size", sizeof(MPI_Offset)},
    };
    enum weft_rc rc = WEFT_OK;

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && rc == WEFT_OK; i++) {
        char text[8];

        snprintf(text, sizeof(text), "%zu", sizes[i].size);
        rc = weft_info_set(info, sizes[i].key, text);
    }
    return rc;
}

int PMPI_Abi_get_info(MPI_Info *info)
{
    struct weft_info *made = NULL;
    enum weft_rc rc;
    int err = weft_check_out("MPI_Abi_get_info", NULL, info, "info");

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    rc = weft_info_create(&made);
    if (rc == WEFT_OK) {
        rc = describe_sizes(made);
        *info = weft_info_handle(made);
        if (rc != WEFT_OK) {
            weft_info_free(made);
        }
    }
    weft_object_unlock();
    return weft_raise_rc(NULL, rc, "MPI_Abi_get_info");
}
WEFT_WEAK_ALIAS(MPI_Abi_get_info, PMPI_Abi_get_info);

static int raise_told(const char *function, enum weft_fortran_result told)
{
    switch (told) {
    case WEFT_FORTRAN_SET:
        return MPI_SUCCESS;
    case WEFT_FORTRAN_SET_BEFORE:
        return weft_raise(function, WEFT_E_FORTRAN_SET);
    case WEFT_FORTRAN_UNSUPPORTED:
        return weft_raise(function, WEFT_E_FORTRAN_SIZES);
    default:
        return weft_raise(function, WEFT_E_NO_MEM);
    }
}

int PMPI_Abi_set_fortran_info(MPI_Info info)
{
    static const char function[] = "MPI_Abi_set_fortran_info";
    struct weft_info *from;
    enum weft_fortran_result told;
    int err = weft_check_info(function, NULL, info, &from);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    told = weft_fortran_set_info(from);
    weft_object_unlock();
    return raise_told(function, told);
}
WEFT_WEAK_ALIAS(MPI_Abi_set_fortran_info, PMPI_Abi_set_fortran_info);

int PMPI_Abi_get_fortran_info(MPI_Info *info)
{
    static const char function[] = "MPI_Abi_get_fortran_info";
    struct weft_info *made = NULL;
    enum weft_rc rc = WEFT_OK;
    int err = weft_check_out(function, NULL, info, "info");

    if (err != MPI_SUCCESS) {
        return err;
    }
    *info = MPI_INFO_NULL; /* nobody has said */
    weft_object_lock();
    if (weft_fortran_info() != NULL) {
        rc = weft_info_dup(weft_fortran_info(), &made);
        if (rc == WEFT_OK) {
            *info = weft_info_handle(made);
        }
    }
    weft_object_unlock();
    return weft_raise_rc(NULL, rc, function);
}
WEFT_WEAK_ALIAS(MPI_Abi_get_fortran_info, PMPI_Abi_get_fortran_info);

static int check_booleans(const char *function, const void *is_true, const void *is_false)
{
    int err = weft_check_out(function, NULL, is_true, "logical_true");

    return err != MPI_SUCCESS ? err
                              : weft_check_out(function, NULL, is_false, "logical_false");
}

int PMPI_Abi_set_fortran_booleans(int logical_size, void *logical_true,
                                  void *logical_false)
{
    static const char function[] = "MPI_Abi_set_fortran_booleans";
    enum weft_fortran_result told;
    int err = check_booleans(function, logical_true, logical_false);

    if (err != MPI_SUCCESS) {
        return err;
    }
    weft_object_lock();
    told = weft_fortran_set_booleans(logical_size, logical_true, logical_false);
    weft_object_unlock();
    if (told == WEFT_FORTRAN_UNSUPPORTED) {
        return weft_raise(function, WEFT_E_LOGICAL_SIZE, logical_size);
    }
    return raise_told(function, told);
}
WEFT_WEAK_ALIAS(MPI_Abi_set_fortran_booleans, PMPI_Abi_set_fortran_booleans);

int PMPI_Abi_get_fortran_booleans(int logical_size, void *logical_true,
                                  void *logical_false, int *is_set)
{
    static const char function[] = "MPI_Abi_get_fortran_booleans";
    int err = check_booleans(function, logical_true, logical_false);

    if (err == MPI_SUCCESS) {
        err = weft_check_out(function, NULL, is_set, "is_set");
    }
    if (err == MPI_SUCCESS) {
        weft_object_lock();
        *is_set = weft_fortran_booleans(logical_size, logical_true, logical_false);
        weft_object_unlock();
    }
    return err;
}
WEFT_WEAK_ALIAS(MPI_Abi_get_fortran_booleans, PMPI_Abi_get_fortran_booleans);
