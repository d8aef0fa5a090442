#include "base/settings_file.h"

#include "base/texts.h"

#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is wrong ---- */

enum { COMPLAINTS_MOST = 8, COMPLAINT_BYTES = 512, SHOWN_BYTES = 48 };

static struct {
    char lines[COMPLAINTS_MOST][COMPLAINT_BYTES];
    int count;   /* of both files: each has half of the room */
    int of_file; /* of the file that is read, also those without room */
} complaints;

static void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void complain(const char *format, ...)
{
    va_list args;

    complaints.of_file++;
    if (complaints.of_file > COMPLAINTS_MOST / 2 || complaints.count == COMPLAINTS_MOST) {
        return; /* the rest is counted */
    }
    va_start(args, format);
    vsnprintf(complaints.lines[complaints.count++], COMPLAINT_BYTES, format, args);
    va_end(args);
}

void weft_settings_complain(const char *who)
{
    for (int i = 0; i < complaints.count; i++) {
        fprintf(stderr, "%s: %s\n", who, complaints.lines[i]);
    }
    complaints.count = 0;
}

/* A word of a file, as it may be shown: short, and without what moves a cursor. */
static const char *shown(const char *word, char room[SHOWN_BYTES])
{
    size_t n = 0;

    for (; word[n] != '\0' && n < SHOWN_BYTES - 1; n++) {
        room[n] = word[n] >= ' ' && word[n] <= '~' ? word[n] : '?';
    }
    room[n] = '\0';
    return room;
}

/* ---- lines ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Ends the line before a comment and before the blanks in front of that. */
static void cut_end(char *line)
{
    size_t length;

    for (char *at = line; *at != '\0'; at++) {
        if (*at == '#' && (at == line || is_blank(at[-1]))) {
            *at = '\0';
            break;
        }
    }
    for (length = strlen(line); length > 0 && is_blank(line[length - 1]); length--) {
        line[length - 1] = '\0';
    }
}

static char *skip_blanks(char *at)
{
    while (is_blank(*at)) {
        at++;
    }
    return at;
}

/* Takes a line apart; false if it is of another form. `line` is changed. */
static bool split(char *line, char **name, char **value)
{
    char *equals = strchr(line, '=');
    char *end = equals;

    if (equals == NULL) {
        return false;
    }
    while (end > line && is_blank(end[-1])) {
        end--;
    }
    *end = '\0';
    *name = line;
    *value = skip_blanks(equals + 1);
    return **name != '\0' && strpbrk(*name, " \t\r\v\f") == NULL;
}

void weft_settings_parse(const char *text, size_t bytes, weft_settings_line_fn *found,
                         void *arg)
{
    int number = 0;

    while (bytes > 0) {
        const char *end = memchr(text, '\n', bytes);
        const size_t length = end != NULL ? (size_t)(end - text) : bytes;
        char *copy = strndup(text, length);
        char *line;
        char *name;
        char *value;

        number++;
        if (copy == NULL) {
            return;
        }
        line = skip_blanks(copy);
        cut_end(line);
        if (memchr(text, '\0', length) != NULL) {
            found(arg, number, NULL, NULL);
        } else if (*line != '\0') {
            const bool is_whole = split(line, &name, &value);

            found(arg, number, is_whole ? name : NULL, is_whole ? value : NULL);
        }
        free(copy);
        text += length + (end != NULL ? 1 : 0);
        bytes -= length + (end != NULL ? 1 : 0);
    }
}

/* ---- one file ---- */

struct source {
    const char *path;
    enum weft_setting_from from;
};

static int find(const char *name)
{
    for (int i = 0; i < WEFT_SET_COUNT; i++) {
        if (strcmp(weft_setting_row((enum weft_setting)i)->name, name) == 0) {
            return i;
        }
    }
    return -1;
}

static void complain_of_name(const char *path, int line, const char *name)
{
    const char *nearest = weft_setting_nearest(name);
    char room[SHOWN_BYTES];

    if (nearest != NULL) {
        complain(WEFT_S_FILE_NAME, path, line, shown(name, room), nearest);
    } else {
        complain(WEFT_S_FILE_UNKNOWN, path, line, shown(name, room));
    }
}

static void take_line(void *arg, int line, const char *name, const char *value)
{
    const struct source *source = arg;
    const int which = name != NULL ? find(name) : -1;
    char room[SHOWN_BYTES];
    int is_bad = 0;

    if (name == NULL) {
        complain(WEFT_S_FILE_LINE, source->path, line);
        return;
    }
    if (which < 0) {
        complain_of_name(source->path, line, name);
        return;
    }
    (void)weft_setting_parse((enum weft_setting)which, value, &is_bad);
    if (is_bad) {
        const struct weft_setting_row *row = weft_setting_row((enum weft_setting)which);

        if (row->values != NULL) {
            complain(WEFT_S_FILE_WORD, source->path, line, name, shown(value, room),
                     row->values);
        } else {
            complain(WEFT_S_FILE_NUMBER, source->path, line, name, shown(value, room),
                     row->unit);
        }
        return;
    }
    weft_setting_offer((enum weft_setting)which, value, source->from, source->path, line);
}

/*
 * Is the file's group no more than its owner, or root? With a umask of 002 all files may
 * be written by their group, which many systems give each user for itself, with the
 * user's number. To look for other members would need the system's directory of users.
 */
static bool is_own_group(const struct stat *st)
{
    return st->st_gid == 0 || st->st_gid == st->st_uid;
}

/* May this file steer us? Else it has been complained about. */
static bool is_trusted(const char *path, const struct stat *st, uid_t also)
{
    if (!S_ISREG(st->st_mode)) {
        complain(WEFT_S_FILE_KIND, path);
    } else if (st->st_uid != 0 && st->st_uid != getuid() && st->st_uid != also) {
        complain(WEFT_S_FILE_OWNER, path, (unsigned)st->st_uid);
    } else if ((st->st_mode & S_IWOTH) != 0) {
        complain(WEFT_S_FILE_OPEN, path);
    } else if ((st->st_mode & S_IWGRP) != 0 && !is_own_group(st)) {
        complain(WEFT_S_FILE_GROUP, path, (unsigned)st->st_gid);
    } else if (st->st_size > WEFT_SETTINGS_BYTES) {
        complain(WEFT_S_FILE_LARGE, path, WEFT_SETTINGS_BYTES / 1024);
    } else {
        return true;
    }
    return false;
}

/* All of it; -1 with errno set. One that has grown since we looked is cut. */
static ssize_t read_all(int fd, char *text, size_t size)
{
    size_t count = 0;

    while (count < size) {
        const ssize_t n = read(fd, text + count, size - count);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return n < 0 ? -1 : (ssize_t)count;
        }
        count += (size_t)n;
    }
    return (ssize_t)count;
}

static void read_open(int fd, const struct source *source, uid_t also)
{
    struct source copy = *source;
    char *text = malloc(WEFT_SETTINGS_BYTES);
    struct stat st;
    ssize_t n;

    if (text == NULL || fstat(fd, &st) != 0) {
        complain(WEFT_S_FILE_CLOSED, source->path, strerror(errno));
    } else if (is_trusted(source->path, &st, also)) {
        n = read_all(fd, text, WEFT_SETTINGS_BYTES);
        if (n < 0) {
            complain(WEFT_S_FILE_CLOSED, source->path, strerror(errno));
        } else {
            weft_settings_parse(text, (size_t)n, take_line, &copy);
        }
    }
    free(text);
}

void weft_settings_read_file(const char *path, enum weft_setting_from from, uid_t also)
{
    const struct source source = {.path = path, .from = from};
    /* A fifo would otherwise keep us waiting for a writer. */
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    complaints.of_file = 0;
    if (fd >= 0) {
        read_open(fd, &source, also);
        close(fd);
    } else if (errno != ENOENT && errno != ENOTDIR) {
        complain(WEFT_S_FILE_CLOSED, path, strerror(errno));
    }
    if (complaints.of_file > COMPLAINTS_MOST / 2) {
        snprintf(complaints.lines[complaints.count - 1], COMPLAINT_BYTES,
                 WEFT_S_FILE_MORE, path, complaints.of_file - COMPLAINTS_MOST / 2 + 1);
    }
}

/* ---- both ---- */

/* The object that this code is part of: a program, or the library. */
static bool own_object(char path[PATH_MAX])
{
    const struct link_map *map = NULL;
    Dl_info info;
    void *extra = NULL;

    if (dladdr1((void *)(uintptr_t)&own_object, &info, &extra, RTLD_DL_LINKMAP) != 0) {
        map = extra;
    }
    return realpath(map != NULL && map->l_name[0] != '\0' ? map->l_name
                                                          : "/proc/self/exe",
                    path) != NULL;
}

/* Cuts FOLDER/NAME off PREFIX/FOLDER/NAME; false if it is none. */
static bool cut_folder(char *path, const char *folder)
{
    char *slash = strrchr(path, '/');
    const size_t length = strlen(folder);
    size_t left;

    if (slash == NULL) {
        return false;
    }
    left = (size_t)(slash - path);
    if (folder[0] == '/' || left <= length || path[left - length - 1] != '/' ||
        strncmp(path + left - length, folder, length) != 0) {
        return false;
    }
    path[left - length - 1] = '\0';
    return true;
}

static void read_site(const struct weft_places *places)
{
    char object[PATH_MAX];
    char path[PATH_MAX + 256];
    struct stat st;
    const bool is_known = own_object(object);
    const uid_t owner = is_known && stat(object, &st) == 0 ? st.st_uid : (uid_t)-1;

    if (places->sysconfdir[0] == '/') {
        snprintf(path, sizeof(path), "%s/weft.conf", places->sysconfdir);
    } else if (is_known && (cut_folder(object, places->bindir) ||
                            cut_folder(object, places->libdir))) {
        snprintf(path, sizeof(path), "%s/%s/weft.conf", object, places->sysconfdir);
    } else {
        return;
    }
    weft_settings_read_file(path, WEFT_FROM_SITE, owner);
}

static void read_user(void)
{
    const char *folder = secure_getenv("XDG_CONFIG_HOME");
    const char *home = secure_getenv("HOME");
    char path[PATH_MAX];
    int n = 0;

    if (folder != NULL && folder[0] == '/') {
        n = snprintf(path, sizeof(path), "%s/weft/weft.conf", folder);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(path, sizeof(path), "%s/.config/weft/weft.conf", home);
    }
    if (n > 0 && n < (int)sizeof(path)) {
        weft_settings_read_file(path, WEFT_FROM_USER, (uid_t)-1);
    }
}

void weft_settings_read_files(const struct weft_places *places)
{
    read_site(places);
    read_user(); /* what it offers takes the place of what the site's does */
}
