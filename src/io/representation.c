#include "io/representation.h"

#include <stdlib.h>
#include <string.h>

static const struct weft_representation native = {.name = "native"};

static const struct weft_representation internal = {.name = "internal"};
static const struct weft_representation external32 = {
    .name = "external32",
    .kind = WEFT_REPRESENTATION_EXTERNAL32,
};

static const struct weft_representation *const standard[] = {&native, &internal,
                                                             &external32};
static struct weft_representation *added;

const struct weft_representation *weft_representation_native(void)
{
    return &native;
}

const struct weft_representation *weft_representation_find(const char *name)
{
    for (size_t i = 0; i < sizeof(standard) / sizeof(standard[0]); i++) {
        if (strcmp(standard[i]->name, name) == 0) {
            return standard[i];
        }
    }
    for (const struct weft_representation *r = added; r != NULL; r = r->next) {
        if (strcmp(r->name, name) == 0) {
            return r;
        }
    }
    return NULL;
}

enum weft_rc weft_representation_add(const struct weft_representation *made)
{
    struct weft_representation *copy = malloc(sizeof(*copy));

    if (copy == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *copy = *made;
    copy->next = added;
    added = copy;
    return WEFT_OK;
}
