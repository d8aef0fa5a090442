/*
 * where_dwarf.c - the place of an address (where.h), by elfutils' libdw.
 *
 * libdw is loaded here, in the child, so that mpiexec itself neither needs nor maps it.
 */
#include "where.h"

#include "base/library.h"

#ifndef WEFT_HAS_LIBDW

bool where_has_dwarf(void)
{
    return false;
}

void *where_load(void)
{
    return NULL;
}

void where_say_place(const struct where_question *question, char *text)
{
    (void)question;
    (void)text;
}

#else

#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES = 64, FUNCTION_SAID = 100 };

static struct {
    Dwfl *(*begin)(const Dwfl_Callbacks *);
    void (*end)(Dwfl *);
    void (*report_begin)(Dwfl *);
    Dwfl_Module *(*report_elf)(Dwfl *, const char *, const char *, int, GElf_Addr, bool);
    int (*report_end)(Dwfl *,
                      int (*)(Dwfl_Module *, void *, const char *, Dwarf_Addr, void *),
                      void *);
    int (*find_elf)(Dwfl_Module *, void **, const char *, Dwarf_Addr, char **, Elf **);
    int (*find_debuginfo)(Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *,
                          const char *, GElf_Word, char **);
    Elf *(*elf_of)(Dwfl_Module *, GElf_Addr *);
    int (*build_id)(Dwfl_Module *, const unsigned char **, GElf_Addr *);
    Dwarf_Die *(*unit_at)(Dwfl_Module *, Dwarf_Addr, Dwarf_Addr *);
    Dwarf_Die *(*next_unit)(Dwfl_Module *, Dwarf_Die *, Dwarf_Addr *);
    const char *(*symbol_at)(Dwfl_Module *, GElf_Addr, GElf_Off *, GElf_Sym *,
                             GElf_Word *, Elf **, Dwarf_Addr *);
    int (*has)(Dwarf_Die *, Dwarf_Addr);
    Dwarf_Line *(*line_at)(Dwarf_Die *, Dwarf_Addr);
    int (*line_number)(Dwarf_Line *, int *);
    const char *(*line_file)(Dwarf_Line *, Dwarf_Word *, Dwarf_Word *);
    int (*scopes_at)(Dwarf_Die *, Dwarf_Addr, Dwarf_Die **);
    int (*tag)(Dwarf_Die *);
    const char *(*name)(Dwarf_Die *);
} dw;

struct file {
    char path[WEFT_TRACE_PATH];
    Dwfl *dwfl;
    Dwfl_Module *module; /* NULL: it cannot be read */
};

static struct {
    struct file at[FILES];
    int count;
} files;

void *where_load(void)
{
    const struct weft_symbol symbols[] = {
        {"dwfl_begin", &dw.begin},
        {"dwfl_end", &dw.end},
        {"dwfl_report_begin", &dw.report_begin},
        {"dwfl_report_elf", &dw.report_elf},
        {"dwfl_report_end", &dw.report_end},
        {"dwfl_build_id_find_elf", &dw.find_elf},
        {"dwfl_standard_find_debuginfo", &dw.find_debuginfo},
        {"dwfl_module_getelf", &dw.elf_of},
        {"dwfl_module_build_id", &dw.build_id},
        {"dwfl_module_addrdie", &dw.unit_at},
        {"dwfl_module_nextcu", &dw.next_unit},
        {"dwfl_module_addrinfo", &dw.symbol_at},
        {"dwarf_haspc", &dw.has},
        {"dwarf_getsrc_die", &dw.line_at},
        {"dwarf_lineno", &dw.line_number},
        {"dwarf_linesrc", &dw.line_file},
        {"dwarf_getscopes", &dw.scopes_at},
        {"dwarf_tag", &dw.tag},
        {"dwarf_diename", &dw.name},
    };
    void *library;

    unsetenv("DEBUGINFOD_URLS"); /* before it is loaded: it may look at once */
    library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != NULL &&
                   weft_library_find(library, symbols,
                                     sizeof(symbols) / sizeof(symbols[0])) == NULL
               ? library
               : NULL;
}

/* ---- files ---- */

/* A pipe or a device that has taken the place of the program is not read. */
static int open_regular(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    struct stat st;

    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Addresses are those of the file: its bias is 0. */
static void open_file(struct file *file)
{
    static Dwfl_Callbacks callbacks;
    const int fd = open_regular(file->path);

    callbacks.find_elf = dw.find_elf;
    callbacks.find_debuginfo = dw.find_debuginfo;
    file->dwfl = fd >= 0 ? dw.begin(&callbacks) : NULL;
    if (file->dwfl == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return;
    }
    dw.report_begin(file->dwfl);
    file->module = dw.report_elf(file->dwfl, file->path, file->path, fd, 0, true);
    dw.report_end(file->dwfl, NULL, NULL);
    if (file->module == NULL) {
        close(fd); /* else it is the module's */
    }
}

static Dwfl_Module *module_of(const char *path)
{
    struct file *file = files.at;

    while (file < files.at + files.count && strcmp(file->path, path) != 0) {
        file++;
    }
    if (file == files.at + files.count) {
        if (files.count == FILES) {
            return NULL;
        }
        files.count++;
        snprintf(file->path, sizeof(file->path), "%s", path);
        open_file(file);
    }
    return file->module;
}

/* ---- one address ---- */

/* Some compilers write no table of addresses: then the units are gone through. */
static Dwarf_Die *unit_of(Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr *bias)
{
    Dwarf_Die *unit = dw.unit_at(module, address, bias);

    if (unit != NULL) {
        return unit;
    }
    while ((unit = dw.next_unit(module, unit, bias)) != NULL) {
        if (dw.has(unit, address - *bias) > 0) {
            return unit;
        }
    }
    return NULL;
}

/* The innermost function, which may be an inlined one: the line is in it. */
static const char *function_of(Dwarf_Die *unit, Dwarf_Addr address)
{
    Dwarf_Die *scopes = NULL;
    const int count = dw.scopes_at(unit, address, &scopes);
    const char *name = NULL;

    for (int i = 0; i < count && name == NULL; i++) {
        const int tag = dw.tag(&scopes[i]);

        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine) {
            name = dw.name(&scopes[i]);
        }
    }
    free(scopes);
    return name;
}

bool where_say_line(Dwfl_Module *module, uint64_t address, char *text)
{
    Dwarf_Addr bias = 0;
    Dwarf_Die *unit = unit_of(module, address, &bias);
    Dwarf_Line *line = unit != NULL ? dw.line_at(unit, address - bias) : NULL;
    const char *path = line != NULL ? dw.line_file(line, NULL, NULL) : NULL;
    const char *function;
    int number = 0;

    if (path == NULL || dw.line_number(line, &number) != 0 || number <= 0) {
        return false;
    }
    function = function_of(unit, address - bias);
    path = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
    if (function != NULL) {
        snprintf(text, WHERE_TEXT, "%.160s:%d (%.*s)", path, number, FUNCTION_SAID,
                 function);
    } else {
        snprintf(text, WHERE_TEXT, "%.160s:%d", path, number);
    }
    return true;
}

/* A symbol that does not reach to the address is that of another function. */
static bool say_symbol(Dwfl_Module *module, const char *path, Dwarf_Addr address,
                       char *text)
{
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char *name = dw.symbol_at(module, address, &offset, &symbol, NULL, NULL, NULL);

    if (name == NULL || name[0] == '\0' || symbol.st_size <= offset) {
        return false;
    }
    snprintf(text, WHERE_TEXT, "%.*s+0x%llx in %s", FUNCTION_SAID, name,
             (unsigned long long)offset, path);
    return true;
}

bool where_has_dwarf(void)
{
    return true;
}

/* Another file than the one that the rank has mapped: a compiler has written it since. */
static bool is_replaced(Dwfl_Module *module, const struct weft_trace_module *mapped)
{
    const unsigned char *id = NULL;
    GElf_Addr address;
    int bytes;

    (void)dw.elf_of(module, &address); /* the file is read */
    bytes = dw.build_id(module, &id, &address);
    return mapped->id_bytes > 0 && (bytes < (int)mapped->id_bytes ||
                                    memcmp(id, mapped->id, mapped->id_bytes) != 0);
}

void where_say_place(const struct where_question *question, char *text)
{
    const char *path = question->module.path;
    Dwfl_Module *module = module_of(path);

    if (module != NULL && is_replaced(module, &question->module)) {
        snprintf(text, WHERE_TEXT, "%s+0x%llx (the file has been replaced since)", path,
                 (unsigned long long)question->address);
    } else if (module != NULL && !where_say_line(module, question->address, text)) {
        (void)say_symbol(module, path, question->address, text);
    }
}

#endif
