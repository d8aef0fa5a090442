#include "elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A table that says it is larger is not believed. */
static const uint64_t largest_table = UINT64_C(1) << 28;

/* Tables of versions are far smaller, but the file does not say how large. */
static const uint64_t largest_versions = UINT64_C(1) << 20;

/* The parts of the file that are loaded. They turn an address of the running program into
 * a place in the file. */
struct segments {
    Elf64_Phdr *at;
    unsigned count;
};

/*
 * A copy of `count` things of `each` bytes at `offset`, to be freed; NULL if they do not
 * fit the file.
 */
static void *read_part(const struct elf_file *file, uint64_t offset, uint64_t count,
                       uint64_t each)
{
    uint64_t bytes = 0;
    char *copy;

    if (offset > file->size || count > (file->size - offset) / each ||
        count > largest_table / each) {
        return NULL;
    }
    copy = malloc(count * each + 1); /* never nothing */
    while (copy != NULL && bytes < count * each) {
        ssize_t n =
            pread(file->fd, copy + bytes, count * each - bytes, (off_t)(offset + bytes));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            free(copy);
            return NULL;
        }
        bytes += (uint64_t)n;
    }
    return copy;
}

/* Reads a table of names, the last of which has to end in 0. */
static char *read_strings(const struct elf_file *file, uint64_t offset, uint64_t size)
{
    char *names = read_part(file, offset, size, 1);

    if (names != NULL && (size == 0 || names[size - 1] != '\0')) {
        free(names);
        return NULL;
    }
    return names;
}

static bool read_header(const struct elf_file *file, Elf64_Ehdr *header)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const unsigned char order = ELFDATA2LSB;
#else
    const unsigned char order = ELFDATA2MSB;
#endif

    return pread(file->fd, header, sizeof(*header), 0) == (ssize_t)sizeof(*header) &&
           memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
           header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_ident[EI_DATA] == order;
}

static const char *const not_ours = "not a 64-bit ELF program or library of this machine";

const char *elf_open(struct elf_file *file, int at, const char *path)
{
    struct stat st;

    file->fd = openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd < 0) {
        return strerror(errno);
    }
    if (fstat(file->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0) {
        close(file->fd);
        return "not a file with anything in it";
    }
    file->size = (uint64_t)st.st_size;
    return NULL;
}

void elf_close(struct elf_file *file)
{
    close(file->fd);
}

/* Calls `found` for each undefined symbol whose name is in its table. */
static void each_import(const Elf64_Sym *symbols, uint64_t count, const char *names,
                        uint64_t names_size, void (*found)(const char *, void *),
                        void *arg)
{
    for (uint64_t i = 0; i < count; i++) {
        uint64_t at = symbols[i].st_name;

        if (symbols[i].st_shndx == SHN_UNDEF && at < names_size) {
            found(names + at, arg);
        }
    }
}

static const char *read_symbols(const struct elf_file *file, const Elf64_Shdr *table,
                                const Elf64_Shdr *strings,
                                void (*found)(const char *, void *), void *arg)
{
    const uint64_t count = table->sh_size / sizeof(Elf64_Sym);
    Elf64_Sym *symbols = read_part(file, table->sh_offset, count, sizeof(*symbols));
    char *names = read_strings(file, strings->sh_offset, strings->sh_size);
    const bool is_good = symbols != NULL && names != NULL;

    if (is_good) {
        each_import(symbols, count, names, strings->sh_size, found, arg);
    }
    free(symbols);
    free(names);
    return is_good ? NULL : "the symbol table is damaged";
}

static const char *find_symbols(const struct elf_file *file, const Elf64_Shdr *sections,
                                unsigned count, void (*found)(const char *, void *),
                                void *arg)
{
    for (unsigned i = 0; i < count; i++) {
        if (sections[i].sh_type != SHT_DYNSYM ||
            sections[i].sh_size / sizeof(Elf64_Sym) <= 1) {
            continue; /* the first symbol is always empty */
        }
        if (sections[i].sh_link >= count) {
            return "the symbol table names no string table";
        }
        return read_symbols(file, &sections[i], &sections[sections[i].sh_link], found,
                            arg);
    }
    return "no dynamic symbols: linked statically, or not linked yet";
}

const char *elf_each_import(const struct elf_file *file,
                            void (*found)(const char *name, void *arg), void *arg)
{
    Elf64_Ehdr header;
    Elf64_Shdr *sections;
    const char *why;

    if (!read_header(file, &header) || header.e_shentsize != sizeof(*sections)) {
        return not_ours;
    }
    sections = read_part(file, header.e_shoff, header.e_shnum, sizeof(*sections));
    if (sections == NULL) {
        return "the section table is damaged";
    }
    why = find_symbols(file, sections, header.e_shnum, found, arg);
    free(sections);
    return why;
}

/* Where in the file `address` of the program is, and how much of the file follows it in
 * its segment; false if no segment has it. */
static bool find_address(const struct segments *segments, uint64_t address,
                         uint64_t *offset, uint64_t *left)
{
    for (unsigned i = 0; i < segments->count; i++) {
        const Elf64_Phdr *s = &segments->at[i];

        if (s->p_type == PT_LOAD && address >= s->p_vaddr &&
            address - s->p_vaddr < s->p_filesz &&
            s->p_offset <= UINT64_MAX - (address - s->p_vaddr)) {
            *offset = s->p_offset + (address - s->p_vaddr);
            *left = s->p_filesz - (address - s->p_vaddr);
            return true;
        }
    }
    return false;
}

/* The value of the first entry with this tag, or 0. */
static uint64_t value_of(const Elf64_Dyn *entries, uint64_t count, int64_t tag)
{
    for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        if (entries[i].d_tag == tag) {
            return entries[i].d_un.d_val;
        }
    }
    return 0;
}

/* The names that the dynamic section speaks of, to be freed; NULL if there are none. */
static char *read_names(const struct elf_file *file, const struct segments *segments,
                        const Elf64_Dyn *entries, uint64_t count, uint64_t *size)
{
    uint64_t offset;
    uint64_t left;

    *size = value_of(entries, count, DT_STRSZ);
    if (!find_address(segments, value_of(entries, count, DT_STRTAB), &offset, &left) ||
        *size > left) {
        return NULL;
    }
    return read_strings(file, offset, *size);
}

static void each_library(const Elf64_Dyn *entries, uint64_t count, const char *names,
                         uint64_t size,
                         void (*found)(enum elf_entry kind, const char *text, void *arg),
                         void *arg)
{
    for (uint64_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        const int64_t tag = entries[i].d_tag;
        const uint64_t at = entries[i].d_un.d_val;

        if (tag == DT_NEEDED && at < size) {
            found(ELF_NEEDED, names + at, arg);
        } else if ((tag == DT_RUNPATH || tag == DT_RPATH) && at < size) {
            found(ELF_PATH, names + at, arg);
        }
    }
}

/* What is read of a file before its dynamic section is looked at. */
struct dynamic {
    struct segments segments;
    Elf64_Dyn *entries;
    uint64_t count;
    char *names; /* NULL: the file has no dynamic section */
    uint64_t names_size;
};

static void dynamic_close(struct dynamic *dynamic)
{
    free(dynamic->segments.at);
    free(dynamic->entries);
    free(dynamic->names);
}

/* Reads the program header; NULL for success. `dynamic` is to be closed in any case. */
static const char *read_segments(const struct elf_file *file, struct dynamic *dynamic)
{
    struct segments *segments = &dynamic->segments;
    Elf64_Ehdr header;

    memset(dynamic, 0, sizeof(*dynamic));
    if (!read_header(file, &header)) {
        return not_ours;
    }
    if (header.e_phnum == 0) {
        return NULL;
    }
    segments->count = header.e_phnum;
    segments->at =
        header.e_phentsize == sizeof(*segments->at)
            ? read_part(file, header.e_phoff, segments->count, sizeof(*segments->at))
            : NULL;
    return segments->at != NULL ? NULL : "the program header is damaged";
}

static const Elf64_Phdr *find_segment(const struct segments *segments, uint32_t type)
{
    for (unsigned i = 0; i < segments->count; i++) {
        if (segments->at[i].p_type == type) {
            return &segments->at[i];
        }
    }
    return NULL;
}

/* Reads the dynamic section; NULL for success. `dynamic` is to be closed in any case. */
static const char *dynamic_open(const struct elf_file *file, struct dynamic *dynamic)
{
    const char *why = read_segments(file, dynamic);
    const Elf64_Phdr *segment;

    if (why != NULL) {
        return why;
    }
    segment = find_segment(&dynamic->segments, PT_DYNAMIC);
    if (segment == NULL) {
        return NULL;
    }
    dynamic->count = segment->p_filesz / sizeof(Elf64_Dyn);
    dynamic->entries =
        read_part(file, segment->p_offset, dynamic->count, sizeof(*dynamic->entries));
    if (dynamic->entries != NULL) {
        dynamic->names = read_names(file, &dynamic->segments, dynamic->entries,
                                    dynamic->count, &dynamic->names_size);
    }
    return dynamic->names != NULL ? NULL : "the dynamic section is damaged";
}

const char *elf_each_library(const struct elf_file *file,
                             void (*found)(enum elf_entry kind, const char *text,
                                           void *arg),
                             void *arg)
{
    struct dynamic dynamic;
    const char *why = dynamic_open(file, &dynamic);

    if (why == NULL && dynamic.names != NULL) {
        each_library(dynamic.entries, dynamic.count, dynamic.names, dynamic.names_size,
                     found, arg);
    }
    dynamic_close(&dynamic);
    return why;
}

const char *elf_read_loader(const struct elf_file *file, char *loader, size_t size)
{
    struct dynamic dynamic;
    const char *why = read_segments(file, &dynamic);
    const Elf64_Phdr *segment =
        why == NULL ? find_segment(&dynamic.segments, PT_INTERP) : NULL;
    char *text =
        segment != NULL ? read_strings(file, segment->p_offset, segment->p_filesz) : NULL;
    const size_t length = text != NULL ? strlen(text) : 0;
    const size_t kept = length < size ? length : size - 1;

    if (text != NULL) {
        memcpy(loader, text, kept);
    }
    loader[kept] = '\0';
    free(text);
    dynamic_close(&dynamic);
    return why;
}

/* ---- versions of symbols ---- */

/* A table of versions, as far as its segment has it in the file. */
struct versions {
    char *at;
    uint64_t size;
    const struct dynamic *dynamic;
};

/* Copies a record out of the table; false if it is not inside. */
static bool take(const struct versions *table, uint64_t offset, void *to, uint64_t bytes)
{
    if (offset > table->size || bytes > table->size - offset) {
        return false;
    }
    memcpy(to, table->at + offset, bytes);
    return true;
}

static const char *name_at(const struct versions *table, uint64_t at)
{
    return at < table->dynamic->names_size ? table->dynamic->names + at : NULL;
}

typedef void version_fn(enum elf_version kind, const char *library, const char *version,
                        void *arg);

/* The versions that are wanted of one library. */
static void each_wanted(const struct versions *table, const Elf64_Verneed *need,
                        uint64_t offset, version_fn *found, void *arg)
{
    const char *library = name_at(table, need->vn_file);
    uint64_t at = offset + need->vn_aux;
    Elf64_Vernaux one;

    for (unsigned i = 0; i < need->vn_cnt && take(table, at, &one, sizeof(one)); i++) {
        const char *version = name_at(table, one.vna_name);

        if (library != NULL && version != NULL) {
            found(ELF_VERSION_NEEDED, library, version, arg);
        }
        if (one.vna_next == 0) {
            break;
        }
        at += one.vna_next;
    }
}

static void each_need(const struct versions *table, uint64_t count, version_fn *found,
                      void *arg)
{
    uint64_t at = 0;
    Elf64_Verneed need;

    for (uint64_t i = 0; i < count && take(table, at, &need, sizeof(need)); i++) {
        each_wanted(table, &need, at, found, arg);
        if (need.vn_next == 0) {
            break;
        }
        at += need.vn_next;
    }
}

static void each_definition(const struct versions *table, uint64_t count,
                            version_fn *found, void *arg)
{
    uint64_t at = 0;
    Elf64_Verdef one;
    Elf64_Verdaux name;

    for (uint64_t i = 0; i < count && take(table, at, &one, sizeof(one)); i++) {
        if (take(table, at + one.vd_aux, &name, sizeof(name)) &&
            name_at(table, name.vda_name) != NULL) {
            found(ELF_VERSION_DEFINED, NULL, name_at(table, name.vda_name), arg);
        }
        if (one.vd_next == 0) {
            break;
        }
        at += one.vd_next;
    }
}

/* Reads the table that `tag` points to; it has nothing if the file has none. */
static void read_versions(const struct elf_file *file, const struct dynamic *dynamic,
                          int64_t tag, struct versions *table)
{
    const uint64_t address = value_of(dynamic->entries, dynamic->count, tag);
    uint64_t offset;

    memset(table, 0, sizeof(*table));
    table->dynamic = dynamic;
    if (address != 0 &&
        find_address(&dynamic->segments, address, &offset, &table->size)) {
        if (table->size > largest_versions) {
            table->size = largest_versions;
        }
        table->at = read_part(file, offset, table->size, 1);
    }
    if (table->at == NULL) {
        table->size = 0;
    }
}

const char *elf_each_version(const struct elf_file *file, version_fn *found, void *arg)
{
    struct dynamic dynamic;
    struct versions table;
    const char *why = dynamic_open(file, &dynamic);

    if (why == NULL && dynamic.names != NULL) {
        read_versions(file, &dynamic, DT_VERNEED, &table);
        each_need(&table, value_of(dynamic.entries, dynamic.count, DT_VERNEEDNUM), found,
                  arg);
        free(table.at);
        read_versions(file, &dynamic, DT_VERDEF, &table);
        each_definition(&table, value_of(dynamic.entries, dynamic.count, DT_VERDEFNUM),
                        found, arg);
        free(table.at);
    }
    dynamic_close(&dynamic);
    return why;
}
