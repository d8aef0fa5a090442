#include "rma/withdraw.h"

#include "engine/engine.h"
#include "rma/far.h"
#include "rma/flush.h"
#include "rma/near.h"

static void ask(struct weft_win *win, int rank)
{
    struct weft_target *target;

    if (weft_far_is_member(win, rank) && weft_win_target(win, rank, &target) == WEFT_OK) {
        weft_target_begin_ask(win, target, WEFT_RMA_WITHDRAW);
    }
}

/* A member that has failed has no answer, and uses nothing. */
static void await(struct weft_win *win, int rank, const char *call)
{
    struct weft_target *target = weft_win_find_target(win, rank);

    if (weft_far_is_member(win, rank) && target != NULL && target->peer != NULL) {
        const enum weft_rc rc = weft_target_end_ask(win, target, call);

        (void)rc;
    }
}

/* All are asked before any answer is awaited. */
static void ask_all(struct weft_win *win, const char *call)
{
    for (int rank = 0; rank < win->comm->size; rank++) {
        ask(win, rank);
    }
    for (int rank = 0; rank < win->comm->size; rank++) {
        await(win, rank, call);
    }
}

void weft_rma_withdraw(struct weft_win *win, const char *call)
{
    weft_assert_unlocked();
    if (win->far_mr != NULL) {
        weft_lock();
        ask_all(win, call);
        weft_far_close(win);
        weft_engine_leave();
        weft_unlock();
    }
    weft_near_withdraw(win);
}
