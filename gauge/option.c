/*
 * option.c - finding, checking and reading the options of modules and patterns.
 */
#include "gauge/option.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gauge_option *gauge_option_find(struct gauge_option *table, const char *name)
{
    for (; table != NULL && table->name != NULL; table++) {
        if (strcmp(table->name, name) == 0) {
            return table;
        }
    }
    return NULL;
}

bool gauge_bytes_read(const char *text, const char **end, size_t *out)
{
    char *after = NULL;
    unsigned long long value = 0;
    int shift = 0;

    if (!isdigit((unsigned char)*text)) {
        return false;
    }
    value = strtoull(text, &after, 10);
    switch (*after) {
    case 'K':
        shift = 10;
        break;
    case 'M':
        shift = 20;
        break;
    case 'G':
        shift = 30;
        break;
    default:
        break;
    }
    if (value > (SIZE_MAX >> 1 >> shift)) {
        return false;
    }
    *out = (size_t)value << shift;
    *end = after + (shift > 0 ? 1 : 0);
    return true;
}

static bool is_number(const char *text)
{
    char *end = NULL;
    double value = strtod(text, &end);

    return end != text && *end == '\0' && isfinite(value);
}

static bool fits(enum gauge_kind kind, const char *value)
{
    const char *end = NULL;
    size_t bytes = 0;

    switch (kind) {
    case GAUGE_COUNT:
        return gauge_bytes_read(value, &end, &bytes) && *end == '\0' &&
               isdigit((unsigned char)end[-1]);
    case GAUGE_BYTES:
        return gauge_bytes_read(value, &end, &bytes) && *end == '\0';
    case GAUGE_NUMBER:
        return is_number(value);
    case GAUGE_FLAG:
        return strcmp(value, "yes") == 0 || strcmp(value, "no") == 0;
    case GAUGE_TEXT:
        return true;
    }
    return false;
}

const char *gauge_option_set(struct gauge_option *option, const char *value)
{
    static const char *const wanted[] = {
        [GAUGE_TEXT] = "a text",
        [GAUGE_FLAG] = "yes or no",
        [GAUGE_COUNT] = "a whole number",
        [GAUGE_NUMBER] = "a number",
        [GAUGE_BYTES] = "a number of bytes, such as 64K",
    };
    static char sentence[200];

    if (!fits(option->kind, value)) {
        snprintf(sentence, sizeof(sentence), "--%s wants %s, and got \"%s\"",
                 option->name, wanted[option->kind], value);
        return sentence;
    }
    option->value = value;
    return NULL;
}

const char *gauge_option_text(struct gauge_option *table, const char *name)
{
    struct gauge_option *option = gauge_option_find(table, name);

    assert(option != NULL);
    return option->value;
}

bool gauge_option_flag(struct gauge_option *table, const char *name)
{
    return strcmp(gauge_option_text(table, name), "yes") == 0;
}

double gauge_option_number(struct gauge_option *table, const char *name)
{
    return strtod(gauge_option_text(table, name), NULL);
}

size_t gauge_option_bytes(struct gauge_option *table, const char *name)
{
    const char *end = NULL;
    size_t bytes = 0;

    gauge_bytes_read(gauge_option_text(table, name), &end, &bytes);
    return bytes;
}
