/*
 * wrapper.c - mpicc, mpicxx, mpifort: the compiler, with what MPI needs added.
 *
 * One program under several names; the name of its file says the language, whatever a
 * symlink to it is called. What to add stands in wrappers.conf, found from where this
 * program lies, so that an installation can be moved and two of them do not disturb each
 * other. The flags go behind the user's: own -I and own libraries come first.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE = 4096 };

struct config {
    char folder[PATH_MAX]; /* of the file itself */
    char version[64];
    char includedir[PATH_MAX];
    char libdir[PATH_MAX];
    char fortrandir[PATH_MAX];
    char libs[256];
    char gfortran[256];  /* flags for gfortran alone */
    char compiler[LINE]; /* may hold several words */
};

/* The columns of the names that a compiler goes by. */
enum language { LANGUAGE_C, LANGUAGE_CXX, LANGUAGE_FORTRAN };

/* A list of words for execvp; the words are not copied. */
struct words {
    char **at;
    size_t count;
};

static const char *program = "mpicc";
static enum language language = LANGUAGE_C;

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s: %s\n", program, what, why);
    exit(1);
}

static void push(struct words *list, char *word)
{
    char **grown = realloc(list->at, (list->count + 2) * sizeof(*grown));

    if (grown == NULL) {
        fail("memory", strerror(errno));
    }
    list->at = grown;
    list->at[list->count++] = word;
    list->at[list->count] = NULL;
}

/* A new text. It lives as long as this program, which is not long. */
static char *join(const char *a, const char *b)
{
    static struct words made;
    char *text;

    if (asprintf(&text, "%s%s", a, b) < 0) {
        fail("memory", strerror(errno));
    }
    push(&made, text);
    return text;
}

/* Splits at blanks, in place. */
static void push_split(struct words *list, char *text)
{
    for (char *rest, *w = strtok_r(text, " ", &rest); w != NULL;
         w = strtok_r(NULL, " ", &rest)) {
        push(list, w);
    }
}

/* Where this program lies: puts the folder into `folder` and returns the file's name. */
static const char *find_self(char folder[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    char *slash;

    if (n < 0) {
        fail("/proc/self/exe", strerror(errno));
    }
    folder[n] = '\0';
    slash = strrchr(folder, '/');
    *slash = '\0';
    return slash + 1;
}

static FILE *open_config(struct config *conf, const char *self)
{
    static const char *const places[] = {"/wrappers.conf", "/" WEFT_CONF_FROM_BIN};

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        char *path = join(self, places[i]);
        FILE *file = fopen(path, "re");

        if (file != NULL) {
            if (realpath(path, conf->folder) == NULL) {
                fail(path, strerror(errno));
            }
            *strrchr(conf->folder, '/') = '\0';
            return file;
        }
    }
    fail("wrappers.conf", "not found beside this program nor in ../share/weft: "
                          "is the installation complete?");
}

static void set_text(char *to, size_t size, const char *value)
{
    if ((size_t)snprintf(to, size, "%s", value) >= size) {
        fail("wrappers.conf", "a value is too long");
    }
}

/* A folder, made absolute and plain. */
static void set_path(const struct config *conf, char *to, const char *value)
{
    char *path = value[0] == '/' ? join("", value) : join(join(conf->folder, "/"), value);

    if (realpath(path, to) == NULL) {
        fail(path, strerror(errno));
    }
}

static void take_line(struct config *conf, const char *key, const char *value,
                      const char *compiler_key)
{
    if (strcmp(key, "version") == 0) {
        set_text(conf->version, sizeof(conf->version), value);
    } else if (strcmp(key, "includedir") == 0) {
        set_path(conf, conf->includedir, value);
    } else if (strcmp(key, "libdir") == 0) {
        set_path(conf, conf->libdir, value);
    } else if (strcmp(key, "fortrandir") == 0) {
        const char *folder =
            value[0] == '/' ? value : join(join(conf->folder, "/"), value);

        set_text(conf->fortrandir, sizeof(conf->fortrandir), folder);
    } else if (strcmp(key, "libs") == 0) {
        set_text(conf->libs, sizeof(conf->libs), value);
    } else if (strcmp(key, "gfortran") == 0) {
        set_text(conf->gfortran, sizeof(conf->gfortran), value);
    } else if (strcmp(key, compiler_key) == 0) {
        set_text(conf->compiler, sizeof(conf->compiler), value);
    }
}

static void read_config(struct config *conf, const char *self, const char *compiler_key)
{
    FILE *file = open_config(conf, self);
    char line[LINE];
    char key[64];
    char value[LINE];

    while (fgets(line, sizeof(line), file) != NULL) {
        if (line[0] != '#' && sscanf(line, " %63[a-z] = %4095[^\n]", key, value) == 2) {
            take_line(conf, key, value, compiler_key);
        }
    }
    fclose(file);
}

/* The environment's compiler, if any: ours, then the names hands bring along. */
static void override_compiler(struct config *conf)
{
    static const char *const names[3][3] = {{"WEFT_CC", "MPICH_CC", "OMPI_CC"},
                                            {"WEFT_CXX", "MPICH_CXX", "OMPI_CXX"},
                                            {"WEFT_FC", "MPICH_FC", "OMPI_FC"}};

    for (int i = 0; i < 3; i++) {
        const char *value = getenv(names[language][i]);

        if (value != NULL && value[0] != '\0') {
            set_text(conf->compiler, sizeof(conf->compiler), value);
            return;
        }
    }
}

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(word, *list) == 0) {
            return true;
        }
    }
    return false;
}

/* Does the compiler get as far as linking, with these arguments? */
static bool is_linking(char **args)
{
    /* -r makes one object of several; our library does not belong into it. */
    static const char *const stops[] = {
        "-c", "-S", "-E", "-M", "-MM", "-r", "-fsyntax-only", NULL};
    static const char *const takes_word[] = {
        "-o",       "-x",      "-I",        "-L",       "-D",      "-U",      "-T",
        "-u",       "-z",      "-MF",       "-MT",      "-MQ",     "-target", "-include",
        "-isystem", "-iquote", "-isysroot", "-Xlinker", "-Xclang", NULL};
    bool has_input = false;

    for (; *args != NULL; args++) {
        if (is_one_of(*args, stops)) {
            return false;
        }
        if (is_one_of(*args, takes_word) && args[1] != NULL) {
            args++;
        } else if ((*args)[0] != '-' || (*args)[1] == '\0' || (*args)[1] == 'l') {
            has_input = true;
        }
    }
    return has_input;
}

/* The folder with library and modules for the Fortran compiler in use. */
static char *fortran_folder(const struct config *conf)
{
    static char folder[PATH_MAX];
    const bool is_flang = strstr(conf->compiler, "flang") != NULL;
    const char *const paths[] = {join(conf->fortrandir, "/gfortran"),
                                 join(conf->fortrandir, "/flang")};

    if (realpath(paths[is_flang], folder) != NULL) {
        return folder;
    }
    if (access(paths[!is_flang], F_OK) == 0) {
        fail(conf->compiler,
             is_flang ? "Weft was built for gfortran only: set WEFT_FC=gfortran, or "
                        "build Weft again with -Dflang=enabled"
                      : "Weft was built for flang only: set WEFT_FC=flang, or install "
                        "gfortran and build Weft again");
    }
    fail(conf->compiler,
         "Weft was built without Fortran: install gfortran and build Weft again "
         "(Debian's package: libweft-fortran-dev)");
}

static void push_compile(struct words *list, const struct config *conf)
{
    push(list, join("-I", conf->includedir));
    if (language == LANGUAGE_FORTRAN) {
        push(list, join("-I", fortran_folder(conf)));
        if (strstr(conf->compiler, "flang") == NULL) {
            push_split(list, join("", conf->gfortran));
        }
    }
}

static void push_link(struct words *list, const struct config *conf)
{
    if (language == LANGUAGE_FORTRAN) {
        push(list, join("-L", fortran_folder(conf)));
        push(list, join("-Wl,-rpath,", fortran_folder(conf)));
        push(list, "-lmpifort_abi");
    }
    push(list, join("-L", conf->libdir));
    push(list, join("-Wl,-rpath,", conf->libdir));
    push(list, "-Wl,--enable-new-dtags"); /* so that LD_LIBRARY_PATH can swap it */
    push_split(list, join("", conf->libs));
}

/* How much of a word stays before its quotes: CMake's FindMPI reads -I"a b" alone. */
static size_t flag_length(const char *word)
{
    static const char *const flags[] = {"-I", "-L", "-Wl,"};

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strncmp(word, flags[i], strlen(flags[i])) == 0) {
            return strlen(flags[i]);
        }
    }
    return 0;
}

/* Prints a word so that a shell reads it back as it is. */
static void print_word(const char *word)
{
    if (word[0] != '\0' && strpbrk(word, " \t\n'\"\\$&;|<>()*?`~#!{}[]") == NULL) {
        fputs(word, stdout);
        return;
    }
    for (size_t n = flag_length(word); n > 0; n--) {
        putchar(*word++);
    }
    if (strpbrk(word, "\"\\$`!") == NULL) {
        printf("\"%s\"", word);
        return;
    }
    putchar('\'');
    for (; *word != '\0'; word++) {
        fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, stdout);
    }
    putchar('\'');
}

static void print_words(const struct words *list)
{
    for (size_t i = 0; i < list->count; i++) {
        fputs(i > 0 ? " " : "", stdout);
        print_word(list->at[i]);
    }
    putchar('\n');
}

static void print_help(const struct config *conf)
{
    printf(
        "%s: calls %s with the flags that Weft %s needs\n\n"
        "All options go to the compiler, except these:\n"
        "  -show, -showme        print the compiler's command; do not run it\n"
        "  -showme:compile       print the flags for compiling\n"
        "  -showme:link          print the flags for linking\n"
        "  -showme:incdirs, -showme:libdirs, -showme:libs, -showme:command,\n"
        "  -showme:version       print only that\n"
        "  -compile-info, -link-info    print the command for compiling, or linking\n"
        "  -cc=COMPILER, -cxx=COMPILER, -fc=COMPILER  use this compiler (also: WEFT_CC,\n"
        "                        WEFT_CXX, WEFT_FC)\n"
        "  -help                 print this text\n",
        program, conf->compiler, conf->version);
}

/* Answers a question about the wrapper itself; false if `word` is none. */
static bool answer(const char *word, const struct config *conf)
{
    static struct words out;

    word += strncmp(word, "--showme:", 9) == 0 ? 1 : 0;
    if (strcmp(word, "-showme:compile") == 0) {
        push_compile(&out, conf);
    } else if (strcmp(word, "-showme:link") == 0) {
        push_link(&out, conf);
    } else if (strcmp(word, "-showme:incdirs") == 0) {
        push(&out, join("", conf->includedir));
        if (language == LANGUAGE_FORTRAN) {
            push(&out, fortran_folder(conf));
        }
    } else if (strcmp(word, "-showme:libdirs") == 0) {
        push(&out, join("", conf->libdir));
        if (language == LANGUAGE_FORTRAN) {
            push(&out, fortran_folder(conf));
        }
    } else if (strcmp(word, "-showme:libs") == 0) {
        if (language == LANGUAGE_FORTRAN) {
            push(&out, "mpifort_abi");
        }
        push(&out, "mpi_abi");
    } else if (strcmp(word, "-showme:command") == 0) {
        push_split(&out, join("", conf->compiler));
    } else if (strcmp(word, "-compile-info") == 0 || strcmp(word, "-compile_info") == 0) {
        push_split(&out, join("", conf->compiler));
        push_compile(&out, conf);
    } else if (strcmp(word, "-link-info") == 0 || strcmp(word, "-link_info") == 0) {
        push_split(&out, join("", conf->compiler));
        push_link(&out, conf);
    } else if (strcmp(word, "-showme:version") == 0) {
        printf("%s: Weft %s\n", program, conf->version);
        return true;
    } else if (strcmp(word, "-help") == 0 || strcmp(word, "--help") == 0) {
        print_help(conf);
        return true;
    } else {
        return false;
    }
    print_words(&out);
    return true;
}

/* Takes our own words out of the user's, into the settings. True: the command is to be
 * shown. */
static bool sort_words(char **argv, struct config *conf, struct words *user)
{
    static const char *const choices[] = {"-cc=", "-cxx=", "-fc="};
    static const char *const shows[] = {"-show", "-showme", "--showme", NULL};
    const char *choice = choices[language];
    bool is_showing = false;

    push(user, "");
    user->count = 0;
    for (int i = 1; argv[i] != NULL; i++) {
        if (is_one_of(argv[i], shows)) {
            is_showing = true;
        } else if (strncmp(argv[i], choice, strlen(choice)) == 0) {
            set_text(conf->compiler, sizeof(conf->compiler), strchr(argv[i], '=') + 1);
        } else {
            push(user, argv[i]);
        }
    }
    user->at[user->count] = NULL;
    return is_showing;
}

/* The compiler, the user's words, and what they need to find MPI. */
static void make_command(struct config *conf, struct words *user, bool is_showing,
                         struct words *command)
{
    push_split(command, conf->compiler);
    if (command->count == 0) {
        fail("no compiler", "set WEFT_CC, WEFT_CXX or WEFT_FC to one");
    }
    for (size_t i = 0; i < user->count; i++) {
        push(command, user->at[i]);
    }
    push_compile(command, conf);
    if (is_linking(user->at) || (is_showing && user->count == 0)) {
        push_link(command, conf);
    }
}

int main(int argc, char **argv)
{
    struct config conf = {.version = ""};
    static struct words user;
    static struct words command;
    static const char *const keys[] = {"cc", "cxx", "fc"};
    bool is_showing;
    char self[PATH_MAX];
    const char *name = find_self(self);

    (void)argc;
    program = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];
    if (strncmp(name, "mpif", 4) == 0) {
        language = LANGUAGE_FORTRAN;
    } else if (strncmp(name, "mpicxx", 6) == 0 || strncmp(name, "mpic++", 6) == 0) {
        language = LANGUAGE_CXX;
    }
    read_config(&conf, self, keys[language]);
    override_compiler(&conf);

    is_showing = sort_words(argv, &conf, &user);
    for (size_t i = 0; i < user.count; i++) {
        if (answer(user.at[i], &conf)) {
            return 0;
        }
    }

    make_command(&conf, &user, is_showing, &command);
    if (is_showing) {
        print_words(&command);
        return 0;
    }
    execvp(command.at[0], command.at);
    fail(command.at[0], errno == ENOENT
                            ? "no such compiler; set WEFT_CC, WEFT_CXX or WEFT_FC"
                            : strerror(errno));
}
