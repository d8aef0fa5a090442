/*
 * main.c - weft-info: what this Weft is, what it can do, what a program needs of it.
 *
 * Each section is printed as text or, with --json, as a member of one JSON object.
 */
#include "chapters.h"
#include "json.h"
#include "uses.h"

#include "base/settings_file.h"
#include "coll/algorithm.h"
#include "places.h"
#include "version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_MISSING = 1, EXIT_TROUBLE = 2 };

static const char usage[] =
    "usage: weft-info [--json] [--version | --chapters | --settings | --algorithms |\n"
    "                  --uses PROGRAM | --help]\n"
    "\n"
    "  (no option)      print version, ABI, transports and settings\n"
    "  --version        print the version in one line\n"
    "  --chapters       print how much of each chapter of MPI is built\n"
    "  --settings       print every setting, its value, where the value comes from, its\n"
    "                   default and its meaning\n"
    "  --algorithms     print the algorithms of collectives, for WEFT_COLL\n"
    "  --uses PROGRAM   print the MPI functions that PROGRAM imports and that are not\n"
    "                   built, and which other MPI it is linked with; exit code 0: it "
    "is\n"
    "                   one for Weft and none is missing, 1: some are, 2: it is linked\n"
    "                   with another MPI, or cannot be read\n"
    "  --json           print the same as JSON; without another option, all sections\n"
    "  --help           print this text\n";

static void print_version(void)
{
    printf("Weft %s, MPI %s, ABI %s\n", WEFT_VERSION, WEFT_MPI_VERSION, WEFT_ABI_VERSION);
}

/* ---- settings ---- */

static const char *const from_names[] = {
    [WEFT_FROM_DEFAULT] = "default",
    [WEFT_FROM_SITE] = "site file",
    [WEFT_FROM_USER] = "user file",
    [WEFT_FROM_ENVIRONMENT] = "environment",
};

/* What every file says is in force from now on; what is wrong with them is printed. */
static void read_settings(void)
{
    extern char **environ;
    static const struct weft_places places = {
        .bindir = WEFT_BINDIR, .libdir = WEFT_LIBDIR, .sysconfdir = WEFT_SYSCONFDIR};

    weft_settings_read_files(&places);
    weft_settings_complain("weft-info");
    weft_settings_warn("weft-info", environ);
}

/* Where a value comes from, with the place in the file; to be freed, or NULL. */
static char *describe_origin(enum weft_setting which)
{
    const struct weft_setting_origin origin = weft_setting_origin(which);
    char *text = NULL;
    int n = origin.path == NULL ? asprintf(&text, "%s", from_names[origin.from])
                                : asprintf(&text, "%s %s:%d", from_names[origin.from],
                                           origin.path, origin.line);

    return n < 0 ? NULL : text;
}

static int wider(int width, const char *text)
{
    return (int)strlen(text) > width ? (int)strlen(text) : width;
}

enum { MEANING_INDENT = 4, MEANING_WIDTH = 92 };

/* The meaning, with the values that there are, in lines under the setting. */
static void print_meaning(const struct weft_setting_row *row)
{
    const bool has_values = row->values != NULL && row->values[0] != '\0';
    char *text = NULL;
    int column = 0;

    if (asprintf(&text, "%s%s%s%s", row->meaning, has_values ? " [" : "",
                 has_values ? row->values : "", has_values ? "]" : "") < 0) {
        return;
    }
    for (char *rest, *word = strtok_r(text, " ", &rest); word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        const int length = (int)strlen(word);

        if (column > 0 && column + 1 + length > MEANING_WIDTH) {
            printf("\n");
            column = 0;
        }
        column += printf("%*s%s", column > 0 ? 1 : MEANING_INDENT, "", word);
    }
    printf("\n");
    free(text);
}

static void print_settings(void)
{
    char *origins[WEFT_SET_COUNT];
    char room[WEFT_SETTING_ROOM];
    int value_width = wider(0, "value");
    int origin_width = wider(0, "from");

    for (int i = 0; i < WEFT_SET_COUNT; i++) {
        origins[i] = describe_origin((enum weft_setting)i);
        origin_width = wider(origin_width, origins[i] != NULL ? origins[i] : "");
        value_width = wider(value_width, weft_setting_say((enum weft_setting)i, room));
    }
    printf("%-18s %-*s  %-*s  %-24s %s\n", "setting", value_width, "value", origin_width,
           "from", "unit", "default");
    for (int i = 0; i < WEFT_SET_COUNT; i++) {
        const struct weft_setting_row *row = weft_setting_row((enum weft_setting)i);

        printf("%-18s %-*s  %-*s  %-24s %s\n", row->name, value_width,
               weft_setting_say((enum weft_setting)i, room), origin_width,
               origins[i] != NULL ? origins[i] : "", row->unit, row->fallback);
        print_meaning(row);
        free(origins[i]);
    }
}

/* ---- what is built ---- */

static const char *fits_of(const struct weft_algorithm *algorithm)
{
    return algorithm->calls != NULL ? algorithm->calls : "all calls";
}

static void print_algorithms(void)
{
    const struct weft_algorithm *at;

    printf("%-20s  %-12s  %s\n", "collective", "algorithm", "fits");
    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        printf("%-20s  %-12s  %s\n", weft_coll_kind_name(at->kind), at->name,
               fits_of(at));
    }
}

/* The functions of a chapter that are built, and how many there are. */
static int count_built(int chapter, int *total)
{
    int built = 0;

    *total = 0;
    for (int i = 0; i < weft_function_count; i++) {
        if (weft_functions[i].group == chapter) {
            *total += 1;
            built += weft_functions[i].is_built ? 1 : 0;
        }
    }
    return built;
}

static const char *works(int built, int total)
{
    return built == 0 ? "no" : built < total ? "in part" : "yes";
}

static void print_chapters(void)
{
    int all_built = 0;

    printf("chapter                              built  of  works\n");
    for (int g = 0; g < weft_chapter_count; g++) {
        int total;
        const int built = count_built(g, &total);

        printf("%2d  %-32s %4d %4d  %s\n", weft_chapters[g].number,
               weft_chapters[g].title, built, total, works(built, total));
        all_built += built;
    }
    printf("    %-32s %4d %4d\n", "all", all_built, weft_function_count);
}

static void print_all(void)
{
    print_version();
    printf("library    libmpi_abi.so.1\n");
    printf(
        "transports shm (inside a node); between nodes, by libfabric, msg, or rdm where "
        "the network has no connections\n\n");
    print_settings();
}

/* ---- the same as JSON ---- */

static void write_version(struct json *json)
{
    json_begin(json, "version", '{');
    json_text(json, "weft", WEFT_VERSION);
    json_text(json, "mpi", WEFT_MPI_VERSION);
    json_text(json, "abi", WEFT_ABI_VERSION);
    json_text(json, "library", "libmpi_abi.so.1");
    json_end(json, '}');
}

static void write_setting(struct json *json, enum weft_setting which)
{
    const struct weft_setting_row *row = weft_setting_row(which);
    const struct weft_setting_origin origin = weft_setting_origin(which);
    char room[WEFT_SETTING_ROOM];

    json_begin(json, NULL, '{');
    json_text(json, "name", row->name);
    json_text(json, "value", weft_setting_say(which, room));
    json_text(json, "from", from_names[origin.from]);
    json_text(json, "file", origin.path);
    if (origin.path != NULL) {
        json_number(json, "line", origin.line);
    } else {
        json_text(json, "line", NULL);
    }
    json_text(json, "unit", row->unit);
    json_text(json, "default", row->fallback);
    json_text(json, "values",
              row->values != NULL && row->values[0] != '\0' ? row->values : NULL);
    json_text(json, "meaning", row->meaning);
    json_end(json, '}');
}

static void write_settings(struct json *json)
{
    json_begin(json, "settings", '[');
    for (int i = 0; i < WEFT_SET_COUNT; i++) {
        write_setting(json, (enum weft_setting)i);
    }
    json_end(json, ']');
}

static void write_algorithms(struct json *json)
{
    const struct weft_algorithm *at;

    json_begin(json, "algorithms", '[');
    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        json_begin(json, NULL, '{');
        json_text(json, "collective", weft_coll_kind_name(at->kind));
        json_text(json, "algorithm", at->name);
        json_text(json, "fits", fits_of(at));
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void write_chapters(struct json *json)
{
    json_begin(json, "chapters", '[');
    for (int g = 0; g < weft_chapter_count; g++) {
        int total;
        const int built = count_built(g, &total);

        json_begin(json, NULL, '{');
        json_number(json, "number", weft_chapters[g].number);
        json_text(json, "title", weft_chapters[g].title);
        json_number(json, "built", built);
        json_number(json, "of", total);
        json_text(json, "works", works(built, total));
        json_end(json, '}');
    }
    json_end(json, ']');
}

static void write_all(struct json *json)
{
    write_version(json);
    write_settings(json);
    write_algorithms(json);
    write_chapters(json);
}

/* ---- the command line ---- */

static const struct section {
    const char *option;
    void (*print)(void);
    void (*write)(struct json *json);
} sections[] = {
    {NULL, print_all, write_all},
    {"--version", print_version, write_version},
    {"--chapters", print_chapters, write_chapters},
    {"--settings", print_settings, write_settings},
    {"--algorithms", print_algorithms, write_algorithms},
};

static const struct section *find_section(const char *option)
{
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        const char *name = sections[i].option;

        if (name == NULL ? option == NULL : option != NULL && strcmp(option, name) == 0) {
            return &sections[i];
        }
    }
    return NULL;
}

static int tell_uses(const char *program, struct json *json)
{
    static struct uses uses;
    int code;

    if (!uses_read(program, &uses)) {
        return EXIT_TROUBLE;
    }
    if (json != NULL) {
        json_begin(json, NULL, '{');
        uses_write(program, &uses, json);
        json_end(json, '}');
    } else {
        uses_print(program, &uses);
    }
    code = !uses_is_for_weft(&uses)                      ? EXIT_TROUBLE
           : uses.missing_count + uses.unknown_count > 0 ? EXIT_MISSING
                                                         : EXIT_SUCCESS;
    uses_close(&uses);
    return code;
}

/* The words without --json, and whether it was there. */
static bool take_json(int *argc, char **argv)
{
    bool is_json = false;
    int kept = 1;

    for (int i = 1; i < *argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            is_json = true;
        } else {
            argv[kept++] = argv[i];
        }
    }
    argv[kept] = NULL;
    *argc = kept;
    return is_json;
}

/* Says in one line what is wrong with the words. */
static int refuse(const char *verb, int argc)
{
    const bool is_uses = strcmp(verb, "--uses") == 0;

    if (is_uses && argc == 2) {
        fprintf(stderr, "weft-info: --uses: the name of a program must follow\n");
    } else if (is_uses || find_section(verb) != NULL || strcmp(verb, "--help") == 0) {
        fprintf(stderr,
                "weft-info: too many words: weft-info --help lists the options\n");
    } else {
        fprintf(stderr, "weft-info: %s: unknown option; weft-info --help lists them\n",
                verb);
    }
    return EXIT_TROUBLE;
}

int main(int argc, char **argv)
{
    struct json json = {.to = stdout};
    const bool is_json = take_json(&argc, argv);
    const char *verb = argc > 1 ? argv[1] : NULL;
    const struct section *section = find_section(verb);

    if (section != NULL && argc <= 2) {
        read_settings();
    }
    if (section != NULL && argc <= 2 && is_json) {
        json_begin(&json, NULL, '{');
        section->write(&json);
        json_end(&json, '}');
    } else if (section != NULL && argc <= 2) {
        section->print();
    } else if (argc == 3 && strcmp(verb, "--uses") == 0) {
        return tell_uses(argv[2], is_json ? &json : NULL);
    } else if (argc == 2 && (strcmp(verb, "--help") == 0 || strcmp(verb, "-h") == 0)) {
        fputs(usage, stdout);
    } else {
        return refuse(verb, argc);
    }
    return EXIT_SUCCESS;
}
