#include "core/attribute.h"

#include "engine/lock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * A key's number: index + FIRST below, so that it is none of the ABI's, and above that as
 * much of the slot's generation as fits, so that a number used after it was freed is most
 * likely noticed.
 */
enum {
    INDEX_BITS = 20,
    FIRST = 1024,
    LIMIT = (1 << INDEX_BITS) - FIRST,
    GENERATION_MASK = 0x3ff,
};

struct weft_keyval {
    enum weft_kind family;
    int number;
    bool is_held;  /* by the user */
    uint32_t used; /* attributes under it, and callbacks that run */
    union weft_copy_fn copy;
    union weft_delete_fn delete_fn;
    void *extra_state;
};

struct weft_attribute {
    struct weft_keyval *key;
    void *value;
};

static struct weft_pool pool;

/* ---- keys; with the lock ---- */

static uint32_t index_of(int number)
{
    return ((uint32_t)number & ((1u << INDEX_BITS) - 1)) - FIRST;
}

static struct weft_keyval *find_key(enum weft_kind family, int number)
{
    struct weft_keyval *key;
    uint32_t generation;

    weft_assert_locked();
    if (pool.first == 0 || number < FIRST || index_of(number) >= LIMIT) {
        return NULL;
    }
    generation = weft_pool_generation(&pool, index_of(number));
    if (generation == 0) {
        return NULL;
    }
    key = weft_pool_find(&pool, index_of(number), generation);
    return key->number == number && key->family == family ? key : NULL;
}

static void free_unless_needed(struct weft_keyval *key)
{
    if (!key->is_held && key->used == 0) {
        weft_pool_give(&pool, index_of(key->number));
    }
}

static void release_key(struct weft_keyval *key)
{
    weft_assert_locked();
    assert(key->used > 0);
    key->used--;
    free_unless_needed(key);
}

enum weft_rc weft_keyval_create(enum weft_kind family, union weft_copy_fn copy,
                                union weft_delete_fn delete_fn, void *extra_state,
                                int *keyval)
{
    void *object;
    uint32_t index;
    uint32_t generation;
    enum weft_rc rc;

    weft_lock();
    if (pool.first == 0) {
        weft_pool_init(&pool, sizeof(struct weft_keyval), 8, LIMIT);
    }
    rc = weft_pool_take(&pool, &object, &index, &generation);
    if (rc == WEFT_OK) {
        struct weft_keyval *key = object;

        *key = (struct weft_keyval){
            .family = family,
            .number =
                (int)((generation & GENERATION_MASK) << INDEX_BITS | (index + FIRST)),
            .is_held = true,
            .copy = copy,
            .delete_fn = delete_fn,
            .extra_state = extra_state,
        };
        *keyval = key->number;
    }
    weft_unlock();
    return rc;
}

bool weft_keyval_free(enum weft_kind family, int keyval)
{
    struct weft_keyval *key;

    weft_lock();
    key = find_key(family, keyval);
    if (key != NULL) {
        key->is_held = false;
        free_unless_needed(key);
    }
    weft_unlock();
    return key != NULL;
}

/* ---- the attributes of an object; with the lock ---- */

static struct weft_attribute *find(const struct weft_attributes *attributes,
                                   const struct weft_keyval *key)
{
    for (uint32_t i = 0; i < attributes->count; i++) {
        if (attributes->at[i].key == key) {
            return &attributes->at[i];
        }
    }
    return NULL;
}

static int append(struct weft_attributes *attributes, struct weft_keyval *key,
                  void *value)
{
    assert(attributes->count <= attributes->capacity);
    if (attributes->count == attributes->capacity) {
        uint32_t capacity = attributes->capacity == 0 ? 4 : 2 * attributes->capacity;
        struct weft_attribute *grown =
            realloc(attributes->at, capacity * sizeof(*attributes->at));

        if (grown == NULL) {
            return MPI_ERR_NO_MEM;
        }
        attributes->at = grown;
        attributes->capacity = capacity;
    }
    attributes->at[attributes->count++] = (struct weft_attribute){key, value};
    key->used++;
    return MPI_SUCCESS;
}

static void remove_one(struct weft_attributes *attributes, struct weft_keyval *key)
{
    struct weft_attribute *gone = find(attributes, key);

    assert(attributes->count > 0 || attributes->at == NULL);
    if (gone == NULL) {
        return; /* the callback has removed it itself */
    }
    attributes->count--;
    memmove(gone, gone + 1,
            (size_t)(attributes->at + attributes->count - gone) * sizeof(*gone));
    if (attributes->count == 0) {
        free(attributes->at);
        *attributes = (struct weft_attributes){0};
    }
    release_key(key);
}

/* ---- callbacks; without the lock ---- */

static int call_delete(const struct weft_keyval *key, void *handle, void *value)
{
    weft_assert_unlocked();
    if (key->delete_fn.any == NULL) {
        return MPI_SUCCESS;
    }
    switch (key->family) {
    case WEFT_KIND_COMM:
        return key->delete_fn.comm(handle, key->number, value, key->extra_state);
    case WEFT_KIND_DATATYPE:
        return key->delete_fn.type(handle, key->number, value, key->extra_state);
    default:
        return key->delete_fn.win(handle, key->number, value, key->extra_state);
    }
}

/* *is_wanted: the duplicate gets an attribute with the value *out. */
static int call_copy(const struct weft_keyval *key, void *handle, void *value, void **out,
                     int *is_wanted)
{
    weft_assert_unlocked();
    *is_wanted = 0;
    if (key->copy.any == NULL) {
        return MPI_SUCCESS;
    }
    if (key->copy.comm == MPI_COMM_DUP_FN) { /* the same constant in every family */
        *is_wanted = 1;
        *out = value;
        return MPI_SUCCESS;
    }
    switch (key->family) {
    case WEFT_KIND_COMM:
        return key->copy.comm(handle, key->number, key->extra_state, value, (void *)out,
                              is_wanted);
    case WEFT_KIND_DATATYPE:
        return key->copy.type(handle, key->number, key->extra_state, value, (void *)out,
                              is_wanted);
    default:
        return key->copy.win(handle, key->number, key->extra_state, value, (void *)out,
                             is_wanted);
    }
}

/*
 * Runs the delete callback and removes the attribute if it agrees. With the lock at both
 * ends; the key stays while the callback runs.
 */
static int delete_locked(void *handle, struct weft_attributes *attributes,
                         struct weft_keyval *key, void *value)
{
    int err;

    weft_assert_locked();
    key->used++;
    weft_unlock();
    err = call_delete(key, handle, value);
    weft_lock();
    if (err == MPI_SUCCESS) {
        remove_one(attributes, key);
    }
    release_key(key);
    return err;
}

int weft_attribute_set(enum weft_kind family, void *handle,
                       struct weft_attributes *attributes, int keyval, void *value)
{
    struct weft_keyval *key;
    const struct weft_attribute *old;
    int err = MPI_ERR_KEYVAL;

    weft_lock();
    key = find_key(family, keyval);
    if (key != NULL && key->is_held) {
        err = MPI_SUCCESS;
        key->used++; /* a callback may free the key */
        while (err == MPI_SUCCESS && (old = find(attributes, key)) != NULL) {
            err = delete_locked(handle, attributes, key, old->value);
        }
        if (err == MPI_SUCCESS) {
            err = append(attributes, key, value);
        }
        release_key(key);
    }
    weft_unlock();
    return err;
}

int weft_attribute_get(enum weft_kind family, const struct weft_attributes *attributes,
                       int keyval, void **value, bool *is_there)
{
    const struct weft_keyval *key;
    const struct weft_attribute *found;

    weft_lock();
    key = find_key(family, keyval);
    if (key != NULL) {
        found = find(attributes, key);
        *is_there = found != NULL;
        if (found != NULL) {
            *value = found->value;
        }
    }
    weft_unlock();
    return key != NULL ? MPI_SUCCESS : MPI_ERR_KEYVAL;
}

int weft_attribute_delete(enum weft_kind family, void *handle,
                          struct weft_attributes *attributes, int keyval)
{
    struct weft_keyval *key;
    const struct weft_attribute *found;
    int err = MPI_ERR_KEYVAL;

    weft_lock();
    key = find_key(family, keyval);
    if (key != NULL) {
        err = MPI_SUCCESS;
        found = find(attributes, key);
        if (found != NULL) {
            err = delete_locked(handle, attributes, key, found->value);
        }
    }
    weft_unlock();
    return err;
}

/* What one copy callback wants goes to `to`. With the lock at both ends. */
static int copy_one(void *handle, const struct weft_attribute *from,
                    struct weft_attributes *to)
{
    void *value = NULL;
    int is_wanted;
    int err;

    weft_assert_locked();
    weft_unlock();
    err = call_copy(from->key, handle, from->value, &value, &is_wanted);
    weft_lock();
    return err == MPI_SUCCESS && is_wanted ? append(to, from->key, value) : err;
}

int weft_attributes_copy(enum weft_kind family, void *handle,
                         const struct weft_attributes *from, struct weft_attributes *to)
{
    struct weft_attribute *snapshot; /* callbacks may change what is being copied */
    uint32_t count;
    int err = MPI_SUCCESS;

    (void)family; /* the keys know theirs */
    weft_lock();
    count = from->count;
    snapshot = count > 0 ? malloc(count * sizeof(*snapshot)) : NULL;
    if (count > 0 && snapshot == NULL) {
        weft_unlock();
        return MPI_ERR_NO_MEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        snapshot[i] = from->at[i];
        snapshot[i].key->used++;
    }
    for (uint32_t i = 0; i < count && err == MPI_SUCCESS; i++) {
        err = copy_one(handle, &snapshot[i], to);
    }
    for (uint32_t i = 0; i < count; i++) {
        release_key(snapshot[i].key);
    }
    weft_unlock();
    free(snapshot);
    return err;
}

int weft_attributes_clear(enum weft_kind family, void *handle,
                          struct weft_attributes *attributes)
{
    int err = MPI_SUCCESS;

    (void)family; /* the keys know theirs */
    weft_lock();
    while (attributes->count > 0 && err == MPI_SUCCESS) {
        const struct weft_attribute *last = &attributes->at[attributes->count - 1];

        err = delete_locked(handle, attributes, last->key, last->value);
    }
    weft_unlock();
    return err;
}

void weft_attributes_forget_locked(struct weft_attributes *attributes)
{
    weft_assert_locked();
    for (uint32_t i = 0; i < attributes->count; i++) {
        release_key(attributes->at[i].key);
    }
    free(attributes->at);
    *attributes = (struct weft_attributes){0};
}

void weft_attributes_forget(struct weft_attributes *attributes)
{
    weft_lock();
    weft_attributes_forget_locked(attributes);
    weft_unlock();
}
