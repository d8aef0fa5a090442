#include "core/user_error.h"

#include "mpi.h"

#include <stdlib.h>
#include <string.h>

struct user_error {
    struct user_error *older;
    int code;
    int class; /* itself, if it is a class */
    char *text;
};

static struct user_error *newest;
static int next_code = MPI_ERR_LASTCODE + 1;
static int last_used = MPI_ERR_LASTCODE;

static struct user_error *find(int code)
{
    struct user_error *e = newest;

    while (e != NULL && e->code != code) {
        e = e->older;
    }
    return e;
}

static enum weft_rc add(int class, int *code)
{
    struct user_error *e = calloc(1, sizeof(*e));

    if (e == NULL) {
        return WEFT_ERR_NOMEM;
    }
    e->code = next_code++;
    e->class = class != 0 ? class : e->code;
    e->older = newest;
    newest = e;
    last_used = e->code;
    *code = e->code;
    return WEFT_OK;
}

static enum weft_removed unlink_and_free(struct user_error *gone)
{
    struct user_error **at = &newest;

    while (*at != gone) {
        at = &(*at)->older;
    }
    *at = gone->older;
    last_used = newest != NULL ? newest->code : MPI_ERR_LASTCODE;
    free(gone->text);
    free(gone);
    return WEFT_REMOVED;
}

enum weft_rc weft_user_error_add_class(int *class)
{
    return add(0, class);
}

enum weft_rc weft_user_error_add_code(int class, int *code)
{
    return add(class, code);
}

enum weft_rc weft_user_error_set_text(int code, const char *text)
{
    struct user_error *e = find(code);
    char *copy = NULL;

    if (text[0] != '\0') {
        copy = strndup(text, MPI_MAX_ERROR_STRING - 1);
        if (copy == NULL) {
            return WEFT_ERR_NOMEM;
        }
    }
    free(e->text);
    e->text = copy;
    return WEFT_OK;
}

enum weft_removed weft_user_error_remove_class(int class)
{
    struct user_error *found = find(class);

    if (found == NULL || found->class != class) {
        return WEFT_REMOVED_UNKNOWN;
    }
    for (const struct user_error *e = newest; e != NULL; e = e->older) {
        if (e->class == class && e != found) {
            return WEFT_REMOVED_IN_USE;
        }
    }
    return unlink_and_free(found);
}

enum weft_removed weft_user_error_remove_code(int code)
{
    struct user_error *found = find(code);

    if (found == NULL || found->class == code) {
        return WEFT_REMOVED_UNKNOWN;
    }
    return found->text != NULL ? WEFT_REMOVED_IN_USE : unlink_and_free(found);
}

enum weft_removed weft_user_error_remove_text(int code)
{
    struct user_error *found = find(code);

    if (found == NULL || found->text == NULL) {
        return WEFT_REMOVED_UNKNOWN;
    }
    free(found->text);
    found->text = NULL;
    return WEFT_REMOVED;
}

bool weft_user_error_find(int code, int *class, const char **text)
{
    const struct user_error *found = find(code);

    if (found == NULL) {
        return false;
    }
    *class = found->class;
    *text = found->text != NULL ? found->text : "";
    return true;
}

const int *weft_user_error_last(void)
{
    return &last_used;
}
