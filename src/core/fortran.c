#include "core/fortran.h"

#include "engine/lock.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST_LOGICAL = 16 };

static struct {
    struct weft_info *info;
    int logical_size; /* 0: nobody has said */
    unsigned char is_true[LARGEST_LOGICAL];
    unsigned char is_false[LARGEST_LOGICAL];
} fortran;

static bool has_other_size(const struct weft_info *info, const char *key, int ours)
{
    const char *value = weft_info_get(info, key);

    return value != NULL && atoi(value) != ours;
}

enum weft_fortran_result weft_fortran_set_info(const struct weft_info *info)
{
    if (fortran.info != NULL) {
        return WEFT_FORTRAN_SET_BEFORE;
    }
    if (has_other_size(info, "mpi_integer_size", 4) ||
        has_other_size(info, "mpi_logical_size", 4) ||
        has_other_size(info, "mpi_real_size", 4) ||
        has_other_size(info, "mpi_double_precision_size", 8)) {
        return WEFT_FORTRAN_UNSUPPORTED;
    }
    return weft_info_dup(info, &fortran.info) == WEFT_OK ? WEFT_FORTRAN_SET
                                                         : WEFT_FORTRAN_NO_MEMORY;
}

const struct weft_info *weft_fortran_info(void)
{
    return fortran.info;
}

enum weft_fortran_result weft_fortran_set_booleans(int size, const void *is_true,
                                                   const void *is_false)
{
    weft_assert_object_locked();
    if (fortran.logical_size != 0) {
        return WEFT_FORTRAN_SET_BEFORE;
    }
    if (size <= 0 || size > LARGEST_LOGICAL) {
        return WEFT_FORTRAN_UNSUPPORTED;
    }
    memcpy(fortran.is_true, is_true, (size_t)size);
    memcpy(fortran.is_false, is_false, (size_t)size);
    fortran.logical_size = size;
    return WEFT_FORTRAN_SET;
}

bool weft_fortran_booleans(int size, void *is_true, void *is_false)
{
    weft_assert_object_locked();
    if (fortran.logical_size == 0 || fortran.logical_size != size) {
        return false;
    }
    memcpy(is_true, fortran.is_true, (size_t)size);
    memcpy(is_false, fortran.is_false, (size_t)size);
    return true;
}
