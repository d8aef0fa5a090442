#include "core/info.h"

#include "engine/lock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct entry {
    char *key;
    char *value;
};

struct weft_info {
    MPI_Info handle;
    struct entry *at;
    int count;
    int capacity;
};

static struct weft_pool pool;
static struct weft_info environment; /* MPI_INFO_ENV */

struct weft_info *weft_info_from_handle(MPI_Info handle)
{
    weft_assert_object_locked();
    if (handle == MPI_INFO_ENV) {
        if (environment.handle == NULL) {
            environment.handle = MPI_INFO_ENV;
            if (weft_info_describe_process(&environment) != WEFT_OK) {
                return NULL;
            }
        }
        return &environment;
    }
    return weft_handle_find(WEFT_KIND_INFO, (uintptr_t)handle);
}

enum weft_rc weft_info_create(struct weft_info **out)
{
    void *object;
    uintptr_t handle;
    enum weft_rc rc;

    weft_assert_object_locked();
    if (pool.first == 0) {
        weft_pool_init(&pool, sizeof(struct weft_info), 8, 1u << WEFT_HANDLE_INDEX_BITS);
        weft_handle_register(WEFT_KIND_INFO, &pool);
    }
    rc = weft_handle_take(WEFT_KIND_INFO, &object, &handle);
    if (rc == WEFT_OK) {
        *out = object;
        (*out)->handle = (MPI_Info)handle;
    }
    return rc;
}

enum weft_rc weft_info_dup(const struct weft_info *from, struct weft_info **out)
{
    struct weft_info *info;
    enum weft_rc rc = weft_info_create(&info);

    if (rc != WEFT_OK) {
        return rc;
    }
    for (int i = 0; i < from->count && rc == WEFT_OK; i++) {
        rc = weft_info_set(info, from->at[i].key, from->at[i].value);
    }
    if (rc != WEFT_OK) {
        weft_info_free(info);
        return rc;
    }
    *out = info;
    return WEFT_OK;
}

void weft_info_free(struct weft_info *info)
{
    weft_assert_object_locked();
    assert(info != &environment);
    for (int i = 0; i < info->count; i++) {
        free(info->at[i].key);
        free(info->at[i].value);
    }
    free(info->at);
    weft_handle_give(WEFT_KIND_INFO, (uintptr_t)info->handle);
}

MPI_Info weft_info_handle(const struct weft_info *info)
{
    return info->handle;
}

static struct entry *find(const struct weft_info *info, const char *key)
{
    weft_assert_object_locked();
    for (int i = 0; i < info->count; i++) {
        if (strcmp(info->at[i].key, key) == 0) {
            return &info->at[i];
        }
    }
    return NULL;
}

/* Room for one more at the end. */
static bool grow(struct weft_info *info)
{
    int capacity = info->capacity == 0 ? 4 : 2 * info->capacity;
    struct entry *grown;

    if (info->count < info->capacity) {
        return true;
    }
    grown = realloc(info->at, (size_t)capacity * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    info->at = grown;
    info->capacity = capacity;
    return true;
}

enum weft_rc weft_info_set(struct weft_info *info, const char *key, const char *value)
{
    struct entry *old = find(info, key);
    struct entry fresh = {.value = strdup(value)};

    if (fresh.value == NULL) {
        return WEFT_ERR_NOMEM;
    }
    if (old != NULL) {
        free(old->value);
        old->value = fresh.value;
        return WEFT_OK;
    }
    fresh.key = strdup(key);
    if (fresh.key == NULL || !grow(info)) {
        free(fresh.key);
        free(fresh.value);
        return WEFT_ERR_NOMEM;
    }
    info->at[info->count++] = fresh;
    return WEFT_OK;
}

bool weft_info_delete(struct weft_info *info, const char *key)
{
    struct entry *gone = find(info, key);

    if (gone == NULL) {
        return false;
    }
    free(gone->key);
    free(gone->value);
    info->count--;
    memmove(gone, gone + 1, (size_t)(info->at + info->count - gone) * sizeof(*gone));
    return true;
}

const char *weft_info_get(const struct weft_info *info, const char *key)
{
    const struct entry *found = find(info, key);

    return found != NULL ? found->value : NULL;
}

size_t weft_info_alignment(const struct weft_info *info, size_t least)
{
    const char *value =
        info != NULL ? weft_info_get(info, "mpi_minimum_memory_alignment") : NULL;
    const unsigned long long wanted = value != NULL ? strtoull(value, NULL, 10) : 0;

    return wanted > least && (wanted & (wanted - 1)) == 0 ? (size_t)wanted : least;
}

int weft_info_count(const struct weft_info *info)
{
    return info->count;
}

const char *weft_info_key(const struct weft_info *info, int n)
{
    assert(n >= 0 && n < info->count);
    return info->at[n].key;
}

/* ---- how this process was started ---- */

/*
 * The command and its arguments, with blanks between them, from the kernel: what main()
 * got may have been changed since. Too long for an info value, it is cut off.
 */
static enum weft_rc describe_command(struct weft_info *info)
{
    char line[MPI_MAX_INFO_VAL];
    FILE *file = fopen("/proc/self/cmdline", "r");
    size_t n = file != NULL ? fread(line, 1, sizeof(line) - 1, file) : 0;
    size_t command;
    enum weft_rc rc;

    if (file != NULL) {
        fclose(file);
    }
    if (n == 0) {
        return WEFT_OK;
    }
    line[n] = '\0';
    command = strlen(line);
    rc = weft_info_set(info, "command", line);
    if (rc != WEFT_OK || command + 1 >= n) {
        return rc;
    }
    for (size_t i = command + 1; i + 1 < n; i++) {
        if (line[i] == '\0') {
            line[i] = ' ';
        }
    }
    return weft_info_set(info, "argv", line + command + 1);
}

enum weft_rc weft_info_describe_process(struct weft_info *info)
{
    const char *size = getenv("PMI_SIZE"); /* what the launcher says, if it speaks PMI */
    char text[MPI_MAX_INFO_VAL];
    struct utsname system;
    enum weft_rc rc = describe_command(info);

    if (rc == WEFT_OK && size != NULL && strlen(size) < MPI_MAX_INFO_VAL) {
        rc = weft_info_set(info, "maxprocs", size);
    }
    if (rc == WEFT_OK && uname(&system) == 0) {
        rc = weft_info_set(info, "host", system.nodename);
        if (rc == WEFT_OK) {
            rc = weft_info_set(info, "arch", system.machine);
        }
    }
    if (rc == WEFT_OK && getcwd(text, sizeof(text)) != NULL) {
        rc = weft_info_set(info, "wdir", text);
    }
    return rc;
}
