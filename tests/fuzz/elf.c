/* elf.c - programs that weft-info --uses and mpiexec look into: any bytes as an ELF file.
 */
#include "fuzz.h"

#include "elf_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static void on_import(const char *name, void *bytes)
{
    *(size_t *)bytes += strlen(name);
}

static void on_library(enum elf_entry kind, const char *text, void *bytes)
{
    (void)kind;
    *(size_t *)bytes += strlen(text);
}

static void on_version(enum elf_version kind, const char *library, const char *version,
                       void *bytes)
{
    (void)kind;
    *(size_t *)bytes += strlen(version) + (library != NULL ? strlen(library) : 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int fd = memfd_create("elf", 0);
    struct elf_file file;
    char path[64];
    size_t bytes = 0;

    demand(fd >= 0 && write(fd, data, size) == (ssize_t)size, "no file");
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (elf_open(&file, AT_FDCWD, path) == NULL) {
        (void)elf_each_import(&file, on_import, &bytes);
        (void)elf_each_library(&file, on_library, &bytes);
        (void)elf_each_version(&file, on_version, &bytes);
        (void)elf_read_loader(&file, path, sizeof(path));
        elf_close(&file);
    }
    close(fd);
    return 0;
}
