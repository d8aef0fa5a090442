/*
 * command.c - reads the command line.
 */
#include "gauge/command.h"
#include "gauge/layers.h"
#include "gauge/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct gauge_option gauge_core_options[] = {
    {"ends", GAUGE_COUNT, "0", "N",
     "number of ends; 0: two, or as many as a launcher started"},
    {"sizes", GAUGE_TEXT, "0,1,8,64,512,1K,4K,16K,64K,256K,1M", "LIST",
     "message sizes, such as 0,1,64:4K; a:b goes up by doubling"},
    {"width", GAUGE_NUMBER, "2", "PERCENT",
     "stop when the 95 % interval is narrower than this part of the median"},
    {"time", GAUGE_NUMBER, "1", "SECONDS", "or after this time at a point"},
    {"samples", GAUGE_COUNT, "20000", "N", "or after this number of samples"},
    {"seed", GAUGE_COUNT, "1", "N",
     "seed of all random choices, the order of sizes included"},
    {"no-verify", GAUGE_FLAG, "no", NULL, "do not check the received bytes"},
    {"json", GAUGE_TEXT, "", "FILE", "write JSON lines to a new file"},
    {"csv", GAUGE_TEXT, "", "FILE", "write the rows without samples to a new file"},
    {"plot", GAUGE_TEXT, "", "FILE", "draw a new file, .svg or .png, through gnuplot"},
    {"quiet", GAUGE_FLAG, "no", NULL, "print no live line"},
    {"no-pin", GAUGE_FLAG, "no", NULL, "do not bind forked ends to processors"},
    {"fork", GAUGE_FLAG, "no", NULL, "fork the ends, even under a launcher"},
    {"listen", GAUGE_TEXT, "", "HOST:PORT", "wait for the other ends here"},
    {"join", GAUGE_TEXT, "", "HOST:PORT",
     "join the ends that HOST:PORT collects (--listen)"},
    {"token", GAUGE_TEXT, "", "TEXT",
     "token that ends must know to join; other users cannot see it in "
     "WEFT_GAUGE_TOKEN"},
    {"control", GAUGE_TEXT, "", "HOST:PORT",
     "address on the machine of end 0 where launched ends on several machines meet"},
    {NULL, GAUGE_TEXT, NULL, NULL, NULL},
};

static bool append_size(size_t **sizes, size_t *count, size_t size)
{
    size_t *grown = realloc(*sizes, (*count + 1) * sizeof(*grown));

    if (grown == NULL) {
        return false;
    }
    *sizes = grown;
    grown[(*count)++] = size;
    return true;
}

static int compare_sizes(const void *a, const void *b)
{
    size_t x = *(const size_t *)a;
    size_t y = *(const size_t *)b;

    return (x > y) - (x < y);
}

static void sort_once(size_t *sizes, size_t *count)
{
    size_t kept = 0;

    qsort(sizes, *count, sizeof(*sizes), compare_sizes);
    for (size_t i = 0; i < *count; i++) {
        if (i == 0 || sizes[i] != sizes[kept - 1]) {
            sizes[kept++] = sizes[i];
        }
    }
    *count = kept;
}

const char *gauge_sizes_read(const char *text, size_t **sizes, size_t *count)
{
    static const char fault[] = "--sizes wants a list such as 0,1,64:4K";

    *sizes = NULL;
    *count = 0;
    do {
        size_t from = 0;
        size_t to = 0;

        if (!gauge_bytes_read(text, &text, &from)) {
            return fault;
        }
        to = from;
        if (*text == ':' && (!gauge_bytes_read(text + 1, &text, &to) || to < from)) {
            return fault;
        }
        for (size_t size = from; size <= to; size = size == 0 ? 1 : 2 * size) {
            if (!append_size(sizes, count, size)) {
                return "no memory for the list of sizes";
            }
        }
    } while (*text++ == ',');
    if (text[-1] != '\0') {
        return fault;
    }
    sort_once(*sizes, count);
    return NULL;
}

static struct gauge_option *find_option(const struct gauge_command *command,
                                        const char *name)
{
    struct gauge_option *option = gauge_option_find(gauge_core_options, name);

    if (option == NULL && command->pattern != NULL) {
        option = gauge_option_find(command->pattern->options, name);
    }
    if (option == NULL && command->module != NULL) {
        option = gauge_option_find(command->module->options, name);
    }
    if (option == NULL && command->layers > 0) {
        option = gauge_option_find(gauge_layers_options, name);
    }
    for (int i = 0; option == NULL && i < command->layers; i++) {
        option = gauge_option_find(command->layer[i]->options, name);
    }
    return option;
}

/* Every layer that knows the option gets it. */
static void tell_layers(const struct gauge_command *command,
                        const struct gauge_option *told)
{
    for (int i = 0; i < command->layers; i++) {
        struct gauge_option *option =
            gauge_option_find(command->layer[i]->options, told->name);

        if (option != NULL && option->kind == told->kind) {
            option->value = told->value;
        }
    }
}

/* Takes "--name", "--name=value" or "--name value"; how many words, 0 after a fault. */
static int read_option(const struct gauge_command *command, int left, char **word)
{
    char name[64];
    const char *equals = strchr(word[0], '=');
    size_t length = equals != NULL ? (size_t)(equals - word[0]) : strlen(word[0]);
    struct gauge_option *option = NULL;
    const char *fault = NULL;
    int used = 1;

    snprintf(name, sizeof(name), "%.*s", (int)length - 2, word[0] + 2);
    option = find_option(command, name);
    if (option == NULL) {
        gauge_fail("there is no option --%s here; see weft-gauge --help, and "
                   "weft-gauge describe NAME for those of a pattern or module",
                   name);
        return 0;
    }
    if (option->kind == GAUGE_FLAG && equals == NULL) {
        fault = gauge_option_set(option, "yes");
    } else if (equals != NULL) {
        fault = gauge_option_set(option, equals + 1);
    } else if (left < 2) {
        fault = "the last option wants a value";
    } else {
        fault = gauge_option_set(option, word[1]);
        used = 2;
    }
    if (fault != NULL) {
        gauge_fail("%s", fault);
        return 0;
    }
    tell_layers(command, option);
    return used;
}

/* Which layers there are says which options there are, so what names them is looked for
 * first. */
static bool read_layers(struct gauge_command *command, int argc, char **argv)
{
    const char *names = "";
    bool is_network = false;

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--over=", 7) == 0) {
            names = argv[i] + 7;
        } else if (strcmp(argv[i], "--over") == 0 && i + 1 < argc) {
            names = argv[i + 1];
        }
        is_network = is_network || strcmp(argv[i], "--network") == 0;
    }
    if (command->words > 1) {
        gauge_fail("layers takes one pattern: weft-gauge layers stream --over shm,weft");
        return false;
    }
    command->pattern =
        gauge_pattern_find(command->words == 1 ? command->word[0] : "one_one");
    if (command->pattern == NULL) {
        gauge_fail("there is no pattern \"%s\"; weft-gauge list names all",
                   command->word[0]);
        return false;
    }
    return gauge_layers_read(command, names, is_network);
}

/* An option is text until the verb's words are known, so words come first. */
static bool read_words(struct gauge_command *command, int argc, char **argv)
{
    for (int i = 1; i < argc && strncmp(argv[i], "--", 2) != 0; i++) {
        if (command->verb == NULL) {
            command->verb = argv[i];
        } else if (command->words == (int)(sizeof(command->word) / sizeof(char *))) {
            gauge_fail("too many words");
            return false;
        } else {
            command->word[command->words++] = argv[i];
        }
    }
    if (command->verb != NULL && strcmp(command->verb, "layers") == 0) {
        return read_layers(command, argc, argv);
    }
    if (command->verb == NULL || strcmp(command->verb, "run") != 0) {
        return true;
    }
    if (command->words != 2) {
        gauge_fail("run wants a pattern and a module, before any option: "
                   "weft-gauge run one_one shm");
        return false;
    }
    command->pattern = gauge_pattern_find(command->word[0]);
    command->module = gauge_module_find(command->word[1]);
    if (command->pattern == NULL || command->module == NULL) {
        gauge_fail("there is no %s \"%s\"; weft-gauge list names all",
                   command->pattern == NULL ? "pattern" : "module",
                   command->word[command->pattern == NULL ? 0 : 1]);
        return false;
    }
    return true;
}

static const char *text_or_null(const char *name)
{
    const char *text = gauge_option_text(gauge_core_options, name);

    return text[0] != '\0' ? text : NULL;
}

static bool settle(struct gauge_command *command)
{
    struct gauge_option *core = gauge_core_options;
    const char *fault = NULL;

    command->settings = (struct gauge_settings){
        .width = gauge_option_number(core, "width") / 100,
        .seconds = gauge_option_number(core, "time"),
        .most = gauge_option_bytes(core, "samples"),
        .seed = gauge_option_bytes(core, "seed"),
        .is_verified = !gauge_option_flag(core, "no-verify"),
        .is_quiet = gauge_option_flag(core, "quiet"),
    };
    command->start = (struct gauge_start){
        .ends = (int)gauge_option_bytes(core, "ends"),
        .listen = text_or_null("listen"),
        .join = text_or_null("join"),
        .control = text_or_null("control"),
        .token = text_or_null("token"),
        .is_forked = gauge_option_flag(core, "fork"),
        .is_pinned = !gauge_option_flag(core, "no-pin"),
    };
    command->start.is_together =
        command->module != NULL && (command->module->flags & GAUGE_TOGETHER) != 0;
    command->json = text_or_null("json");
    command->csv = text_or_null("csv");
    command->plot = text_or_null("plot");
    if (command->module != NULL && command->start.ends == 0 &&
        (command->module->flags & GAUGE_ALONE)) {
        command->start.ends = 1;
    }
    fault = gauge_sizes_read(gauge_option_text(core, "sizes"), &command->settings.sizes,
                             &command->settings.size_count);
    if (fault != NULL) {
        gauge_fail("%s", fault);
    }
    return fault == NULL;
}

/*
 * Every user of the machine can read the words that a program was started with. The value
 * of --token is kept elsewhere and overwritten there.
 */
static bool hide_token(struct gauge_command *command, int argc, char **argv)
{
    static char kept[256];

    if (command->start.token == NULL) {
        return true;
    }
    if (strlen(command->start.token) >= sizeof(kept)) {
        gauge_fail("--token: at most %zu characters", sizeof(kept) - 1);
        return false;
    }
    strcpy(kept, command->start.token);
    command->start.token = kept;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--token=", 8) == 0) {
            memset(argv[i] + 8, 'x', strlen(argv[i] + 8));
        } else if (strcmp(argv[i - 1], "--token") == 0) {
            memset(argv[i], 'x', strlen(argv[i]));
        }
    }
    return true;
}

bool gauge_command_read(struct gauge_command *command, int argc, char **argv)
{
    int i = 1;

    *command = (struct gauge_command){0};
    if (!read_words(command, argc, argv)) {
        return false;
    }
    i += command->words + (command->verb != NULL ? 1 : 0);
    while (i < argc) {
        int used = 0;

        if (strncmp(argv[i], "--", 2) != 0) {
            gauge_fail("\"%s\" stands after an option that takes no value", argv[i]);
            return false;
        }
        used = read_option(command, argc - i, argv + i);
        if (used == 0) {
            return false;
        }
        i += used;
    }
    return settle(command) && hide_token(command, argc, argv);
}

void gauge_command_free(struct gauge_command *command)
{
    free(command->settings.sizes);
    command->settings.sizes = NULL;
}
