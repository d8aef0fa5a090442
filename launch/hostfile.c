/*
 * hostfile.c - hosts from a file: see hosts.h. A line is in the manner of Open MPI ("b
 * slots=4 max_slots=8"), hydra ("b:4"), PBS ("b", once for each slot), SGE ("b 4" and
 * more) or Slurm ("n[1-3]"). What a line says and nobody understands is an error.
 */
#include "hosts.h"

#include "plan.h"
#include "texts.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One line, and what it says. */
struct line {
    const char *path;
    int number;
    const char *name;
    int slots;
    int most;
};

static bool is_one_of(const char *word, const char *words)
{
    const size_t length = strlen(word);

    for (const char *w = words; w != NULL; w = strchr(w, ' ')) {
        w += *w == ' ' ? 1 : 0;
        if (strncmp(w, word, length) == 0 && (w[length] == ' ' || w[length] == '\0')) {
            return length > 0;
        }
    }
    return false;
}

/* One word behind the name. */
static bool read_word(struct line *line, char *word)
{
    char *value = strchr(word, '=');

    if (value != NULL) {
        *value++ = '\0';
        if (is_one_of(word, "slots cpu cpus count")) {
            return hosts_read_slots(value, line->name, &line->slots);
        }
        if (is_one_of(word, "max_slots max-slots slots_max slots-max")) {
            return hosts_read_slots(value, line->name, &line->most);
        }
    }
    fprintf(stderr, "%s: " TEXT_HOSTS_LINE "\n", program_name, line->path, line->number,
            word);
    return false;
}

/* Takes the comment off, and blanks around "=". */
static void tidy(char *text)
{
    char *to = text;

    text[strcspn(text, "#\r\n")] = '\0';
    for (const char *from = text; *from != '\0'; from++) {
        if (*from == '=') {
            while (to > text && isblank((unsigned char)to[-1])) {
                to--;
            }
        }
        if (!isblank((unsigned char)*from) || to == text || to[-1] != '=') {
            *to++ = *from;
        }
    }
    *to = '\0';
}

static bool add_line(struct hosts *hosts, const char *path, int number, char *text)
{
    static const char blanks[] = " \t";
    struct line line = {.path = path, .number = number};
    char *rest;
    char *word;

    tidy(text);
    line.name = strtok_r(text, blanks, &rest);
    if (line.name == NULL) {
        return true;
    }
    word = strtok_r(NULL, blanks, &rest);
    if (word != NULL && isdigit((unsigned char)*word)) { /* what follows is SGE's own */
        return hosts_read_slots(word, line.name, &line.slots) &&
               hosts_add_word(hosts, line.name, line.slots, 0);
    }
    for (; word != NULL; word = strtok_r(NULL, blanks, &rest)) {
        if (!read_word(&line, word)) {
            return false;
        }
    }
    if (line.slots == 0 && strchr(line.name, ':') == NULL) {
        line.slots = line.most;
    }
    return hosts_add_word(hosts, line.name, line.slots, line.most);
}

bool hosts_add_file(struct hosts *hosts, const char *path)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    bool is_good = true;
    const int before = hosts->count;

    if (file == NULL) {
        fprintf(stderr, "%s: " TEXT_HOSTS_FILE "\n", program_name, path, strerror(errno));
        return false;
    }
    for (int number = 1; is_good && getline(&line, &room, file) > 0; number++) {
        is_good = add_line(hosts, path, number, line);
    }
    free(line);
    fclose(file);
    if (is_good && hosts->count == before && before == 0) {
        fprintf(stderr, "%s: " TEXT_HOSTS_NONE "\n", program_name, path);
        return false;
    }
    return is_good;
}
