#include "base/environment.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A list with room for one more than it was made from, its new text behind it. */
struct list {
    struct list *before; /* the one made before it: kept, since somebody may walk it */
    char *texts[];
};

static struct {
    pthread_mutex_t mutex;
    struct list *newest;
} made = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool is_of(const char *text, const char *name, size_t length)
{
    return strncmp(text, name, length) == 0 && text[length] == '=';
}

/* The place of the variable in the list, or of the NULL behind the last one. */
static size_t place_of(char *const *texts, const char *name)
{
    const size_t length = strlen(name);
    size_t i = 0;

    while (texts[i] != NULL && !is_of(texts[i], name, length)) {
        i++;
    }
    return i;
}

static size_t count_of(char *const *texts)
{
    size_t count = 0;

    while (texts[count] != NULL) {
        count++;
    }
    return count;
}

/*
 * The store of environ pairs with the load by which getenv() begins: whoever finds the
 * new list finds its texts.
 */
static bool replace_list(const char *name, const char *value)
{
    static char *nothing[1];
    char *const *old = environ != NULL ? environ : nothing;
    const size_t count = count_of(old);
    const size_t place = place_of(old, name);
    const size_t length = strlen(name);
    const size_t bytes = length + 1 + strlen(value) + 1;
    struct list *list = malloc(sizeof(*list) + (count + 2) * sizeof(char *) + bytes);
    char *text;

    if (list == NULL) {
        return false;
    }
    text = (char *)&list->texts[count + 2];
    memcpy(text, name, length);
    text[length] = '=';
    memcpy(text + length + 1, value, bytes - length - 1);
    memcpy(list->texts, old, count * sizeof(char *));
    list->texts[count] = NULL;
    list->texts[place] = text;
    list->texts[count + 1] = NULL;
    list->before = made.newest;
    made.newest = list;
    __atomic_store_n(&environ, list->texts, __ATOMIC_RELEASE);
    return true;
}

bool weft_environment_set(const char *name, const char *value)
{
    const char *found;
    bool is_done;

    pthread_mutex_lock(&made.mutex);
    found = getenv(name);
    is_done = (found != NULL && strcmp(found, value) == 0) || replace_list(name, value);
    pthread_mutex_unlock(&made.mutex);
    return is_done;
}

bool weft_environment_offer(const char *name, const char *value)
{
    return getenv(name) != NULL || weft_environment_set(name, value);
}
