#include "uses.h"

#include "chapters.h"
#include "elf_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* What count_import() has seen; `is_seen` is by function. */
struct tally {
    struct uses *uses;
    bool is_seen[USES_MOST];
};

static int compare_name(const void *name, const void *function)
{
    return strcmp(name, ((const struct weft_function *)function)->name);
}

/* gfortran, and other compilers, have mpi_init_ for MPI_Init. */
static bool is_fortran_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const size_t length = strlen(name);

    name += name[0] == 'p' ? 1 : 0;
    return strncmp(name, "mpi_", 4) == 0 && name[strlen(name) - 1] == '_' &&
           length > strlen("mpi__") && name[strspn(name, letters)] == '\0';
}

static void count_unknown(struct uses *uses, const char *name)
{
    char *copy = uses->unknown_count < USES_MOST ? strdup(name) : NULL;

    if (copy != NULL) {
        uses->unknown[uses->unknown_count++] = copy;
        uses->used++;
    }
}

static void count_import(const char *name, void *arg)
{
    static const char identifier[] = "abcdefghijklmnopqrstuvwxyz"
                                     "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    struct tally *tally = arg;
    struct uses *uses = tally->uses;
    const struct weft_function *f;

    uses->has_open_mpi_symbols |= strncmp(name, "ompi_mpi_", 9) == 0;
    uses->is_fortran |= is_fortran_name(name);
    if (strncmp(name, "PMPI_", 5) == 0) {
        name++;
    }
    if (strncmp(name, "MPI_", 4) != 0 || name[strspn(name, identifier)] != '\0') {
        return; /* what is no name in C is not printed: a file may hold anything */
    }
    f = bsearch(name, weft_functions, (size_t)weft_function_count, sizeof(*f),
                compare_name);
    if (f == NULL) {
        count_unknown(uses, name);
    } else if (!tally->is_seen[f - weft_functions]) {
        tally->is_seen[f - weft_functions] = true;
        uses->used++;
        if (!f->is_built) {
            uses->missing[uses->missing_count++] = f->name;
        }
    }
}

bool uses_read(const char *path, struct uses *uses)
{
    struct tally tally = {.uses = uses};
    struct elf_file file;
    const char *why = elf_open(&file, AT_FDCWD, path);

    memset(uses, 0, sizeof(*uses));
    if (why == NULL) {
        why = elf_each_import(&file, count_import, &tally);
        elf_close(&file);
    }
    if (why != NULL) {
        fprintf(stderr, "weft-info: %s: %s\n", path, why);
        uses_close(uses);
        return false;
    }
    uses->is_foreign =
        linked_with_mpi(AT_FDCWD, path, getenv("LD_LIBRARY_PATH"), &uses->linked);
    return true;
}

void uses_close(struct uses *uses)
{
    for (int i = 0; i < uses->unknown_count; i++) {
        free(uses->unknown[i]);
    }
    uses->unknown_count = 0;
}

bool uses_is_for_weft(const struct uses *uses)
{
    return !uses->is_foreign && !uses->has_open_mpi_symbols;
}

void uses_print(const char *path, const struct uses *uses)
{
    static const char rebuild[] = "rebuild it with Weft's mpicc";
    static const char fortran[] = "rebuild it with Weft's mpifort";
    const struct linked *linked = &uses->linked;

    for (int i = 0; i < uses->unknown_count; i++) {
        printf("%s: not part of the ABI\n", uses->unknown[i]);
    }
    for (int i = 0; i < uses->missing_count; i++) {
        printf("%s: not built yet\n", uses->missing[i]);
    }
    if (uses->used > 0 || !uses->is_fortran) {
        printf("%s uses %d functions of MPI: %d not built yet, %d not part of the ABI\n",
               path, uses->used, uses->missing_count, uses->unknown_count);
    }
    if (uses->is_foreign) {
        printf("%s is linked with %s (%s)%s%s, not with the standard ABI's "
               "libmpi_abi.so: %s\n",
               path, linked->library, linked->owner,
               linked->through[0] != '\0' ? " through " : "", linked->through,
               uses->is_fortran || linked->is_fortran ? fortran : rebuild);
    } else if (uses->is_fortran) {
        printf("%s calls MPI in Fortran\n", path);
    } else if (uses->has_open_mpi_symbols) {
        printf("%s was built with Open MPI's own mpi.h: %s\n", path, rebuild);
    }
}

void uses_write(const char *path, const struct uses *uses, struct json *json)
{
    json_begin(json, "uses", '{');
    json_text(json, "program", path);
    json_number(json, "functions", uses->used);
    json_begin(json, "not_built", '[');
    for (int i = 0; i < uses->missing_count; i++) {
        json_text(json, NULL, uses->missing[i]);
    }
    json_end(json, ']');
    json_begin(json, "not_in_abi", '[');
    for (int i = 0; i < uses->unknown_count; i++) {
        json_text(json, NULL, uses->unknown[i]);
    }
    json_end(json, ']');
    json_flag(json, "fortran", uses->is_fortran);
    json_flag(json, "open_mpi_header", uses->has_open_mpi_symbols);
    if (uses->is_foreign) {
        json_begin(json, "other_mpi", '{');
        json_text(json, "library", uses->linked.library);
        json_text(json, "owner", uses->linked.owner);
        json_text(json, "through",
                  uses->linked.through[0] != '\0' ? uses->linked.through : NULL);
        json_end(json, '}');
    } else {
        json_text(json, "other_mpi", NULL);
    }
    json_end(json, '}');
}
