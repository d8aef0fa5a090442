#include "uses.h"

#include "elf_file.h"

#include <fcntl.h>
#include <stdio.h>

int weft_uses_each(const char *path, void (*found)(const char *name, void *arg),
                   void *arg)
{
    struct elf_file file;
    const char *why = elf_open(&file, AT_FDCWD, path);

    if (why == NULL) {
        why = elf_each_import(&file, found, arg);
        elf_close(&file);
    }
    if (why != NULL) {
        fprintf(stderr, "weft-info: %s: %s\n", path, why);
        return -1;
    }
    return 0;
}
