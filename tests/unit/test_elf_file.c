/*
 * test_elf_file.c - what is read from ELF files: this program itself, and damaged copies
 * of it.
 */
#include "unit.h"

#include "info/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DAMAGES = 3000 };

struct seen {
    int imports;
    int libraries;
    bool has_cmocka;
    bool has_assert;
};

static void on_import(const char *name, void *arg)
{
    struct seen *seen = arg;

    seen->imports++;
    seen->has_assert |= strcmp(name, "_assert_true") == 0;
}

static void on_library(enum elf_entry kind, const char *text, void *arg)
{
    struct seen *seen = arg;

    seen->libraries += kind == ELF_NEEDED;
    seen->has_cmocka |= kind == ELF_NEEDED && strncmp(text, "libcmocka.so", 12) == 0;
}

static void imports_and_libraries_of_this_program_are_found(void **state)
{
    struct seen seen = {.imports = 0};
    struct elf_file file;

    (void)state;
    assert_null(elf_open(&file, AT_FDCWD, "/proc/self/exe"));
    assert_null(elf_each_import(&file, on_import, &seen));
    assert_null(elf_each_library(&file, on_library, &seen));
    elf_close(&file);
    assert_true(seen.has_assert);
    assert_true(seen.has_cmocka);
}

struct versions {
    int needed;
    int defined;
    bool has_glibc;
};

static void on_version(enum elf_version kind, const char *library, const char *version,
                       void *arg)
{
    struct versions *versions = arg;

    versions->needed += kind == ELF_VERSION_NEEDED;
    versions->defined += kind == ELF_VERSION_DEFINED;
    versions->has_glibc |= kind == ELF_VERSION_NEEDED &&
                           strncmp(library, "libc.so", 7) == 0 &&
                           strncmp(version, "GLIBC_2.", 8) == 0;
}

/* This program wants versions of the C library, whose loader it names. */
static void versions_and_loader_are_found(void **state)
{
    struct versions versions = {.needed = 0};
    struct versions of_loader = {.needed = 0};
    struct elf_file file;
    char loader[256];
    char cut[4];

    (void)state;
    assert_null(elf_open(&file, AT_FDCWD, "/proc/self/exe"));
    assert_null(elf_each_version(&file, on_version, &versions));
    assert_null(elf_read_loader(&file, loader, sizeof(loader)));
    assert_null(elf_read_loader(&file, cut, sizeof(cut)));
    elf_close(&file);
    assert_true(versions.has_glibc);
    assert_int_equal(loader[0], '/');
    assert_memory_equal(cut, loader, 3);
    assert_int_equal(cut[3], '\0');
    assert_null(elf_open(&file, AT_FDCWD, loader));
    assert_null(elf_each_version(&file, on_version, &of_loader));
    assert_null(elf_read_loader(&file, cut, sizeof(cut)));
    elf_close(&file);
    assert_true(of_loader.defined > 0);
    assert_string_equal(cut, "");
}

static void what_is_no_elf_file_is_said(void **state)
{
    struct seen seen = {.imports = 0};
    struct elf_file file;

    (void)state;
    assert_non_null(elf_open(&file, AT_FDCWD, "/nonexistent"));
    assert_non_null(elf_open(&file, AT_FDCWD, "/proc"));
    assert_non_null(elf_open(&file, AT_FDCWD, "/dev/null"));
    assert_null(elf_open(&file, AT_FDCWD, "/etc/passwd"));
    assert_non_null(elf_each_import(&file, on_import, &seen));
    assert_non_null(elf_each_library(&file, on_library, &seen));
    elf_close(&file);
    assert_int_equal(seen.imports + seen.libraries, 0);
}

/* A few bytes somewhere become others, most of them in the headers and tables. */
static void damage(unsigned char *bytes, size_t size)
{
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(void *)bytes;
    const size_t areas[] = {0, header->e_phoff, header->e_shoff, (size_t)rand() % size};

    for (int i = 1 + rand() % 4; i > 0; i--) {
        const size_t at = areas[rand() % 4] + (size_t)rand() % 512;

        if (at >= 16 && at < size) { /* its kind stays readable */
            bytes[at] = rand() % 2 == 0 ? 0xff : (unsigned char)rand();
        }
    }
}

static void damaged_files_do_no_harm(void **state)
{
    const int source = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const int fd = memfd_create("damaged", MFD_CLOEXEC);
    struct seen seen = {.imports = 0};
    struct versions versions = {.needed = 0};
    char loader[256];
    unsigned char *original;
    unsigned char *copy;
    struct stat st;
    size_t size;

    (void)state;
    assert_int_equal(fstat(source, &st), 0);
    size = (size_t)st.st_size;
    original = mmap(NULL, size, PROT_READ, MAP_PRIVATE, source, 0);
    copy = malloc(size);
    assert_true(original != MAP_FAILED && copy != NULL);
    srand(1);
    for (int i = 0; i < DAMAGES; i++) {
        const size_t kept = rand() % 8 == 0 ? (size_t)rand() % size + 1 : size;
        struct elf_file file = {.fd = fd, .size = kept};

        memcpy(copy, original, size);
        damage(copy, size);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, copy, kept, 0), (ssize_t)kept);
        (void)elf_each_import(&file, on_import, &seen);
        (void)elf_each_library(&file, on_library, &seen);
        (void)elf_each_version(&file, on_version, &versions);
        (void)elf_read_loader(&file, loader, sizeof(loader));
    }
    assert_true(versions.needed > 0);
    assert_true(seen.imports > 0 && seen.libraries > 0);
    munmap(original, size);
    free(copy);
    close(fd);
    close(source);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(imports_and_libraries_of_this_program_are_found),
        cmocka_unit_test(versions_and_loader_are_found),
        cmocka_unit_test(what_is_no_elf_file_is_said),
        cmocka_unit_test(damaged_files_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
