/*
 * settings.h - every setting of the library, in one table that prints its own
 * documentation (weft-info --settings).
 *
 * A setting is an environment variable, which a file may set where the environment does
 * not (settings_file.h). All are read when the library is opened for the first time, by
 * the thread that opens it: what the program does to its environment later has no effect,
 * and does not race with the library's own threads. Before that, as in mpiexec, each call
 * reads the environment. An unusable value is replaced by the default;
 * weft_settings_warn() reports it. The table stays under forty entries: a good default
 * beats a knob.
 */
#ifndef WEFT_BASE_SETTINGS_H
#define WEFT_BASE_SETTINGS_H

#include <stdint.h>

enum weft_setting {
    WEFT_SET_LOG,
    WEFT_SET_CHECKSUM,
    WEFT_SET_PROGRESS,
    WEFT_SET_HEARTBEAT,
    WEFT_SET_GRACE,
    WEFT_SET_WARM,
    WEFT_SET_STREAMS,
    WEFT_SET_RECEIVE_POOL,
    WEFT_SET_LONG,
    WEFT_SET_TRANSPORT,
    WEFT_SET_CONNECT,
    WEFT_SET_REPRODUCIBLE,
    WEFT_SET_RMA,
    WEFT_SET_NET,
    WEFT_SET_PORTS,
    WEFT_SET_COLL,
    WEFT_SET_RSH,
    WEFT_SET_COUNT,
    WEFT_SET_NUMBERS = WEFT_SET_NET, /* those before it are numbers or words, and
                                      * MPI_T shows them; the others are texts */
};

/* WEFT_SET_RMA. */
enum { WEFT_RMA_AUTO, WEFT_RMA_MESSAGES };

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

/* Sets a value that all later calls return, whatever the environment says. The row must
 * accept it. */
void weft_setting_write(enum weft_setting which, int64_t value);

/*
 * Reads all settings, of the environment or as offered, and keeps their values. Later
 * calls do nothing. A setting that cannot be kept for lack of memory has its default.
 */
void weft_settings_keep(void);

/* Where the value in force comes from. */
enum weft_setting_from {
    WEFT_FROM_DEFAULT,
    WEFT_FROM_SITE, /* the file of this installation */
    WEFT_FROM_USER, /* the file of the user */
    WEFT_FROM_ENVIRONMENT,
};

struct weft_setting_origin {
    enum weft_setting_from from;
    const char *path; /* of the file, which lives as long as the process; NULL: none */
    int line;
};

struct weft_setting_origin weft_setting_origin(enum weft_setting which);

/*
 * What a file says of a setting, which counts where the environment does not name it. A
 * later call takes the place of an earlier one. Before weft_settings_keep(); without
 * memory for it, nothing is offered.
 */
void weft_setting_offer(enum weft_setting which, const char *text,
                        enum weft_setting_from from, const char *path, int line);

/* The text of a file that counts; NULL: there is none. */
const char *weft_setting_offered(enum weft_setting which);

/* The value in force in this process. */
int64_t weft_setting(enum weft_setting which);

/*
 * The setting whose name is nearest to that of this variable; NULL: `name` is a setting,
 * or no setting has a similar name.
 */
const char *weft_setting_nearest(const char *name);

/*
 * Prints one line for each NAME=VALUE of a list that looks like a misspelt setting, which
 * has no effect, or is one with an unusable value. `who` begins the lines. It is called
 * once for a job: by mpiexec, and by rank 0 under other launchers.
 */
void weft_settings_warn(const char *who, char *const *entries);

/* The text of a setting; the caller checks it. Never NULL. */
const char *weft_setting_text(enum weft_setting which);

/*
 * The value in force as a user would write it, for every kind of row. The text is in
 * `room`, or lives as long as that of weft_setting_text().
 */
enum { WEFT_SETTING_ROOM = 32 };
const char *weft_setting_say(enum weft_setting which, char room[WEFT_SETTING_ROOM]);

#endif
