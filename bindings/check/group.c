#include "check/group.h"

#include "check/rc.h"
#include "engine/lock.h"

#include <stdlib.h>

int weft_check_group(const char *function, MPI_Group handle, struct weft_group **out)
{
    char text[128];
    int err;

    weft_lock();
    *out = weft_group_from_handle(handle);
    weft_unlock();
    if (weft_likely(*out != NULL)) {
        return MPI_SUCCESS;
    }
    err = weft_check_open(function);
    if (err != MPI_SUCCESS) {
        return err;
    }
    if (handle == MPI_GROUP_NULL) {
        return weft_raise(function, WEFT_E_GROUP_NULL);
    }
    return weft_raise(function, MPI_ERR_GROUP, WEFT_T_HANDLE,
                      weft_describe_handle(WEFT_KIND_GROUP, handle, text, sizeof(text)));
}

static int check_array(const char *function, int n, const void *array, const char *name)
{
    if (n < 0) {
        return weft_raise(function, WEFT_E_LENGTH_N, n);
    }
    return n == 0 ? MPI_SUCCESS : weft_check_out(function, NULL, array, name);
}

static int bad_rank(const char *function, const struct weft_group *group, int rank)
{
    return weft_raise(function, WEFT_E_GROUP_RANK, rank, group->size - 1);
}

static bool is_rank(const struct weft_group *group, int rank)
{
    return (unsigned)rank < (unsigned)group->size;
}

/* Notes a rank; false if it was noted before. */
static bool note(uint8_t *noted, int rank)
{
    const uint8_t bit = (uint8_t)(1u << rank % 8);
    const bool is_new = (noted[rank / 8] & bit) == 0;

    noted[rank / 8] |= bit;
    return is_new;
}

static int named_twice(const char *function, int rank, int class)
{
    return weft_raise(function, class, WEFT_T_GROUP_RANK_TWICE, rank);
}

int weft_check_ranks(const char *function, const struct weft_group *group, int n,
                     const int *ranks)
{
    uint8_t *noted;
    int err = check_array(function, n, ranks, "ranks");

    if (err != MPI_SUCCESS || n == 0) {
        return err;
    }
    noted = calloc((size_t)group->size / 8 + 1, 1);
    if (noted == NULL) {
        return weft_raise_rc(NULL, WEFT_ERR_NOMEM, function);
    }
    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        if (!is_rank(group, ranks[i])) {
            err = bad_rank(function, group, ranks[i]);
        } else if (!note(noted, ranks[i])) {
            err = named_twice(function, ranks[i], MPI_ERR_RANK);
        }
    }
    free(noted);
    return err;
}

int weft_check_translated(const char *function, const struct weft_group *group, int n,
                          const int *ranks)
{
    int err = check_array(function, n, ranks, "ranks1");

    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        if (!is_rank(group, ranks[i]) && ranks[i] != MPI_PROC_NULL) {
            err = bad_rank(function, group, ranks[i]);
        }
    }
    return err;
}

/* One range; its last rank may lie beyond what its stride reaches. */
static int check_range(const char *function, const struct weft_group *group,
                       const int range[3], uint8_t *noted)
{
    int length;

    if (range[2] == 0) {
        return weft_raise(function, WEFT_E_GROUP_STRIDE);
    }
    length = weft_group_range_length(range);
    for (int i = 0; i < length; i++) {
        const int64_t rank = (int64_t)range[0] + (int64_t)i * range[2];

        if (rank < 0 || rank >= group->size) {
            return bad_rank(function, group, (int)rank);
        }
        if (!note(noted, (int)rank)) {
            return named_twice(function, (int)rank, MPI_ERR_ARG);
        }
    }
    return length > 0
               ? MPI_SUCCESS
               : weft_raise(function, WEFT_E_GROUP_RANGE, range[0], range[1], range[2]);
}

int weft_check_ranges(const char *function, const struct weft_group *group, int n,
                      int (*ranges)[3])
{
    uint8_t *noted;
    int err = check_array(function, n, ranges, "ranges");

    if (err != MPI_SUCCESS || n == 0) {
        return err;
    }
    noted = calloc((size_t)group->size / 8 + 1, 1);
    if (noted == NULL) {
        return weft_raise_rc(NULL, WEFT_ERR_NOMEM, function);
    }
    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        err = check_range(function, group, ranges[i], noted);
    }
    free(noted);
    return err;
}
