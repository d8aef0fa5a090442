#include "transport/ofi/common/mr_cache.h"

#include "base/forks.h"
#include "transport/ofi/quirks/provider.h"

#include <assert.h>
#include <stdlib.h>

#define LOCAL  (FI_SEND | FI_RECV | FI_READ | FI_WRITE)
#define REMOTE (FI_REMOTE_READ | FI_REMOTE_WRITE)

/* ---- opening and closing ---- */

static bool is_worth_it(const struct fi_info *info)
{
    return (info->domain_attr->mr_mode & (FI_MR_LOCAL | FI_MR_ALLOCATED)) != 0 &&
           !weft_provider_keeps_registrations(info->fabric_attr->prov_name);
}

static void drop(struct weft_mr_cache *cache, struct weft_mr *mr);

static void gone(struct weft_lasting_watch *watch, const struct weft_lasting_range *range)
{
    struct weft_mr_cache *cache = (struct weft_mr_cache *)watch;
    struct weft_mr *next;

    for (struct weft_mr *mr = cache->kept; mr != NULL; mr = next) {
        next = mr->next;
        if (mr->base < range->base + range->bytes && range->base < mr->base + mr->bytes) {
            drop(cache, mr);
        }
    }
}

void weft_mr_cache_open(struct weft_mr_cache *cache, struct weft_ofi *ofi)
{
    const size_t most = ofi->info->domain_attr->mr_cnt; /* 0: as many as one likes */

    *cache = (struct weft_mr_cache){
        .watch = {.gone = gone},
        .ofi = ofi,
        .count_most =
            most > 0 && most / 4 < WEFT_MR_CACHE_COUNT ? most / 4 : WEFT_MR_CACHE_COUNT,
        .bytes_most = WEFT_MR_CACHE_BYTES,
        .forks = weft_forks_count(),
        .is_on = is_worth_it(ofi->info),
    };
    weft_lasting_watch(&cache->watch);
}

static void drop_all(struct weft_mr_cache *cache, uint64_t access)
{
    struct weft_mr *next;

    for (struct weft_mr *mr = cache->kept; mr != NULL; mr = next) {
        next = mr->next;
        if ((mr->access & access) != 0) {
            drop(cache, mr);
        }
    }
}

void weft_mr_cache_close(struct weft_mr_cache *cache)
{
    if (cache->ofi == NULL) {
        return;
    }
    weft_lasting_unwatch(&cache->watch);
    drop_all(cache, LOCAL | REMOTE);
    cache->ofi = NULL;
}

/* ---- one registration ---- */

/* A child leaves it alone: it is the parent's. */
static void end(struct weft_mr *mr)
{
    if (!weft_forks_is_child()) {
        weft_ofi_unregister(mr->mr);
    }
    free(mr);
}

static enum weft_rc make(struct weft_mr_cache *cache, const void *memory, size_t bytes,
                         uint64_t access, struct weft_mr **out)
{
    struct weft_mr *mr = malloc(sizeof(*mr));
    enum weft_rc rc;

    if (mr == NULL) {
        return WEFT_ERR_NOMEM;
    }
    *mr = (struct weft_mr){
        .base = (uintptr_t)memory,
        .bytes = bytes,
        .access = access,
        .users = 1,
    };
    rc = weft_ofi_register(cache->ofi, memory, bytes, access, &mr->mr);
    if (rc != WEFT_OK) {
        free(mr);
        return rc;
    }
    cache->made++;
    *out = mr;
    return WEFT_OK;
}

/* ---- those that are kept ---- */

static void unlink_it(struct weft_mr *mr)
{
    *mr->link = mr->next;
    if (mr->next != NULL) {
        mr->next->link = mr->link;
    }
}

static void link_first(struct weft_mr_cache *cache, struct weft_mr *mr)
{
    mr->next = cache->kept;
    mr->link = &cache->kept;
    if (mr->next != NULL) {
        mr->next->link = &mr->next;
    }
    cache->kept = mr;
}

/* It is kept no longer. If it is in use, it ends when the last user gives it back. */
static void drop(struct weft_mr_cache *cache, struct weft_mr *mr)
{
    assert(mr->is_kept);
    unlink_it(mr);
    cache->count--;
    cache->bytes -= mr->bytes;
    mr->is_kept = false;
    if (mr->users == 0) {
        end(mr);
    }
}

/* Gives up the one that was used longest ago. False: all are in use. */
static bool drop_oldest(struct weft_mr_cache *cache)
{
    struct weft_mr *oldest = NULL;

    for (struct weft_mr *mr = cache->kept; mr != NULL; mr = mr->next) {
        oldest = mr->users == 0 ? mr : oldest;
    }
    if (oldest == NULL) {
        return false;
    }
    drop(cache, oldest);
    return true;
}

static bool make_room(struct weft_mr_cache *cache, size_t bytes)
{
    if (cache->count_most == 0 || bytes > cache->bytes_most) {
        return false;
    }
    while (cache->count >= cache->count_most ||
           cache->bytes > cache->bytes_most - bytes) {
        if (!drop_oldest(cache)) {
            return false;
        }
    }
    return true;
}

static struct weft_mr *find(struct weft_mr_cache *cache, uintptr_t base, size_t bytes,
                            uint64_t access)
{
    for (struct weft_mr *mr = cache->kept; mr != NULL; mr = mr->next) {
        if (mr->base <= base && bytes <= mr->bytes &&
            base - mr->base <= mr->bytes - bytes && (mr->access & access) == access) {
            return mr;
        }
    }
    return NULL;
}

/* A registration of ours alone serves all that we do. What peers may do is no more than
 * was asked for. */
static uint64_t widen(uint64_t access)
{
    return (access & REMOTE) == 0 ? LOCAL : access;
}

/* One that stays. A failure is no harm: it is made as for any other memory then. */
static enum weft_rc make_kept(struct weft_mr_cache *cache,
                              const struct weft_lasting_range *range, const void *memory,
                              size_t bytes, uint64_t access, struct weft_mr **out)
{
    const bool is_whole = range->bytes <= WEFT_MR_CACHE_WHOLE;
    const void *from = is_whole ? (const void *)range->base : memory;
    const size_t length = is_whole ? range->bytes : bytes;
    enum weft_rc rc;

    if (!make_room(cache, length)) {
        return WEFT_AGAIN;
    }
    rc = make(cache, from, length, widen(access), out);
    if (rc == WEFT_OK) {
        (*out)->is_kept = true;
        cache->count++;
        cache->bytes += length;
        link_first(cache, *out);
    }
    return rc;
}

static void look_for_forks(struct weft_mr_cache *cache)
{
    const uint64_t forks = weft_forks_count();

    if (forks != cache->forks) {
        cache->forks = forks;
        drop_all(cache, LOCAL | REMOTE);
    }
}

/* ---- taking and giving ---- */

enum weft_rc weft_mr_cache_take(struct weft_mr_cache *cache, const void *memory,
                                size_t bytes, uint64_t access, struct weft_mr **out)
{
    struct weft_lasting_range range;
    enum weft_rc rc;

    look_for_forks(cache);
    if (cache->is_on && weft_lasting_find(memory, bytes, &range)) {
        struct weft_mr *mr = find(cache, (uintptr_t)memory, bytes, access);

        if (mr != NULL) {
            unlink_it(mr);
            link_first(cache, mr);
            mr->users++;
            cache->found++;
            *out = mr;
            return WEFT_OK;
        }
        if (make_kept(cache, &range, memory, bytes, access, out) == WEFT_OK) {
            return WEFT_OK;
        }
    }
    do {
        rc = make(cache, memory, bytes, access, out);
    } while (rc == WEFT_AGAIN && drop_oldest(cache));
    return rc;
}

enum weft_rc weft_mr_cache_take_local(struct weft_mr_cache *cache, const void *memory,
                                      size_t bytes, uint64_t access, struct weft_mr **out)
{
    *out = NULL;
    return weft_ofi_is_local_checked(cache->ofi)
               ? weft_mr_cache_take(cache, memory, bytes, access, out)
               : WEFT_OK;
}

void weft_mr_cache_give(struct weft_mr_cache *cache, struct weft_mr *mr)
{
    (void)cache;
    if (mr == NULL) {
        return;
    }
    assert(mr->users > 0);
    mr->users--;
    if (mr->users == 0 && !mr->is_kept) {
        end(mr);
    }
}

void weft_mr_cache_forget_peers(struct weft_mr_cache *cache)
{
    if (cache->ofi != NULL) {
        drop_all(cache, REMOTE);
    }
}
