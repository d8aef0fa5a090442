#include "linked.h"

#include "elf_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "."
#endif

/* Where the loader looks at last; the libraries of its cache are usually here. */
static const char usual_places[] = "/lib/" MULTIARCH ":/usr/lib/" MULTIARCH
                                   ":/lib64:/usr/lib64:/lib:/usr/lib:/usr/local/lib";

enum { MOST_LIBRARIES = 64 };

/* What is known of a file: the libraries it is linked with. */
struct libraries {
    char names[MOST_LIBRARIES][LINKED_NAME];
    int count;
    char path[1024]; /* its own list of folders */
};

static bool starts_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

static bool is_mpi_library(const char *name)
{
    return (starts_with(name, "libmpi.so") || starts_with(name, "libmpich") ||
            starts_with(name, "libmpifort.so") || starts_with(name, "libmpicxx.so") ||
            starts_with(name, "libmpi_")) &&
           !starts_with(name, "libmpi_abi.so");
}

/* Whose it is, as far as the name tells. MPICH's relatives have its name or number. */
static const char *owner_of(const char *name)
{
    const bool is_mpich =
        strstr(name, "mpich") != NULL || strstr(name, ".so.12") != NULL ||
        !(starts_with(name, "libmpi.so") || starts_with(name, "libmpi_"));

    return is_mpich ? "MPICH or a relative of it" : "Open MPI";
}

static bool is_fortran(const char *name)
{
    return strstr(name, "fort") != NULL || strstr(name, "mpifh") != NULL ||
           strstr(name, "usempi") != NULL;
}

/* Part of every program, and linked with no MPI: not worth a look. */
static bool is_harmless(const char *name)
{
    static const char *const starts[] = {
        "libc.so.",    "libm.so.",       "libdl.so.",      "librt.so.",
        "ld-linux",    "libpthread.so.", "libgcc_s.so.",   "libstdc++.so.",
        "libgomp.so.", "libmpi_abi.so",  "libgfortran.so", "libquadmath.so",
    };

    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        if (starts_with(name, starts[i])) {
            return true;
        }
    }
    return false;
}

static void note(enum elf_entry kind, const char *text, void *arg)
{
    struct libraries *libraries = arg;

    if (kind == ELF_PATH) {
        snprintf(libraries->path, sizeof(libraries->path), "%s", text);
    } else if (libraries->count < MOST_LIBRARIES) {
        snprintf(libraries->names[libraries->count++], LINKED_NAME, "%s", text);
    }
}

/* False if the file cannot be opened; a file of another kind has no libraries. */
static bool read_libraries(int at, const char *path, struct libraries *libraries)
{
    struct elf_file file;

    libraries->count = 0;
    libraries->path[0] = '\0';
    if (elf_open(&file, at, path) != NULL) {
        return false;
    }
    if (elf_each_library(&file, note, libraries) != NULL) {
        libraries->count = 0;
    }
    elf_close(&file);
    return true;
}

/* The first MPI library of another kind, or NULL. */
static const char *find_mpi(const struct libraries *libraries)
{
    for (int i = 0; i < libraries->count; i++) {
        if (is_mpi_library(libraries->names[i])) {
            return libraries->names[i];
        }
    }
    return NULL;
}

/*
 * Makes PATH/NAME of the next folder of a list; false at its end. `$ORIGIN` is the folder
 * of the program.
 */
static bool next_candidate(const char **list, const char *name, const char *origin,
                           char *path, size_t size)
{
    static const char *const words[] = {"$ORIGIN", "${ORIGIN}"};
    size_t length;

    if (*list == NULL) {
        return false;
    }
    length = strcspn(*list, ":");
    snprintf(path, size, "%.*s/%s", (int)length, length > 0 ? *list : ".", name);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        const size_t word = strlen(words[i]);

        if (length >= word && strncmp(*list, words[i], word) == 0) {
            snprintf(path, size, "%s%.*s/%s", origin, (int)(length - word), *list + word,
                     name);
        }
    }
    *list = (*list)[length] == ':' ? *list + length + 1 : NULL;
    return true;
}

/* A program's file, and what it takes to find its libraries. */
struct program {
    int folder;         /* from which its path leads */
    const char *path;   /* of its file */
    char origin[4096];  /* folder of the file; empty: not known yet */
    const char *search; /* LD_LIBRARY_PATH of its ranks; NULL: none */
};

/* Where $ORIGIN points: links are followed, as the loader does. */
static void find_origin(struct program *program)
{
    char link[64];
    const int fd = openat(program->folder, program->path, O_PATH | O_CLOEXEC);
    ssize_t n;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    n = fd >= 0 ? readlink(link, program->origin, sizeof(program->origin) - 1) : -1;
    program->origin[n > 0 ? n : 0] = '\0';
    if (n > 0 && strrchr(program->origin, '/') != NULL) {
        *strrchr(program->origin, '/') = '\0';
    }
    if (fd >= 0) {
        close(fd);
    }
}

static bool read_library(struct program *program, const char *own, const char *name,
                         struct libraries *libraries)
{
    const char *const lists[] = {program->search, own, usual_places};

    if (program->origin[0] == '\0') {
        find_origin(program);
    }
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        const char *list = lists[i] != NULL && lists[i][0] != '\0' ? lists[i] : NULL;
        char path[8192];

        while (next_candidate(&list, name, program->origin, path, sizeof(path))) {
            if (read_libraries(program->folder, path, libraries)) {
                return true;
            }
        }
    }
    return false;
}

static void fill(struct linked *linked, const char *mpi, const char *through)
{
    snprintf(linked->library, sizeof(linked->library), "%s", mpi);
    snprintf(linked->through, sizeof(linked->through), "%s", through);
    linked->owner = owner_of(mpi);
    linked->is_fortran = is_fortran(mpi);
}

/* Looks for an MPI library among those that the program's own libraries are linked with.
 */
static bool look_deeper(struct program *program, const struct libraries *direct,
                        struct linked *linked)
{
    struct libraries *indirect = malloc(sizeof(*indirect));
    bool is_found = false;

    if (indirect == NULL) {
        return false;
    }
    for (int i = 0; i < direct->count && !is_found; i++) {
        const char *mpi = NULL;

        if (!is_harmless(direct->names[i]) && strchr(direct->names[i], '/') == NULL &&
            read_library(program, direct->path, direct->names[i], indirect)) {
            mpi = find_mpi(indirect);
        }
        if (mpi != NULL) {
            fill(linked, mpi, direct->names[i]);
            is_found = true;
        }
    }
    free(indirect);
    return is_found;
}

bool linked_with_mpi(int folder, const char *path, const char *search,
                     struct linked *linked)
{
    struct program program = {.folder = folder, .path = path, .search = search};
    struct libraries *direct = malloc(sizeof(*direct));
    bool is_found = false;

    if (direct != NULL && read_libraries(folder, path, direct)) {
        const char *mpi = find_mpi(direct);

        if (mpi != NULL) {
            fill(linked, mpi, "");
        }
        is_found = mpi != NULL || look_deeper(&program, direct, linked);
    }
    free(direct);
    return is_found;
}
