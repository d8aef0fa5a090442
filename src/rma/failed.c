#include "rma/failed.h"

#include "engine/engine.h"
#include "rma/combine.h"
#include "rma/far.h"
#include "rma/lock.h"
#include "rma/near.h"
#include "rma/operation.h"
#include "rma/wait.h"

static void fail_members_of(struct weft_win *win)
{
    const struct weft_target *target;
    uint32_t at = 0;

    while ((target = weft_table_next(&win->targets, &at)) != NULL) {
        if (target->peer != NULL && target->peer->is_failed) {
            while (weft_lock_queue_leave(&win->locks, (int)target->rank)) {
            }
        }
    }
    weft_rma_grant(win);
    weft_rma_look(win);
}

void weft_rma_fail_members(void)
{
    struct weft_win *win;
    uint32_t at = 0;

    weft_assert_locked();
    weft_operations_fail();
    weft_far_fail();
    weft_combine_fail();
    weft_near_fail_members();
    while ((win = weft_win_next(&at)) != NULL) {
        fail_members_of(win);
    }
}
