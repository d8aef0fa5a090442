/*
 * uses.c - see uses.h. Reads the dynamic symbol table of a 64-bit ELF file of this
 * machine's byte order. The file is not trusted: every offset is checked against its size
 * and for alignment, and every name must end inside its table.
 */
#include "uses.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct image {
    const char *base;
    size_t size;
};

static int complain(const char *path, const char *why)
{
    fprintf(stderr, "weft-info: %s: %s\n", path, why);
    return -1;
}

/*
 * `count` things of `each` bytes at `offset`, or NULL if they do not fit the file or are
 * not aligned. All of ELF's tables want 8; names, of one byte each, want nothing.
 */
static const void *part(const struct image *file, uint64_t offset, uint64_t count,
                        uint64_t each)
{
    if (offset > file->size || count > (file->size - offset) / each ||
        (each > 1 && offset % 8 != 0)) {
        return NULL;
    }
    return file->base + offset;
}

static bool is_our_elf(const Elf64_Ehdr *header)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const unsigned char order = ELFDATA2LSB;
#else
    const unsigned char order = ELFDATA2MSB;
#endif

    return header != NULL && memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == order &&
           header->e_shentsize == sizeof(Elf64_Shdr);
}

static void each_import(const Elf64_Sym *symbols, uint64_t count, const char *names,
                        uint64_t names_size, void (*found)(const char *, void *),
                        void *arg)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = symbols[i].st_name;

        if (symbols[i].st_shndx == SHN_UNDEF && at < names_size &&
            memchr(names + at, '\0', names_size - at) != NULL) {
            found(names + at, arg);
        }
    }
}

static int read_image(const char *path, const struct image *file,
                      void (*found)(const char *, void *), void *arg)
{
    const Elf64_Ehdr *header = part(file, 0, 1, sizeof(*header));
    const Elf64_Shdr *sections;

    if (!is_our_elf(header)) {
        return complain(path, "not a 64-bit ELF program or library of this machine");
    }
    sections = part(file, header->e_shoff, header->e_shnum, sizeof(*sections));
    if (sections == NULL) {
        return complain(path, "the section table is damaged");
    }
    for (unsigned i = 0; i < header->e_shnum; i++) {
        const Elf64_Shdr *s = &sections[i];
        const Elf64_Shdr *strings;
        const Elf64_Sym *symbols;
        const char *names;
        uint64_t count = s->sh_size / sizeof(*symbols);

        if (s->sh_type != SHT_DYNSYM || count <= 1) { /* the first one is always empty */
            continue;
        }
        if (s->sh_link >= header->e_shnum) {
            return complain(path, "the symbol table names no string table");
        }
        strings = &sections[s->sh_link];
        symbols = part(file, s->sh_offset, count, sizeof(*symbols));
        names = part(file, strings->sh_offset, strings->sh_size, 1);
        if (symbols == NULL || names == NULL) {
            return complain(path, "the symbol table is damaged");
        }
        each_import(symbols, count, names, strings->sh_size, found, arg);
        return 0;
    }
    return complain(path, "no dynamic symbols: linked statically, or not linked yet");
}

int weft_uses_each(const char *path, void (*found)(const char *name, void *arg),
                   void *arg)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    struct image file;
    void *base;
    int result;

    if (fd < 0) {
        return complain(path, strerror(errno));
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        close(fd);
        return complain(path, "not a file with anything in it");
    }
    base = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (base == MAP_FAILED) {
        return complain(path, strerror(errno));
    }
    file = (struct image){.base = base, .size = (size_t)st.st_size};
    result = read_image(path, &file, found, arg);
    munmap(base, file.size);
    return result;
}
