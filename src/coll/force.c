#include "coll/force.h"

#include <stdio.h>
#include <string.h>

static const struct weft_algorithm *forced[WEFT_COLL_KINDS]; /* NULL: none */

/* A part of the text that is not ended by a zero. */
struct word {
    const char *text;
    int length;
};

static bool is_word(struct word word, const char *name)
{
    return strlen(name) == (size_t)word.length &&
           memcmp(name, word.text, (size_t)word.length) == 0;
}

/* Cuts the text at the first of these characters, or at its end. */
static struct word cut(const char *text, const char *at)
{
    return (struct word){text, (int)strcspn(text, at)};
}

/* ---- mistakes ---- */

/* Appends a name to a list of them, as far as there is room. */
static void add_name(char *why, size_t room, const char *before, const char *name)
{
    const size_t used = strlen(why);

    snprintf(why + used, room - used, "%s%s", before, name);
}

static enum weft_rc not_a_collective(struct word word, char *why, size_t room)
{
    snprintf(why, room, "WEFT_COLL: \"%.*s\" is no collective; they are", word.length,
             word.text);
    for (int kind = 0; kind < WEFT_COLL_KINDS; kind++) {
        add_name(why, room, kind == 0 ? " " : ", ",
                 weft_coll_kind_name((enum weft_coll_kind)kind));
    }
    return WEFT_ERR_ARGUMENT;
}

static enum weft_rc not_an_algorithm(enum weft_coll_kind kind, struct word word,
                                     char *why, size_t room)
{
    const struct weft_algorithm *at;
    const char *before = " ";

    snprintf(why, room, "WEFT_COLL: %s has no algorithm \"%.*s\"; it has",
             weft_coll_kind_name(kind), word.length, word.text);
    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        if (at->kind == kind) {
            add_name(why, room, before, at->name);
            before = ", ";
        }
    }
    return WEFT_ERR_ARGUMENT;
}

/* ---- reading ---- */

/* The kind of this name, or WEFT_COLL_KINDS. */
static int find_kind(struct word word)
{
    int kind = 0;

    while (kind < WEFT_COLL_KINDS &&
           !is_word(word, weft_coll_kind_name((enum weft_coll_kind)kind))) {
        kind++;
    }
    return kind;
}

static const struct weft_algorithm *find_algorithm(enum weft_coll_kind kind,
                                                   struct word word)
{
    const struct weft_algorithm *at;

    for (int i = 0; (at = weft_algorithm_at(i)) != NULL; i++) {
        if (at->kind == kind && is_word(word, at->name)) {
            return at;
        }
    }
    return NULL;
}

/* One "collective=algorithm". */
static enum weft_rc read_one(const char *text, const struct weft_algorithm **of,
                             char *why, size_t room)
{
    const struct word collective = cut(text, "=,");
    const int kind = find_kind(collective);
    const bool has_name = text[collective.length] == '=';
    const struct word name =
        cut(text + collective.length + (has_name ? 1 : 0), has_name ? "," : "");

    if (kind == WEFT_COLL_KINDS) {
        return not_a_collective(collective, why, room);
    }
    if (of[kind] != NULL) {
        snprintf(why, room, "WEFT_COLL: %s is there twice",
                 weft_coll_kind_name((enum weft_coll_kind)kind));
        return WEFT_ERR_ARGUMENT;
    }
    of[kind] = has_name ? find_algorithm((enum weft_coll_kind)kind, name) : NULL;
    return of[kind] != NULL
               ? WEFT_OK
               : not_an_algorithm((enum weft_coll_kind)kind, name, why, room);
}

enum weft_rc weft_force_read(const char *text, char *why, size_t room)
{
    const struct weft_algorithm *of[WEFT_COLL_KINDS] = {NULL};
    enum weft_rc rc = WEFT_OK;

    memset(forced, 0, sizeof(forced));
    while (*text != '\0' && rc == WEFT_OK) {
        rc = read_one(text, of, why, room);
        text += strcspn(text, ",");
        text += *text == ',' ? 1 : 0;
    }
    if (rc == WEFT_OK) {
        memcpy(forced, of, sizeof(forced));
    }
    return rc;
}

const struct weft_algorithm *weft_force_choose(enum weft_coll_kind kind,
                                               const struct weft_shape *shape)
{
    const struct weft_algorithm *of = forced[kind];

    return of != NULL && weft_algorithm_fits(of, shape)
               ? of
               : weft_algorithm_choose(kind, shape);
}
