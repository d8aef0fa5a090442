/*
 * option.h - the options of a module or a pattern, as a table that documents itself.
 *
 * A table ends with a row whose name is NULL. The core finds `--name` on the command
 * line, checks it against `kind`, and stores the text in `value`, which holds the default
 * until then. `describe` prints the table. The text belongs to the command line, which
 * outlives every reader.
 */
#ifndef GAUGE_OPTION_H
#define GAUGE_OPTION_H

#include <stdbool.h>
#include <stddef.h>

enum gauge_kind {
    GAUGE_TEXT,
    GAUGE_FLAG,   /* takes no value; "yes" when given, "no" else */
    GAUGE_COUNT,  /* a whole number, 0 or more */
    GAUGE_NUMBER, /* any finite number */
    GAUGE_BYTES,  /* a whole number that may end in K, M or G, by 1024 */
};

struct gauge_option {
    const char *name;
    enum gauge_kind kind;
    const char *value;    /* the default, then what the user gave */
    const char *argument; /* what the help calls it; NULL for a flag */
    const char *help;     /* one sentence */
};

/* The row of a name, or NULL. A NULL table is an empty one. */
struct gauge_option *gauge_option_find(struct gauge_option *table, const char *name);

/* Takes a value; NULL, or a sentence in a static buffer that says what is wrong. */
const char *gauge_option_set(struct gauge_option *option, const char *value);

/* The value of an option that exists, by its kind. */
const char *gauge_option_text(struct gauge_option *table, const char *name);
bool gauge_option_flag(struct gauge_option *table, const char *name);
double gauge_option_number(struct gauge_option *table, const char *name);
size_t gauge_option_bytes(struct gauge_option *table, const char *name); /* counts too */

/* Reads one number of bytes, such as 64K, up to `end`; false when it is none. */
bool gauge_bytes_read(const char *text, const char **end, size_t *out);

#endif
