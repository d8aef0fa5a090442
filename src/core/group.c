/*
 * group.c - groups at rest: what they are made of, how they are found and counted. The
 * set operations are in group_set.c.
 */
#include "core/group.h"

#include "engine/lock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static struct weft_pool pool;
static uint64_t self;

struct weft_group weft_group_empty = {.handle = MPI_GROUP_EMPTY, .rank = MPI_UNDEFINED};

void weft_group_open(uint64_t me)
{
    weft_pool_init(&pool, sizeof(struct weft_group), 16, 1u << WEFT_HANDLE_INDEX_BITS);
    weft_handle_register(WEFT_KIND_GROUP, &pool);
    self = me;
}

static void free_parts(struct weft_group *group)
{
    free((void *)(uintptr_t)group->map.table);
    free(atomic_load_explicit(&group->spread, memory_order_relaxed)); /* nobody else's */
}

/* Those that the user has not freed go too. */
void weft_group_close(void)
{
    for (uint32_t i = 0; i < pool.made; i++) {
        struct weft_group *group =
            weft_pool_find(&pool, i, weft_pool_generation(&pool, i));

        if (group != NULL) {
            free_parts(group);
        }
    }
    weft_pool_fini(&pool);
}

struct weft_group *weft_group_from_handle(MPI_Group handle)
{
    struct weft_group *group;

    if (handle == MPI_GROUP_EMPTY) {
        return &weft_group_empty;
    }
    group = weft_handle_find(WEFT_KIND_GROUP, (uintptr_t)handle);
    return group != NULL && group->held > 0 ? group : NULL;
}

static int rank_by_formula(const struct weft_map *map, int size, uint64_t process)
{
    const int64_t distance = (int64_t)(process - map->first);

    if (weft_process_job(process) != weft_process_job(map->first) || size == 0) {
        return MPI_UNDEFINED;
    }
    if (distance == 0) {
        return 0;
    }
    if (map->stride == 0 || distance % map->stride != 0 || distance / map->stride < 0 ||
        distance / map->stride >= size) {
        return MPI_UNDEFINED;
    }
    return (int)(distance / map->stride);
}

int weft_group_rank_of(const struct weft_group *group, uint64_t process)
{
    if (group->map.table == NULL) {
        return rank_by_formula(&group->map, group->size, process);
    }
    for (int i = 0; i < group->size; i++) {
        if (group->map.table[i] == process) {
            return i;
        }
    }
    return MPI_UNDEFINED;
}

/* ---- drafts ---- */

/* The formula holds no longer, or there is no more room: all members go to a table. */
static enum weft_rc make_room(struct weft_group_draft *draft)
{
    const bool is_reserved = draft->reserve != NULL;
    const int capacity = is_reserved       ? draft->capacity
                         : draft->size < 8 ? 16
                                           : draft->size * 2;
    uint64_t *table = is_reserved
                          ? draft->reserve
                          : realloc(draft->table, (size_t)capacity * sizeof(*table));

    if (table == NULL) {
        return WEFT_ERR_NOMEM;
    }
    if (draft->table == NULL) {
        for (int i = 0; i < draft->size; i++) {
            table[i] = weft_map_process(&draft->map, i);
        }
    }
    draft->reserve = NULL;
    draft->table = table;
    draft->map.table = table;
    draft->capacity = capacity;
    return WEFT_OK;
}

/* A second member of the same job sets the stride; later ones must keep it. */
static bool goes_on(struct weft_group_draft *draft, uint64_t process)
{
    if (draft->size == 0) {
        draft->map.first = process;
        return true;
    }
    if (draft->size == 1 &&
        weft_process_job(process) == weft_process_job(draft->map.first)) {
        draft->map.stride = (int64_t)(process - draft->map.first);
        return true;
    }
    return draft->size > 1 && process == weft_map_process(&draft->map, draft->size);
}

enum weft_rc weft_group_add(struct weft_group_draft *draft, uint64_t process)
{
    assert(draft->table == NULL || draft->size <= draft->capacity);
    if (draft->table == NULL && goes_on(draft, process)) {
        draft->size++;
        return WEFT_OK;
    }
    if (draft->table == NULL || draft->size >= draft->capacity) {
        enum weft_rc rc = make_room(draft);

        if (rc != WEFT_OK) {
            return rc;
        }
    }
    draft->table[draft->size++] = process;
    return WEFT_OK;
}

enum weft_rc weft_group_draft_reserve(struct weft_group_draft *draft, int members)
{
    assert(draft->size == 0 && draft->reserve == NULL && members > 0);
    draft->reserve = malloc((size_t)members * sizeof(*draft->reserve));
    draft->capacity = draft->reserve != NULL ? members : 0;
    return draft->reserve != NULL ? WEFT_OK : WEFT_ERR_NOMEM;
}

void weft_group_drop(struct weft_group_draft *draft)
{
    free(draft->reserve);
    free(draft->table);
    memset(draft, 0, sizeof(*draft));
}

/* Gives back what the table has too much; it stays where it is if that fails. */
static void trim(struct weft_group_draft *draft)
{
    uint64_t *table;

    if (draft->table != NULL) {
        table = realloc(draft->table, (size_t)draft->size * sizeof(*table));
        draft->table = table != NULL ? table : draft->table;
        draft->map = (struct weft_map){.table = draft->table};
    }
}

enum weft_rc weft_group_make(struct weft_group_draft *draft, struct weft_group **out)
{
    struct weft_group *group;
    void *object;
    uintptr_t handle;
    enum weft_rc rc;

    weft_assert_locked();
    if (draft->size == 0) {
        *out = &weft_group_empty;
        weft_group_drop(draft);
        return WEFT_OK;
    }
    rc = weft_handle_take(WEFT_KIND_GROUP, &object, &handle);
    if (rc != WEFT_OK) {
        weft_group_drop(draft);
        return rc;
    }
    trim(draft);
    group = object;
    group->handle = (MPI_Group)handle;
    group->used = 1;
    group->size = draft->size;
    group->map = draft->map;
    group->session = draft->session;
    group->rank = weft_group_rank_of(group, self);
    free(draft->reserve);
    memset(draft, 0, sizeof(*draft)); /* the table is the group's now */
    *out = group;
    return WEFT_OK;
}

enum weft_rc weft_group_make_range(uint32_t first, int size, struct weft_group **out)
{
    struct weft_group_draft draft = {
        .size = size,
        .map = {.first = weft_process(weft_process_job(self), first),
                .stride = size > 1 ? 1 : 0},
    };

    return weft_group_make(&draft, out);
}

/* ---- counting ---- */

static void free_unless_needed(struct weft_group *group)
{
    if (group->held == 0 && group->used == 0) {
        free_parts(group);
        weft_handle_give(WEFT_KIND_GROUP, (uintptr_t)group->handle);
    }
}

void weft_group_hold(struct weft_group *group)
{
    weft_assert_locked();
    group->held += group != &weft_group_empty;
}

void weft_group_let_go(struct weft_group *group)
{
    weft_assert_locked();
    assert(group == &weft_group_empty || group->held > 0);
    if (group != &weft_group_empty) {
        group->held--;
        free_unless_needed(group);
    }
}

struct weft_group *weft_group_use(struct weft_group *group)
{
    weft_assert_locked();
    group->used += group != &weft_group_empty;
    return group;
}

void weft_group_release(struct weft_group *group)
{
    weft_assert_locked();
    assert(group == &weft_group_empty || group->used > 0);
    if (group != &weft_group_empty) {
        group->used--;
        free_unless_needed(group);
    }
}
