/*
 * ship_list.c - what is to be shipped: programs, named files, and the libraries that the
 * loader finds for them here.
 */
#include "ship.h"

#include "path.h"
#include "ship_loader.h"
#include "texts.h"

#include "info/elf_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What Weft opens when it needs it, and does without where it is not there. */
static const char *const opened_later[] = {
    "libfabric.so.1",
    "libsodium.so.23",
    "libhwloc.so.15",
    "libdw.so.1",
};
static const char own_library[] = "libmpi_abi.so";

enum { DEEPEST = 64 };

/* The list while it is made. */
struct making {
    struct ship *ship;
    const struct plan *plan;
    const char *search; /* LD_LIBRARY_PATH of the ranks, or of those of a program */
    const char *of;     /* the file whose libraries are looked for */
    int group;          /* that its libraries belong to; -1: none */
    bool is_optional;   /* what is not found is left out */
    bool has_failed;
    char own[4096];    /* the path of mpiexec */
    char loader[4096]; /* its loader, for files that name none */
    char *why;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void fail(struct making *making,
                                                       const char *format, ...)
{
    va_list args;

    if (!making->has_failed) {
        va_start(args, format);
        vsnprintf(making->why, making->size, format, args);
        va_end(args);
    }
    making->has_failed = true;
}

/* A copy of `text`, or of nothing; the process ends if there is no memory. */
static char *keep(const char *text)
{
    char *copy = text != NULL ? strdup(text) : NULL;

    if (text != NULL && copy == NULL) {
        perror(program_name);
        exit(1);
    }
    return copy;
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* ---- what a file is ---- */

/* The C library and what comes with it: every host has its own, which fits its kernel. */
static bool is_of_c_library(const char *name)
{
    static const char *const starts[] = {
        "libc.so",   "libm.so",     "libmvec.so",   "libpthread.so",
        "libdl.so",  "librt.so",    "libresolv.so", "libutil.so",
        "libanl.so", "libnsl.so.1", "libnss_",      "ld-linux",
        "ld64.so",   "linux-vdso",  "linux-gate",   "libcrypt.so.1",
    };

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (starts_with(name, starts[i])) {
            return true;
        }
    }
    return false;
}

static bool is_of_system(const char *path)
{
    return starts_with(path, "/lib") || starts_with(path, "/usr/lib");
}

static void note_version(enum elf_version kind, const char *library, const char *version,
                         void *arg)
{
    struct ship_file *file = arg;
    int major = 0;
    int minor = 0;
    char *text;

    if (kind != ELF_VERSION_NEEDED) {
        return;
    }
    if (starts_with(version, "GLIBC_")) {
        if (strcmp(version, "GLIBC_ABI_DT_RELR") == 0) {
            major = 2;
            minor = 36;
        } else if (sscanf(version, "GLIBC_%d.%d", &major, &minor) != 2) {
            return; /* GLIBC_PRIVATE, which says nothing */
        }
        if (file->glibc < 1000 * major + minor) {
            file->glibc = 1000 * major + minor;
        }
    } else if (!is_of_c_library(library) &&
               asprintf(&text, "%s %s", library, version) >= 0) {
        list_add(&file->needs, text);
    }
}

static void read_needs(const char *path, struct ship_file *file)
{
    char loader[4096] = "";
    struct elf_file elf;

    if (elf_open(&elf, AT_FDCWD, path) != NULL) {
        return;
    }
    (void)elf_each_version(&elf, note_version, file);
    if (elf_read_loader(&elf, loader, sizeof(loader)) == NULL && loader[0] != '\0') {
        file->loader = keep(loader);
    }
    elf_close(&elf);
}

/* ---- the list ---- */

static int add_content(struct ship *ship, const struct ship_content *content)
{
    struct ship_content *grown;

    for (int i = 0; i < ship->content_count; i++) {
        if (memcmp(&ship->contents[i], content, sizeof(*content)) == 0) {
            return i;
        }
    }
    grown = realloc(ship->contents, ((size_t)ship->content_count + 1) * sizeof(*content));
    if (grown == NULL) {
        perror(program_name);
        exit(1);
    }
    ship->contents = grown;
    ship->contents[ship->content_count] = *content;
    return ship->content_count++;
}

static int find_file(const struct ship *ship, enum ship_kind kind, const char *name)
{
    for (int i = 0; i < ship->file_count; i++) {
        if ((ship->files[i].kind == SHIP_RUN) == (kind == SHIP_RUN) &&
            strcmp(ship->files[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Reads the file and adds it; its number, or -1 after a line. */
static int add_file(struct making *making, enum ship_kind kind, const char *name,
                    const char *path)
{
    struct ship *ship = making->ship;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct ship_file file = {.kind = kind, .group = making->group};
    struct ship_content content = {.size = 0};
    struct ship_file *grown;
    struct stat st;
    const int old = find_file(ship, kind, name);

    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
        !ship_hash(fd, &content)) {
        fail(making, TEXT_SHIP_READ, path, fd < 0 ? strerror(errno) : TEXT_SHIP_NO_FILE);
    }
    if (fd >= 0) {
        close(fd);
    }
    if (making->has_failed) {
        return -1;
    }
    file.content = add_content(ship, &content);
    if (old >= 0) {
        if (ship->files[old].content != file.content) {
            fail(making, TEXT_SHIP_TWICE, ship->files[old].path, path, name);
        }
        return old;
    }
    file.name = keep(name);
    file.path = keep(path);
    file.mode = (int)st.st_mode & 0777;
    read_needs(path, &file);
    grown = realloc(ship->files, ((size_t)ship->file_count + 1) * sizeof(file));
    if (grown == NULL) {
        perror(program_name);
        exit(1);
    }
    ship->files = grown;
    ship->files[ship->file_count] = file;
    return ship->file_count++;
}

static void add_library(const char *name, const char *path, void *arg)
{
    struct making *making = arg;
    const bool is_own = starts_with(name, own_library);
    const int old = find_file(making->ship, SHIP_LIBRARY, name);
    int added;

    if (is_of_c_library(name) || strchr(name, '/') != NULL) {
        return;
    }
    if (old >= 0) {
        if (making->ship->files[old].group != making->group) {
            making->ship->files[old].group = -1; /* it is for both */
        }
        return;
    }
    if (path == NULL) {
        if (!making->is_optional) {
            fail(making, TEXT_SHIP_LIBRARY, making->of, name);
        }
        return;
    }
    added = add_file(making, is_own || !is_of_system(path) ? SHIP_LIBRARY : SHIP_SYSTEM,
                     name, path);
    if (making->is_optional && making->group < 0 && added >= 0) {
        making->group = added; /* the first is the one that was asked for */
        making->ship->files[added].group = added;
    }
}

/* The libraries of a program or library; of other files there are none. */
static void add_libraries(struct making *making, const char *path)
{
    char loader[4096] = "";
    struct elf_file elf;
    const char *why;

    if (elf_open(&elf, AT_FDCWD, path) != NULL) {
        return;
    }
    why = elf_read_loader(&elf, loader, sizeof(loader));
    elf_close(&elf);
    if (why == NULL) {
        making->of = path;
        loader_list(loader[0] != '\0' ? loader : making->loader, path, making->search,
                    NULL, add_library, making);
    }
}

/*
 * The name that a file gets in its folder: as it was typed, if that leads nowhere else;
 * otherwise its last part. To be freed.
 */
static char *name_for(const char *typed)
{
    char *name = keep(typed[0] == '/' ? "" : typed);
    char *to = name;
    const char *last = strrchr(typed, '/');

    for (const char *from = typed; name[0] != '\0' && *from != '\0';) {
        const size_t length = strcspn(from, "/");

        if (length == 2 && from[0] == '.' && from[1] == '.') {
            name[0] = '\0';
            break;
        }
        if (length > 1 || (length == 1 && from[0] != '.')) {
            memmove(to, from, length);
            to += length;
            *to++ = '/';
        }
        from += length + (from[length] == '/' ? 1 : 0);
    }
    if (name[0] != '\0' && to > name) {
        to[-1] = '\0';
        return name;
    }
    free(name);
    return keep(last != NULL ? last + 1 : typed);
}

/* -wdir on the hosts: their own, if it is absolute; else below the ranks' own folder. */
static const char *folder_for(const char *typed)
{
    const char *name = typed == NULL || typed[0] == '/' ? typed : name_for(typed);

    return name != NULL && (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) ? NULL
                                                                               : name;
}

/* An absolute path, which the loader takes for a file and the host for the same one. */
static char *path_from_root(const char *typed)
{
    char *here = typed[0] == '/' ? NULL : getcwd(NULL, 0);
    char *path;

    if (here == NULL) {
        return keep(typed);
    }
    if (asprintf(&path, "%s/%s", here, typed) < 0) {
        perror(program_name);
        exit(1);
    }
    free(here);
    return path;
}

/* A file that the user has named, or all that is in such a folder. */
static void add_named(struct making *making, const char *name, const char *path,
                      int depth)
{
    DIR *folder = depth < DEEPEST ? opendir(path) : NULL;
    struct dirent *entry;

    if (folder == NULL) {
        if (add_file(making, SHIP_RUN, name, path) >= 0) {
            add_libraries(making, path);
        }
        return;
    }
    while (!making->has_failed && (entry = readdir(folder)) != NULL) {
        char *inside = NULL;
        char *there = NULL;

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        if (asprintf(&inside, "%s/%s", name, entry->d_name) < 0 ||
            asprintf(&there, "%s/%s", path, entry->d_name) < 0) {
            perror(program_name);
            exit(1);
        }
        add_named(making, inside, there, depth + 1);
        free(inside);
        free(there);
    }
    closedir(folder);
}

/* A program that is found by its bare name in one of these is the host's own. */
static bool is_system_program(const char *typed, const char *path)
{
    return strchr(typed, '/') == NULL &&
           (starts_with(path, "/bin/") || starts_with(path, "/sbin/") ||
            starts_with(path, "/usr/bin/") || starts_with(path, "/usr/sbin/"));
}

static int add_program(struct making *making, const struct app *app)
{
    const char *common = making->search;
    const char *own = list_value(&app->set, "LD_LIBRARY_PATH");
    const char *typed = app->argv[0];
    char *path = path_absolute(NULL, typed);
    char *name = name_for(typed);
    int file = -1;

    if (path != NULL && path[0] != '/' && app->wdir != NULL) {
        free(path);
        path = path_absolute(app->wdir, typed);
    }
    if (path == NULL || path[0] != '/' || access(path, X_OK) != 0) {
        fail(making, TEXT_SHIP_PROGRAM, typed);
    } else if (!is_system_program(typed, path)) {
        file = add_file(making, SHIP_RUN, name, path);
        if (file >= 0) {
            making->search = own != NULL ? own : common;
            add_libraries(making, path);
            making->search = common;
        }
    }
    free(path);
    free(name);
    return file;
}

/* Weft's own library, also for programs that do not say that they need it: scripts. */
static void add_own_library(struct making *making)
{
    static const char *const folders[] = {"", "../lib", "../lib64", "../bindings"};
    const char *slash = strrchr(making->own, '/');
    char path[8192];

    if (slash == NULL || find_file(making->ship, SHIP_LIBRARY, "libmpi_abi.so.1") >= 0) {
        return;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, sizeof(path), "%.*s/%s/libmpi_abi.so.1",
                 (int)(slash - making->own), making->own, folders[i]);
        if (access(path, R_OK) == 0) {
            add_file(making, SHIP_LIBRARY, "libmpi_abi.so.1", path);
            return;
        }
    }
}

static void add_opened_later(struct making *making)
{
    for (size_t i = 0; i < sizeof(opened_later) / sizeof(opened_later[0]); i++) {
        if (find_file(making->ship, SHIP_LIBRARY, opened_later[i]) < 0) {
            making->group = -1;
            making->is_optional = true;
            making->of = opened_later[i];
            loader_list(making->loader, making->own, making->search, opened_later[i],
                        add_library, making);
        }
    }
}

static void read_own(struct making *making)
{
    const ssize_t n = readlink("/proc/self/exe", making->own, sizeof(making->own) - 1);
    struct elf_file elf;

    making->own[n > 0 ? n : 0] = '\0';
    if (elf_open(&elf, AT_FDCWD, "/proc/self/exe") == NULL) {
        (void)elf_read_loader(&elf, making->loader, sizeof(making->loader));
        elf_close(&elf);
    }
}

bool ship_list(struct ship *ship, const struct plan *plan, const struct list *environment,
               char *why, size_t size)
{
    struct making making = {.ship = ship, .plan = plan, .group = -1};

    making.why = why;
    making.size = size;
    making.search = list_value(environment, "LD_LIBRARY_PATH");
    memset(ship, 0, sizeof(*ship));
    ship->is_on = true;
    if (plan->is_report) {
        return true;
    }
    read_own(&making);
    ship->apps = calloc((size_t)plan->app_count, sizeof(*ship->apps));
    ship->app_count = ship->apps != NULL ? plan->app_count : 0;
    for (int i = 0; i < ship->app_count && !making.has_failed; i++) {
        ship->apps[i].file = add_program(&making, &plan->apps[i]);
        ship->apps[i].wdir = folder_for(plan->apps[i].wdir);
    }
    for (int i = 0; i < plan->ship_files.count && !making.has_failed; i++) {
        char *name = name_for(plan->ship_files.at[i]);
        char *path = path_from_root(plan->ship_files.at[i]);

        add_named(&making, name, path, 0);
        free(name);
        free(path);
    }
    if (!making.has_failed) {
        add_own_library(&making);
        add_opened_later(&making);
    }
    return !making.has_failed && ship->apps != NULL;
}
