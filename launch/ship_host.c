#include "ship_host.h"

#include "texts.h"

#include "info/elf_file.h"

#include <fcntl.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the libraries of this host ---- */

#define CACHE "/etc/ld.so.cache"

static void ignore(enum elf_version kind, const char *library, const char *version,
                   void *arg)
{
    (void)kind;
    (void)library;
    (void)version;
    (void)arg;
}

/* Can a program of ours use it? A host may have the name for other programs only. */
static bool is_library(const char *path)
{
    struct elf_file file;
    const char *why = elf_open(&file, AT_FDCWD, path);

    if (why == NULL) {
        why = elf_each_version(&file, ignore, NULL);
        elf_close(&file);
    }
    return why == NULL;
}

/* Looks for ".../NAME" in the loader's cache, whose texts are paths. */
static bool find_in_cache(const char *name, char *path, size_t size)
{
    const int fd = open(CACHE, O_RDONLY | O_CLOEXEC);
    struct stat st;
    const char *cache = MAP_FAILED;
    char word[300];
    const int length = snprintf(word, sizeof(word), "/%s", name) + 1;
    bool is_found = false;

    if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size > 0) {
        cache = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    for (const char *at = cache; cache != MAP_FAILED && !is_found;) {
        const char *end = cache + st.st_size;
        const char *hit = memmem(at, (size_t)(end - at), word, (size_t)length);
        const char *begin = hit;

        if (hit == NULL) {
            break;
        }
        while (begin > cache && begin[-1] != '\0') {
            begin--;
        }
        snprintf(path, size, "%s", begin);
        is_found = path[0] == '/' && is_library(path);
        at = hit + length;
    }
    if (cache != MAP_FAILED) {
        munmap((void *)(uintptr_t)cache, (size_t)st.st_size);
    }
    if (fd >= 0) {
        close(fd);
    }
    return is_found;
}

static bool find_library(const char *name, char *path, size_t size)
{
    static const char *const folders[] = {
#if defined(__x86_64__)
        "/lib/x86_64-linux-gnu",
        "/usr/lib/x86_64-linux-gnu",
#elif defined(__aarch64__)
        "/lib/aarch64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
#endif
        "/lib64",
        "/usr/lib64",
        "/lib",
        "/usr/lib",
    };

    if (find_in_cache(name, path, size)) {
        return true;
    }
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        snprintf(path, size, "%s/%s", folders[i], name);
        if (is_library(path)) {
            return true;
        }
    }
    return false;
}

struct wanted {
    const char *version;
    bool is_there;
};

static void compare(enum elf_version kind, const char *library, const char *version,
                    void *arg)
{
    struct wanted *wanted = arg;

    (void)library;
    wanted->is_there |=
        kind == ELF_VERSION_DEFINED && strcmp(version, wanted->version) == 0;
}

static bool has_version(const char *path, const char *version)
{
    struct wanted wanted = {.version = version};
    struct elf_file file;

    if (elf_open(&file, AT_FDCWD, path) != NULL) {
        return false;
    }
    (void)elf_each_version(&file, compare, &wanted);
    elf_close(&file);
    return wanted.is_there;
}

/* Does this host have a library of that name, with all that is wanted of it? */
static bool has_library(const struct ship *ship, const char *name)
{
    const size_t length = strlen(name);
    char path[4096];

    if (!find_library(name, path, sizeof(path))) {
        return false;
    }
    for (int i = 0; i < ship->file_count; i++) {
        const struct list *needs = &ship->files[i].needs;

        for (int n = 0; n < needs->count; n++) {
            if (strncmp(needs->at[n], name, length) == 0 && needs->at[n][length] == ' ' &&
                !has_version(path, needs->at[n] + length + 1)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- what is taken ---- */

static int own_glibc(void)
{
    int major = 0;
    int minor = 0;

    return sscanf(gnu_get_libc_version(), "%d.%d", &major, &minor) == 2
               ? 1000 * major + minor
               : 0;
}

/* Leaves out groups whose first file the host has, or cannot run. */
static void leave_groups_out(const struct ship *ship, bool *is_taken)
{
    for (int i = 0; i < ship->file_count; i++) {
        const int group = ship->files[i].group;

        if (group >= 0 && is_taken[i] && ship->files[i].glibc > own_glibc()) {
            is_taken[group] = false;
        }
    }
    for (int i = 0; i < ship->file_count; i++) {
        const int group = ship->files[i].group;

        if (group >= 0 && !is_taken[group]) {
            is_taken[i] = false;
        }
    }
}

bool ship_choose(const struct ship *ship, const char *host, bool *is_taken, char *why,
                 size_t size)
{
    for (int i = 0; i < ship->file_count; i++) {
        const struct ship_file *file = &ship->files[i];

        is_taken[i] = file->kind != SHIP_SYSTEM || !has_library(ship, file->name);
    }
    leave_groups_out(ship, is_taken);
    for (int i = 0; i < ship->file_count; i++) {
        const struct ship_file *file = &ship->files[i];

        if (is_taken[i] && file->glibc > own_glibc()) {
            snprintf(why, size, TEXT_SHIP_GLIBC, host, gnu_get_libc_version(), file->name,
                     file->glibc / 1000, file->glibc % 1000);
            return false;
        }
        if (is_taken[i] && file->loader != NULL && access(file->loader, X_OK) != 0) {
            snprintf(why, size, TEXT_SHIP_LOADER, host, file->loader, file->name);
            return false;
        }
    }
    return true;
}

int ship_find_here(const struct ship *ship, const struct ship_file *file)
{
    struct stat st;
    const int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
                    (uint64_t)st.st_size != ship->contents[file->content].size)) {
        close(fd);
        return -1;
    }
    return fd;
}
