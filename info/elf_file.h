/*
 * elf_file.h - what a 64-bit ELF file of this machine's byte order imports and links.
 *
 * The file is not trusted. It is read by pread(), so that one that shrinks meanwhile does
 * no harm. Every offset is checked against its size, and every name must end inside its
 * table. Functions that can fail return NULL for success, or the reason as a text that
 * stays valid.
 */
#ifndef WEFT_INFO_ELF_FILE_H
#define WEFT_INFO_ELF_FILE_H

#include <stddef.h>
#include <stdint.h>

struct elf_file {
    int fd;
    uint64_t size;
};

/* What the dynamic section says of libraries. */
enum elf_entry {
    ELF_NEEDED, /* the name of a library that is linked */
    ELF_PATH,   /* folders in which libraries are looked for, separated by ':' */
};

/*
 * Opens the file at `path`, which a relative path takes from the folder `at` (AT_FDCWD:
 * the current one). The caller closes it. On failure nothing is open.
 */
const char *elf_open(struct elf_file *file, int at, const char *path);
void elf_close(struct elf_file *file);

/* Calls `found` once for each imported symbol. The name is valid during the call. */
const char *elf_each_import(const struct elf_file *file,
                            void (*found)(const char *name, void *arg), void *arg);

/*
 * Calls `found` once for each entry of the dynamic section that names libraries. The text
 * is valid during the call. A file that is linked statically has none, and that is no
 * failure.
 */
const char *elf_each_library(const struct elf_file *file,
                             void (*found)(enum elf_entry kind, const char *text,
                                           void *arg),
                             void *arg);

/* What a file says of versions of symbols. */
enum elf_version {
    ELF_VERSION_NEEDED,  /* it wants this version of `library` */
    ELF_VERSION_DEFINED, /* it has it; `library` is NULL */
};

/* Calls `found` once for each version of symbols. The texts are valid during the call. */
const char *elf_each_version(const struct elf_file *file,
                             void (*found)(enum elf_version kind, const char *library,
                                           const char *version, void *arg),
                             void *arg);

/* The loader that the file names, which it shortens to fit; empty if it names none. */
const char *elf_read_loader(const struct elf_file *file, char *loader, size_t size);

#endif
