/*
 * settings_file.h - settings from files: the site's, weft.conf in the folder for settings
 * of this installation, and the user's, weft/weft.conf in XDG_CONFIG_HOME or ~/.config.
 *
 * A line is NAME = value, with the name that the setting has in the environment: so one
 * name is searched for, and a line that works in one place works in the others. A blank
 * and # begin a comment. The user's file goes before the site's, and the environment
 * before both (weft_setting_offer).
 *
 * A file is read by mpiexec, which passes the values on, so that a thousand ranks do not
 * open it; and by a rank that mpiexec has not started. It must be a regular file of at
 * most WEFT_SETTINGS_BYTES that belongs to root or to the user (the site's may belong to
 * the owner of Weft) and that not everybody may write: another user steers no job. With
 * other rights than the caller's own, as in a setuid program, the user's file is not
 * looked for. What is wrong is kept until it is asked for. Not for several threads.
 */
#ifndef WEFT_BASE_SETTINGS_FILE_H
#define WEFT_BASE_SETTINGS_FILE_H

#include "base/settings.h"

#include <stddef.h>
#include <sys/types.h>

enum { WEFT_SETTINGS_BYTES = 64 * 1024 };

/* Folders of an installation: below its prefix, unless they begin with '/'. The prefix
 * itself is not known, so that an installation can be moved. */
struct weft_places {
    const char *bindir;
    const char *libdir;
    const char *sysconfdir;
};

/*
 * Calls `found` for each line that is neither empty nor a comment. `name` and `value` are
 * valid during the call; both are NULL if the line is of another form. Lines are counted
 * from 1.
 */
typedef void weft_settings_line_fn(void *arg, int line, const char *name,
                                   const char *value);
void weft_settings_parse(const char *text, size_t bytes, weft_settings_line_fn *found,
                         void *arg);

/*
 * Offers the settings of one file. It may also belong to the user `also`; -1: to nobody
 * else. A file that is not there has none, and that is no fault.
 */
void weft_settings_read_file(const char *path, enum weft_setting_from from, uid_t also);

/*
 * Reads both files. The prefix is that below which the object that this code is part of
 * lies in `bindir` or `libdir`. If it lies elsewhere, as a program that is linked with
 * the static library does, only a `sysconfdir` that begins with '/' has a file of the
 * site.
 */
void weft_settings_read_files(const struct weft_places *places);

/* Prints what was wrong with files, in one line each, and forgets it. */
void weft_settings_complain(const char *who);

#endif
