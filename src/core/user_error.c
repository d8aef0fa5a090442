#include "core/user_error.h"

#include "base/pool.h"

#include "engine/lock.h"
#include "mpi.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = MPI_ERR_LASTCODE + 1, LIMIT = 1 << 24 };

struct user_error {
    int class;  /* itself, if it is a class */
    int codes;  /* of a class: how many codes it has, itself not counted */
    char *text; /* NULL: none */
};

static struct weft_pool pool; /* a code is FIRST + index */
static int last_used = MPI_ERR_LASTCODE;

static struct user_error *find(int code)
{
    uint32_t index = (uint32_t)(code - FIRST);
    uint32_t generation;

    weft_assert_object_locked();
    if (code < FIRST || pool.first == 0) {
        return NULL;
    }
    generation = weft_pool_generation(&pool, index);
    return generation != 0 ? weft_pool_find(&pool, index, generation) : NULL;
}

static enum weft_rc add(int class, int *code)
{
    void *object;
    uint32_t index;
    uint32_t generation;
    struct user_error *parent = find(class);
    enum weft_rc rc;

    if (pool.first == 0) {
        weft_pool_init(&pool, sizeof(struct user_error), 8, LIMIT);
    }
    rc = weft_pool_take(&pool, &object, &index, &generation);
    if (rc != WEFT_OK) {
        return rc;
    }
    *code = FIRST + (int)index;
    ((struct user_error *)object)->class = class != 0 ? class : *code;
    if (parent != NULL) {
        parent->codes++;
    }
    if (*code > last_used) {
        last_used = *code;
    }
    return WEFT_OK;
}

static enum weft_removed remove_one(int code, struct user_error *gone)
{
    struct user_error *parent = find(gone->class);

    assert(gone->codes == 0);
    if (parent != NULL && parent != gone) {
        parent->codes--;
    }
    free(gone->text);
    weft_pool_give(&pool, (uint32_t)(code - FIRST));
    while (last_used > MPI_ERR_LASTCODE && find(last_used) == NULL) {
        last_used--;
    }
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
    return found->codes > 0 || found->text != NULL ? WEFT_REMOVED_IN_USE
                                                   : remove_one(class, found);
}

enum weft_removed weft_user_error_remove_code(int code)
{
    struct user_error *found = find(code);

    if (found == NULL || found->class == code) {
        return WEFT_REMOVED_UNKNOWN;
    }
    return found->text != NULL ? WEFT_REMOVED_IN_USE : remove_one(code, found);
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
