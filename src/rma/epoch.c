#include "rma/epoch.h"

#include "base/texts.h"

#include <assert.h>

/* An access epoch that is open, unless it is an empty one of a fence. */
static enum weft_epoch_fault access_of(const struct weft_epoch *epoch)
{
    if (epoch->is_started) {
        return WEFT_EPOCH_IN_START;
    }
    if (epoch->is_all) {
        return WEFT_EPOCH_IN_LOCK_ALL;
    }
    if (epoch->locks > 0) {
        return WEFT_EPOCH_IN_LOCK;
    }
    return epoch->is_fence && epoch->is_used ? WEFT_EPOCH_IN_FENCE : WEFT_EPOCH_FINE;
}

enum weft_epoch_fault weft_epoch_may_fence(const struct weft_epoch *epoch)
{
    const enum weft_epoch_fault fault = access_of(epoch);

    if (fault != WEFT_EPOCH_FINE && fault != WEFT_EPOCH_IN_FENCE) {
        return fault;
    }
    return epoch->is_posted ? WEFT_EPOCH_IN_POST : WEFT_EPOCH_FINE;
}

enum weft_epoch_fault weft_epoch_may_start(const struct weft_epoch *epoch)
{
    return access_of(epoch);
}

enum weft_epoch_fault weft_epoch_may_post(const struct weft_epoch *epoch)
{
    if (epoch->is_posted) {
        return WEFT_EPOCH_IN_POST;
    }
    return epoch->is_fence && epoch->is_used ? WEFT_EPOCH_IN_FENCE : WEFT_EPOCH_FINE;
}

enum weft_epoch_fault weft_epoch_may_lock(const struct weft_epoch *epoch,
                                          bool is_locked_there)
{
    const enum weft_epoch_fault fault = access_of(epoch);

    return fault == WEFT_EPOCH_IN_LOCK && !is_locked_there ? WEFT_EPOCH_FINE : fault;
}

enum weft_epoch_fault weft_epoch_may_lock_all(const struct weft_epoch *epoch)
{
    return access_of(epoch);
}

enum weft_epoch_fault weft_epoch_may_free(const struct weft_epoch *epoch)
{
    const enum weft_epoch_fault fault = access_of(epoch);

    if (fault != WEFT_EPOCH_FINE) {
        return fault;
    }
    return epoch->is_posted ? WEFT_EPOCH_IN_POST : WEFT_EPOCH_FINE;
}

enum weft_epoch_fault weft_epoch_may_operate(const struct weft_epoch *epoch,
                                             bool is_locked_there, bool is_started_there)
{
    if (epoch->is_started) {
        return is_started_there ? WEFT_EPOCH_FINE : WEFT_EPOCH_NO_START;
    }
    if (epoch->is_all || is_locked_there) {
        return WEFT_EPOCH_FINE;
    }
    if (epoch->locks > 0) {
        return WEFT_EPOCH_NO_LOCK;
    }
    return epoch->is_fence ? WEFT_EPOCH_FINE : WEFT_EPOCH_NONE;
}

enum weft_epoch_fault weft_epoch_may_flush(const struct weft_epoch *epoch,
                                           bool is_locked_there)
{
    if (epoch->is_all || is_locked_there) {
        return WEFT_EPOCH_FINE;
    }
    return epoch->locks > 0 ? WEFT_EPOCH_NO_LOCK : WEFT_EPOCH_NO_PASSIVE;
}

void weft_epoch_leave_fence(struct weft_epoch *epoch)
{
    assert(!epoch->is_used || !epoch->is_fence);
    epoch->is_fence = false;
}

const char *weft_epoch_text(enum weft_epoch_fault fault)
{
    static const char *const texts[WEFT_EPOCH_FAULTS] = {
        [WEFT_EPOCH_FINE] = "",
        [WEFT_EPOCH_IN_FENCE] = WEFT_S_EPOCH_IN_FENCE,
        [WEFT_EPOCH_IN_START] = WEFT_S_EPOCH_IN_START,
        [WEFT_EPOCH_IN_POST] = WEFT_S_EPOCH_IN_POST,
        [WEFT_EPOCH_IN_LOCK] = WEFT_S_EPOCH_IN_LOCK,
        [WEFT_EPOCH_IN_LOCK_ALL] = WEFT_S_EPOCH_IN_LOCK_ALL,
        [WEFT_EPOCH_NO_START] = WEFT_S_EPOCH_NO_START,
        [WEFT_EPOCH_NO_POST] = WEFT_S_EPOCH_NO_POST,
        [WEFT_EPOCH_NO_LOCK] = WEFT_S_EPOCH_NO_LOCK,
        [WEFT_EPOCH_NO_LOCK_ALL] = WEFT_S_EPOCH_NO_LOCK_ALL,
        [WEFT_EPOCH_NO_PASSIVE] = WEFT_S_EPOCH_NO_PASSIVE,
        [WEFT_EPOCH_NONE] = WEFT_S_EPOCH_NONE,
    };

    return texts[fault];
}
