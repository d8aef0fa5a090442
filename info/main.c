/*
 * main.c - weft-info: what this Weft is, what it can do, what a program needs of it.
 */
#include "chapters.h"
#include "uses.h"

#include "base/settings.h"
#include "coll/algorithm.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_MISSING = 1, EXIT_TROUBLE = 2 };

static const char usage[] =
    "usage: weft-info [--version | --chapters | --settings | --algorithms |\n"
    "                  --uses PROGRAM | --help]\n"
    "\n"
    "  (no option)      print version, ABI, transports and settings\n"
    "  --version        print the version in one line\n"
    "  --chapters       print how much of each chapter of MPI is built\n"
    "  --settings       print every setting, its default and its meaning\n"
    "  --algorithms     print the algorithms of collectives, for WEFT_COLL\n"
    "  --uses PROGRAM   print the MPI functions that PROGRAM imports and that are not\n"
    "                   built; exit code 0: none, 1: some, 2: PROGRAM cannot be read\n"
    "  --help           print this text\n";

static void print_version(void)
{
    printf("Weft %s, MPI %s, ABI %s\n", WEFT_VERSION, WEFT_MPI_VERSION, WEFT_ABI_VERSION);
}

static void print_settings(void)
{
    printf("%-16s %-24s %-12s %s\n", "setting", "unit", "default", "meaning");
    for (int i = 0; i < WEFT_SET_COUNT; i++) {
        const struct weft_setting_row *row = weft_setting_row((enum weft_setting)i);

        printf("%-16s %-24s %-12s %s", row->name, row->unit, row->fallback, row->meaning);
        if (row->values != NULL && row->values[0] != '\0') {
            printf(" [%s]", row->values);
        }
        printf("\n");
    }
}

static void print_algorithms(void)
{
    const struct weft_algorithm *at;

    printf("%-20s  %-12s  %s\n", "collective", "algorithm", "fits");
    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        printf("%-20s  %-12s  %s\n", weft_coll_kind_name(at->kind), at->name,
               at->fits == NULL ? "all calls" : "operations that commute");
    }
}

static void print_chapters(void)
{
    int all_built = 0;

    printf("chapter                              built  of  works\n");
    for (int g = 0; g < weft_chapter_count; g++) {
        int built = 0;
        int total = 0;

        for (int i = 0; i < weft_function_count; i++) {
            if (weft_functions[i].group == g) {
                total++;
                built += weft_functions[i].is_built ? 1 : 0;
            }
        }
        printf("%2d  %-32s %4d %4d  %s\n", weft_chapters[g].number,
               weft_chapters[g].title, built, total,
               built == 0      ? "no"
               : built < total ? "in part"
                               : "yes");
        all_built += built;
    }
    printf("    %-32s %4d %4d\n", "all", all_built, weft_function_count);
}

static void print_all(void)
{
    print_version();
    printf("library    libmpi_abi.so.1\n");
    printf("transports shm (inside a node), msg (between nodes, by libfabric)\n\n");
    print_settings();
}

struct tally {
    bool is_used[1024];
    int used;
    int missing;
    int unknown;
    bool is_open_mpi; /* it imports Open MPI's own symbols */
};

static int compare_name(const void *name, const void *function)
{
    return strcmp(name, ((const struct weft_function *)function)->name);
}

static void count_import(const char *name, void *arg)
{
    static const char identifier[] = "abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    struct tally *t = arg;
    const struct weft_function *f;

    if (strncmp(name, "ompi_mpi_", 9) == 0) {
        t->is_open_mpi = true;
    }
    if (strncmp(name, "PMPI_", 5) == 0) {
        name++;
    }
    if (strncmp(name, "MPI_", 4) != 0 || name[strspn(name, identifier)] != '\0') {
        return; /* what is no name in C is not printed: a file may hold anything */
    }
    f = bsearch(name, weft_functions, (size_t)weft_function_count, sizeof(*f),
                compare_name);
    if (f == NULL) {
        printf("%s: not part of the ABI\n", name);
        t->unknown++;
    } else if (!t->is_used[f - weft_functions]) {
        t->is_used[f - weft_functions] = true;
        t->used++;
        if (!f->is_built) {
            printf("%s: not built yet\n", name);
            t->missing++;
        }
    }
}

static int print_uses(const char *program)
{
    struct tally t = {.used = 0};

    if (weft_uses_each(program, count_import, &t) != 0) {
        return EXIT_TROUBLE;
    }
    if (t.is_open_mpi) {
        printf("%s was built with Open MPI's own mpi.h: rebuild it with Weft's mpicc\n",
               program);
        return EXIT_TROUBLE;
    }
    printf("%s uses %d functions of MPI: %d not built yet, %d not part of the ABI\n",
           program, t.used + t.unknown, t.missing, t.unknown);
    return t.missing + t.unknown > 0 ? EXIT_MISSING : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    const char *verb = argc > 1 ? argv[1] : "";

    if (argc == 1) {
        print_all();
    } else if (argc == 2 && strcmp(verb, "--version") == 0) {
        print_version();
    } else if (argc == 2 && strcmp(verb, "--chapters") == 0) {
        print_chapters();
    } else if (argc == 2 && strcmp(verb, "--settings") == 0) {
        print_settings();
    } else if (argc == 2 && strcmp(verb, "--algorithms") == 0) {
        print_algorithms();
    } else if (argc == 2 && (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0)) {
        fputs(usage, stdout);
    } else if (argc == 3 && strcmp(verb, "--uses") == 0) {
        return print_uses(argv[2]);
    } else {
        fputs(usage, stderr);
        return EXIT_TROUBLE;
    }
    return EXIT_SUCCESS;
}
