#include "tools/control.h"

#include "base/log.h"
#include "runtime/runtime.h"

#include <string.h>

int weft_control_find(const char *name)
{
    for (int i = 0; i < WEFT_SET_NUMBERS; i++) {
        if (strcmp(weft_setting_row((enum weft_setting)i)->name, name) == 0) {
            return i;
        }
    }
    return -1;
}

bool weft_control_has_words(enum weft_setting which)
{
    return weft_setting_row(which)->values != NULL;
}

int weft_control_scope(enum weft_setting which)
{
    return which == WEFT_SET_LOG ? MPI_T_SCOPE_LOCAL : MPI_T_SCOPE_ALL_EQ;
}

int weft_control_word_count(enum weft_setting which)
{
    int count = 1;

    for (const char *c = weft_setting_row(which)->values; *c != '\0'; c++) {
        count += *c == '|';
    }
    return count;
}

const char *weft_control_word(enum weft_setting which, int position, size_t *length)
{
    const char *word = weft_setting_row(which)->values;

    for (; position > 0; position--) {
        word = strchr(word, '|') + 1;
    }
    *length = strcspn(word, "|");
    return word;
}

enum weft_rc weft_control_write(enum weft_setting which, uint64_t value)
{
    const uint64_t limit = weft_control_has_words(which)
                               ? (uint64_t)weft_control_word_count(which) - 1
                               : INT64_MAX;

    if (value > limit) {
        return WEFT_ERR_ARGUMENT;
    }
    if (which == WEFT_SET_LOG) {
        weft_log_set_limit((enum weft_log_level)value);
    } else if (weft_runtime_is_open()) {
        return WEFT_ERR_UNSUPPORTED;
    }
    weft_setting_write(which, (int64_t)value);
    return WEFT_OK;
}
