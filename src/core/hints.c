#include "core/hints.h"

#include <string.h>

static const struct {
    enum weft_hint bit;
    const char *key;
} known[] = {
    {WEFT_HINT_NO_ANY_TAG, "mpi_assert_no_any_tag"},
    {WEFT_HINT_NO_ANY_SOURCE, "mpi_assert_no_any_source"},
    {WEFT_HINT_EXACT_LENGTH, "mpi_assert_exact_length"},
    {WEFT_HINT_ALLOW_OVERTAKING, "mpi_assert_allow_overtaking"},
    {WEFT_HINT_STRICT_PERSISTENT_ORDER,
     "mpi_assert_strict_persistent_collective_ordering"},
};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

void weft_hints_update(uint32_t *hints, const struct weft_info *info)
{
    for (int i = 0; i < KNOWN && info != NULL; i++) {
        const char *value = weft_info_get(info, known[i].key);

        if (value != NULL && strcmp(value, "true") == 0) {
            *hints |= (uint32_t)known[i].bit;
        } else if (value != NULL && strcmp(value, "false") == 0) {
            *hints &= ~(uint32_t)known[i].bit;
        }
    }
}

enum weft_rc weft_hints_to_info(uint32_t hints, struct weft_info **out)
{
    struct weft_info *info;
    enum weft_rc rc = weft_info_create(&info);

    if (rc != WEFT_OK) {
        return rc;
    }
    for (int i = 0; i < KNOWN && rc == WEFT_OK; i++) {
        rc = weft_info_set(info, known[i].key,
                           (hints & (uint32_t)known[i].bit) != 0 ? "true" : "false");
    }
    if (rc == WEFT_OK) {
        rc = weft_info_set(info, "mpi_memory_alloc_kinds", "mpi,system");
    }
    if (rc != WEFT_OK) {
        weft_info_free(info);
        return rc;
    }
    *out = info;
    return WEFT_OK;
}
