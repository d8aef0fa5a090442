#include "debug.h"

#include "rsh.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add(struct list *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add(struct list *words, const char *format, ...)
{
    va_list args;
    char *word;

    va_start(args, format);
    if (vasprintf(&word, format, args) < 0) {
        perror(program_name);
        exit(1);
    }
    va_end(args);
    list_add(words, word);
}

/* The debugger of LLVM takes other words than gdb, whose words others have taken over. */
static bool is_lldb(const struct plan *plan)
{
    const char *path = plan->debugger.at[0];
    const char *name = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;

    return strncmp(name, "lldb", 4) == 0;
}

static void add_lldb_words(struct list *words, pid_t pid, const char *commands)
{
    add(words, "-o");
    add(words, "process handle -s false -n false -p false SIGCONT");
    add(words, "-o");
    add(words, "platform shell kill -CONT %d", pid);
    if (commands != NULL) {
        add(words, "--batch");
        add(words, "-s");
        add(words, "%s", commands);
    }
    add(words, "-p");
    add(words, "%d", pid);
}

static void add_gdb_words(struct list *words, pid_t pid, const char *commands)
{
    add(words, "-q");
    if (commands != NULL) {
        add(words, "-batch");
    }
    add(words, "-p");
    add(words, "%d", pid);
    add(words, "-ex");
    add(words, "handle SIGCONT nostop noprint nopass");
    add(words, "-ex");
    add(words, "shell kill -CONT %d", pid);
    if (commands != NULL) {
        add(words, "-x");
        add(words, "%s", commands);
    }
}

void debug_make_words(const struct plan *plan, pid_t pid, const char *commands,
                      struct list *words)
{
    *words = (struct list){NULL, 0};
    for (int i = 0; i < plan->debugger.count; i++) {
        add(words, "%s", plan->debugger.at[i]);
    }
    if (is_lldb(plan)) {
        add_lldb_words(words, pid, commands);
    } else {
        add_gdb_words(words, pid, commands);
    }
}

void debug_free_words(struct list *words)
{
    for (int i = 0; i < words->count; i++) {
        free(words->at[i]);
    }
    free(words->at);
    *words = (struct list){NULL, 0};
}

char *debug_join_words(const struct list *words)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);

    for (int i = 0; to != NULL && i < words->count; i++) {
        char *quoted = rsh_quote(words->at[i]);

        fprintf(to, "%s%s", i > 0 ? " " : "", quoted != NULL ? quoted : "");
        free(quoted);
    }
    if (to == NULL || fclose(to) != 0) {
        perror(program_name);
        exit(1);
    }
    return text;
}
