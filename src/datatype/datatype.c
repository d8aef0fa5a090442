#include "datatype/datatype.h"

#include "datatype/compile.h"
#include "engine/lock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct weft_pool pool;

uint32_t weft_datatype_handles(const struct weft_datatype *type)
{
    return atomic_load_explicit(&type->handles, memory_order_relaxed);
}

static bool has_handle(const struct weft_datatype *type)
{
    return weft_datatype_handles(type) > 0 ||
           atomic_load_explicit(&type->shown, memory_order_relaxed) > 0;
}

/* The lock orders those who change it. */
static void add_to(_Atomic uint32_t *counter, int32_t more)
{
    atomic_store_explicit(
        counter, atomic_load_explicit(counter, memory_order_relaxed) + (uint32_t)more,
        memory_order_relaxed);
}

struct weft_datatype *weft_datatype_find(MPI_Datatype handle)
{
    struct weft_datatype *type = weft_handle_find(WEFT_KIND_DATATYPE, (uintptr_t)handle);

    return type != NULL && has_handle(type) ? type : NULL;
}

enum weft_rc weft_datatype_new(struct weft_datatype **out)
{
    void *object;
    uintptr_t handle;
    enum weft_rc rc;

    weft_assert_locked();
    if (pool.first == 0) {
        weft_pool_init(&pool, sizeof(struct weft_datatype), 8,
                       1u << WEFT_HANDLE_INDEX_BITS);
        weft_handle_register(WEFT_KIND_DATATYPE, &pool);
    }
    rc = weft_handle_take(WEFT_KIND_DATATYPE, &object, &handle);
    if (rc == WEFT_OK) {
        *out = object;
        (*out)->handle = (MPI_Datatype)handle;
        (*out)->references = 1;
        atomic_init(&(*out)->handles, 1);
        (*out)->name = "";
    }
    return rc;
}

void weft_datatype_keep(struct weft_datatype *type)
{
    weft_assert_locked();
    assert(type->contents == NULL || type->references > 0);
    if (type->contents != NULL) {
        type->references++;
    }
}

static void destroy(struct weft_datatype *type)
{
    struct weft_contents *contents = type->contents;

    assert(!has_handle(type) && !type->is_predefined);
    weft_layout_fini(&type->layout);
    for (MPI_Count i = 0; i < contents->types; i++) {
        weft_datatype_release(contents->type[i]);
    }
    if (type->inner != NULL) {
        weft_datatype_release((struct weft_datatype *)(uintptr_t)type->inner);
    }
    free(contents);
    free(type->given_name);
    free(type->attributes.at); /* MPI_Type_free has deleted them */
    weft_handle_give(WEFT_KIND_DATATYPE, (uintptr_t)type->handle);
}

void weft_datatype_release(struct weft_datatype *type)
{
    weft_assert_locked();
    assert(type->contents == NULL || type->references > 0);
    if (type->contents != NULL && --type->references == 0) {
        destroy(type);
    }
}

void weft_datatype_free(struct weft_datatype *type)
{
    assert(weft_datatype_handles(type) > 0);
    add_to(&type->handles, -1);
    weft_datatype_release(type);
}

/* One that the user made, so that its handles and references count. */
static bool is_counted(const struct weft_datatype *type)
{
    return type->contents != NULL && !type->is_predefined;
}

void weft_datatype_share(struct weft_datatype *type)
{
    weft_assert_locked();
    if (is_counted(type)) {
        add_to(&type->handles, 1);
        type->references++;
    }
}

void weft_datatype_show(struct weft_datatype *type)
{
    weft_assert_locked();
    if (is_counted(type)) {
        add_to(&type->shown, 1);
        type->references++;
    }
}

void weft_datatype_hide(struct weft_datatype *type)
{
    weft_assert_locked();
    if (is_counted(type)) {
        add_to(&type->shown, -1);
        weft_datatype_release(type);
    }
}

enum weft_rc weft_datatype_commit(struct weft_datatype *type)
{
    enum weft_rc rc = weft_compile(type);

    weft_assert_locked();
    if (rc == WEFT_OK) {
        type->is_committed = true;
        type->is_plain = type->is_contiguous && type->true_lb == 0;
    }
    return rc;
}

enum weft_rc weft_datatype_set_name(struct weft_datatype *type, const char *name)
{
    char *copy = strndup(name, MPI_MAX_OBJECT_NAME - 1);

    weft_assert_locked();
    if (copy == NULL) {
        return WEFT_ERR_NOMEM;
    }
    free(type->given_name);
    type->given_name = copy;
    return WEFT_OK;
}

const char *weft_datatype_name(const struct weft_datatype *type)
{
    return type->given_name != NULL ? type->given_name : type->name;
}

static const char *combiner_name(int combiner)
{
    static const char *const names[] = {
        "named",    "duplicate",       "contiguous",    "vector",         "hvector",
        "indexed",  "hindexed",        "indexed block", "hindexed block", "struct",
        "subarray", "darray",          "f90 real",      "f90 complex",    "f90 integer",
        "resized",  "value and index",
    };
    const int at = combiner - MPI_COMBINER_NAMED;

    _Static_assert(sizeof(names) / sizeof(names[0]) ==
                       MPI_COMBINER_VALUE_INDEX - MPI_COMBINER_NAMED + 1,
                   "a name for each");
    return at >= 0 && at < (int)(sizeof(names) / sizeof(names[0])) ? names[at]
                                                                   : "unknown";
}

const char *weft_datatype_describe(const struct weft_datatype *type, char *text,
                                   size_t size)
{
    const struct weft_contents *c = type->contents;
    const char *name = weft_datatype_name(type);
    const char *inner;

    if (name[0] != '\0' || c == NULL) {
        snprintf(text, size, "%s", name[0] != '\0' ? name : "an unnamed datatype");
        return text;
    }
    inner = c->types > 0 ? weft_datatype_name(c->type[0]) : "";
    snprintf(text, size, "%s%s%s%s, %zu bytes", combiner_name(c->combiner),
             c->types > 0 ? " of " : "",
             c->types > 0 && inner[0] == '\0' ? "an unnamed datatype" : inner,
             c->types > 1 ? " and others" : "", type->size);
    return text;
}
