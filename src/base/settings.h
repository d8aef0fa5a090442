/*
 * settings.h - every setting of the library, in one table that prints its own
 * documentation (weft-info, docs/settings.md).
 *
 * A setting is an environment variable. All are read when the library is opened for the
 * first time, by the thread that opens it: what the program does to its environment later
 * has no effect, and does not race with the library's own threads. Before that, as in
 * mpiexec, the environment is asked each time. An unusable value is reported in one line
 * and replaced by the default. The library keeps
 * this table under forty entries: a good default beats a knob.
 */
#ifndef WEFT_BASE_SETTINGS_H
#define WEFT_BASE_SETTINGS_H

#include <stdint.h>

enum weft_setting {
    WEFT_SET_LOG,
    WEFT_SET_CHECKSUM,
    WEFT_SET_PROGRESS,
    WEFT_SET_HEARTBEAT,
    WEFT_SET_WARM,
    WEFT_SET_STREAMS,
    WEFT_SET_LONG,
    WEFT_SET_NET,
    WEFT_SET_PORTS,
    WEFT_SET_TRANSPORT,
    WEFT_SET_CONNECT,
    WEFT_SET_COUNT,
    WEFT_SET_NUMBERS = WEFT_SET_NET, /* those before it are numbers or words */
};

struct weft_setting_row {
    const char *name;     /* of the environment variable */
    const char *unit;     /* "level", "bytes", "flag", ... */
    const char *fallback; /* the default, as a user would write it */
    const char *values;   /* accepted words, separated by '|'; NULL: a number; "": text */
    const char *meaning;  /* one honest sentence, with what it costs */
};

/* The row of a setting, for printing. */
const struct weft_setting_row *weft_setting_row(enum weft_setting which);

/*
 * The value in force: the position of the word in `values`, or the number. `source` is
 * what the environment says, or NULL where it says nothing; passing it in keeps this
 * free of hidden state and lets tests ask.
 */
int64_t weft_setting_parse(enum weft_setting which, const char *source, int *is_bad);

/*
 * Puts a value in place of what the environment says, for those who ask from now on. It
 * must be one that the row accepts.
 */
void weft_setting_write(enum weft_setting which, int64_t value);

/*
 * Reads them all: from now on what the environment says now is what it has said. Later
 * calls do nothing. What cannot be kept for lack of memory has its default.
 */
void weft_settings_keep(void);

/* The value in force in this process. */
int64_t weft_setting(enum weft_setting which);

/*
 * The name of the setting that a variable of this name was probably meant to be; NULL: it
 * is a setting, or nothing like one.
 */
const char *weft_setting_nearest(const char *name);

/* Says in one line for each variable of the environment that is a misspelt setting that
 * it has no effect. */
void weft_settings_warn(void);

/* The text of a setting; the caller checks it. Never NULL. */
const char *weft_setting_text(enum weft_setting which);

#endif
