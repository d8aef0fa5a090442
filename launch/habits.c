#include "habits.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- -configfile ---- */

/* Cuts the next word off a text, without its quotes; NULL at the end. */
static char *cut_word(char **text)
{
    char *from = *text + strspn(*text, " \t\r\n");
    char *to = from;
    char *word = from;
    char quote = '\0';

    if (*from == '\0') {
        return NULL;
    }
    for (; *from != '\0' && (quote != '\0' || strchr(" \t\r\n", *from) == NULL); from++) {
        if (quote == '\0' && (*from == '"' || *from == '\'')) {
            quote = *from;
        } else if (quote != '\0' && *from == quote) {
            quote = '\0';
        } else {
            *to++ = *from;
        }
    }
    *text = *from != '\0' ? from + 1 : from;
    *to = '\0';
    return word;
}

/* The words of a line behind those of the lines before it. */
static void add_line(struct list *words, char *line)
{
    static char colon[] = ":";
    bool is_first = true;

    for (char *word = cut_word(&line); word != NULL; word = cut_word(&line)) {
        if (is_first && words->count > 0) {
            list_add(words, colon);
        }
        is_first = false;
        list_add(words, word);
    }
}

/* A whole file, with a 0 behind it; NULL, with errno set, if it cannot be read. */
static char *read_all(const char *path)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t size = 0;

    if (file != NULL) {
        if (getdelim(&text, &size, '\0', file) < 0 && feof(file)) {
            free(text);
            text = strdup("");
        } else if (ferror(file)) {
            free(text);
            text = NULL;
        }
        fclose(file);
    }
    return text;
}

bool habits_read_config(const char *path, struct list *words)
{
    char *text = read_all(path);
    struct list lines = {NULL, 0};

    if (text == NULL) {
        fprintf(stderr, "%s: -configfile %s: %s\n", program_name, path, strerror(errno));
        return false;
    }
    for (char *line = text; *line != '\0';) {
        const bool is_comment = line[strspn(line, " \t")] == '#';
        char *end = line + strcspn(line, "\n");

        while (!is_comment && *end == '\n' && end > line && end[-1] == '\\') {
            end[-1] = ' ';
            *end = ' ';
            end += strcspn(end, "\n");
        }
        if (!is_comment) {
            list_add(&lines, line);
        }
        line = *end != '\0' ? end + 1 : end;
        *end = '\0';
    }
    for (int i = 0; i < lines.count; i++) {
        add_line(words, lines.at[i]);
    }
    free(lines.at);
    if (words->count == 0) {
        fprintf(stderr, "%s: -configfile %s: no program in this file\n", program_name,
                path);
        return false;
    }
    return true;
}

/* ---- -soft ---- */

/* The largest of "a", "a:b" or "a:b:c" that is not above `most`; 0: none, -1: no such. */
static int largest(const char *text, int most)
{
    long number[3] = {0, 0, 1};
    int count = 0;
    char *end;
    long top;

    do {
        number[count] = strtol(text, &end, 10);
        if (end == text || number[count] < 0 || number[count] > INT_MAX) {
            return -1;
        }
        count++;
        text = end + 1;
    } while (*end == ':' && count < 3);
    if (*end != '\0' || number[2] < 1) {
        return -1;
    }
    top = count == 1 ? number[0] : number[1];
    top = top < most ? top : most;
    return top < number[0] ? 0 : (int)(top - (top - number[0]) % number[2]);
}

int habits_soft(const char *list, int most)
{
    char *copy = strdup(list);
    int found = 0;
    bool is_wrong = copy == NULL || list[0] == '\0';

    for (char *rest, *word = copy != NULL ? strtok_r(copy, ",", &rest) : NULL;
         word != NULL; word = strtok_r(NULL, ",", &rest)) {
        const int value = largest(word, most);

        is_wrong = is_wrong || value < 0;
        found = value > found ? value : found;
    }
    free(copy);
    if (is_wrong) {
        fprintf(stderr, "%s: -soft %s: numbers of ranks are written as 4, 2:8 or 2:8:2\n",
                program_name, list);
        return 0;
    }
    if (found == 0) {
        fprintf(stderr, "%s: -soft %s: no number of this list is at most %d\n",
                program_name, list, most);
    }
    return found;
}

/* ---- -path ---- */

static bool is_program(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *habits_find(const char *folders, char *name)
{
    char *copy = strdup(folders);
    char *found = NULL;

    if (strchr(name, '/') != NULL) {
        free(copy);
        return name;
    }
    for (char *rest, *folder = copy != NULL ? strtok_r(copy, ":", &rest) : NULL;
         folder != NULL && found == NULL; folder = strtok_r(NULL, ":", &rest)) {
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), "%s/%s", folder, name) < (int)sizeof(path) &&
            is_program(path)) {
            found = realpath(path, NULL); /* -wdir may be another folder */
        }
    }
    free(copy);
    if (found == NULL) {
        fprintf(stderr, "%s: -path %s: there is no program %s\n", program_name, folders,
                name);
    }
    return found;
}

/* ---- --output ---- */

char *habits_output(const char *pattern, int rank)
{
    char *path = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&path, &size);

    if (to == NULL) {
        return NULL;
    }
    for (; *pattern != '\0'; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'r') {
            fprintf(to, "%d", rank);
            pattern++;
        } else {
            putc(*pattern, to);
        }
    }
    fclose(to);
    return path;
}

static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0777); /* what is wrong with it, open() says */
        *slash = '/';
    }
}

int habits_open_output(const char *pattern, int rank)
{
    char *path = habits_output(pattern, rank);
    int fd = -1;

    if (path != NULL && path[0] != '\0') {
        make_folders(path);
        fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    free(path);
    return fd;
}

/* ---- --mca ---- */

const char *habits_parameter(const char *name)
{
    /* A name that ends with * stands for all that begin so; the first that fits counts.
     */
    static const struct {
        const char *name;
        const char *instead;
    } table[] = {
        {"btl_tcp_if_*", "WEFT_NET names the network between hosts"},
        {"oob_tcp_if_*", "WEFT_NET names the network between hosts"},
        {"btl_tcp_port_*", "WEFT_PORTS is the range of ports"},
        {"oob_tcp_dynamic_*", "WEFT_PORTS is the range of ports"},
        {"btl_vader_*", "mpiexec --report tells how memory is reached inside a host"},
        {"btl_openib_*", "WEFT_NET names the network between hosts"},
        {"btl", "Weft chooses the networks; WEFT_TRANSPORT sets others"},
        {"pml", "Weft chooses the networks; WEFT_TRANSPORT sets others"},
        {"mtl", "Weft chooses the networks; WEFT_TRANSPORT sets others"},
        {"osc", "Weft chooses the way of one-sided operations; WEFT_RMA sets another"},
        {"coll*", "Weft chooses the algorithms; WEFT_COLL sets others"},
        {"plm_rsh_agent", "WEFT_RSH is the command that reaches other hosts"},
        {"orte_rsh_agent", "WEFT_RSH is the command that reaches other hosts"},
        {"rmaps_base_oversubscribe", "--oversubscribe allows more ranks than slots"},
        {"rmaps_*", "--map-by places ranks"},
        {"hwloc_base_report_bindings", "--report-bindings draws where ranks are bound"},
        {"hwloc_base_binding_policy", "--bind-to binds ranks"},
        {"orte_tag_output", "--label prints the rank in front of each line"},
        {"mpi_yield_when_idle", "ranks sleep while they wait"},
        {"orte_base_help_aggregate", "each error is one line"},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const size_t length = strcspn(table[i].name, "*");

        if (strncmp(table[i].name, name, length) == 0 &&
            (table[i].name[length] == '*' || name[length] == '\0')) {
            return table[i].instead;
        }
    }
    return "weft-info --settings lists the settings of Weft";
}
