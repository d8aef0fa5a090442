#include "io/hints.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODE_WINDOW = 1 << 20, WINDOW = 16 << 20 };

struct weft_file_hints weft_file_hints_default(bool is_one_node)
{
    return (struct weft_file_hints){
        .cb_buffer_size = is_one_node ? NODE_WINDOW : WINDOW,
    };
}

/* Keys in the order in which they are told. */
static const struct number {
    const char *key;
    size_t at;
    uint64_t least;
} numbers[] = {
    {"cb_nodes", offsetof(struct weft_file_hints, cb_nodes), 0},
    {"cb_buffer_size", offsetof(struct weft_file_hints, cb_buffer_size), 1},
    {"striping_factor", offsetof(struct weft_file_hints, striping_factor), 0},
    {"striping_unit", offsetof(struct weft_file_hints, striping_unit), 0},
};

static const struct choice {
    const char *key;
    size_t at;
} choices[] = {
    {"romio_cb_read", offsetof(struct weft_file_hints, cb_read)},
    {"romio_cb_write", offsetof(struct weft_file_hints, cb_write)},
    {"romio_ds_read", offsetof(struct weft_file_hints, ds_read)},
};

/* What the user cannot change. */
static const char *const fixed[][2] = {
    {"ind_rd_buffer_size", "65536"},
    {"ind_wr_buffer_size", "0"},
    {"romio_ds_write", "disable"},
};

static const char *const choice_names[] = {"automatic", "enable", "disable"};

enum {
    NUMBERS = sizeof(numbers) / sizeof(numbers[0]),
    CHOICES = sizeof(choices) / sizeof(choices[0]),
    FIXED = sizeof(fixed) / sizeof(fixed[0]),
    CHOICE_NAMES = sizeof(choice_names) / sizeof(choice_names[0]),
};

static uint64_t *number_at(struct weft_file_hints *hints, size_t at)
{
    return (uint64_t *)(void *)((char *)hints + at);
}

static enum weft_io_choice *choice_at(struct weft_file_hints *hints, size_t at)
{
    return (enum weft_io_choice *)(void *)((char *)hints + at);
}

static void read_number(const char *text, uint64_t least, uint64_t *out)
{
    char *end = NULL;
    long long value;

    errno = 0;
    value = strtoll(text, &end, 10);
    if (errno == 0 && end != text && *end == '\0' && value >= 0 &&
        (uint64_t)value >= least) {
        *out = (uint64_t)value;
    }
}

static void read_choice(const char *text, enum weft_io_choice *out)
{
    for (int i = 0; i < CHOICE_NAMES; i++) {
        if (strcmp(text, choice_names[i]) == 0) {
            *out = (enum weft_io_choice)i;
        }
    }
}

/* The standard's name for the exchange of data in collective calls. */
static void read_buffering(const char *text, struct weft_file_hints *hints)
{
    if (strcmp(text, "true") == 0) {
        hints->cb_read = hints->cb_write = WEFT_CHOICE_ENABLE;
    } else if (strcmp(text, "false") == 0) {
        hints->cb_read = hints->cb_write = WEFT_CHOICE_DISABLE;
    }
}

void weft_file_hints_update(struct weft_file_hints *hints, const struct weft_info *info)
{
    const char *text;

    if (info == NULL) {
        return;
    }
    text = weft_info_get(info, "collective_buffering");
    if (text != NULL) {
        read_buffering(text, hints);
    }
    for (int i = 0; i < NUMBERS; i++) {
        text = weft_info_get(info, numbers[i].key);
        if (text != NULL) {
            read_number(text, numbers[i].least, number_at(hints, numbers[i].at));
        }
    }
    for (int i = 0; i < CHOICES; i++) {
        text = weft_info_get(info, choices[i].key);
        if (text != NULL) {
            read_choice(text, choice_at(hints, choices[i].at));
        }
    }
}

static enum weft_rc tell(struct weft_file_hints *hints, struct weft_info *info)
{
    const bool is_off =
        hints->cb_read == WEFT_CHOICE_DISABLE && hints->cb_write == WEFT_CHOICE_DISABLE;
    enum weft_rc rc =
        weft_info_set(info, "collective_buffering", is_off ? "false" : "true");
    char text[32];

    for (int i = 0; i < NUMBERS && rc == WEFT_OK; i++) {
        const uint64_t value = *number_at(hints, numbers[i].at);

        if (value > 0) {
            snprintf(text, sizeof(text), "%" PRIu64, value);
            rc = weft_info_set(info, numbers[i].key, text);
        }
    }
    for (int i = 0; i < CHOICES && rc == WEFT_OK; i++) {
        rc = weft_info_set(info, choices[i].key,
                           choice_names[*choice_at(hints, choices[i].at)]);
    }
    for (int i = 0; i < FIXED && rc == WEFT_OK; i++) {
        rc = weft_info_set(info, fixed[i][0], fixed[i][1]);
    }
    return rc;
}

enum weft_rc weft_file_hints_to_info(const struct weft_file_hints *hints,
                                     struct weft_info **out)
{
    struct weft_file_hints copy = *hints;
    struct weft_info *info;
    enum weft_rc rc = weft_info_create(&info);

    if (rc != WEFT_OK) {
        return rc;
    }
    rc = tell(&copy, info);
    if (rc != WEFT_OK) {
        weft_info_free(info);
        return rc;
    }
    *out = info;
    return WEFT_OK;
}
