#include "rma/wait.h"

/* A thread that waits. Whoever explains a wait takes an event for that of a request. */
struct weft_rma_wait {
    struct weft_request request; /* first: only its event counts */
    struct weft_rma_wait *next;
    weft_rma_is_so *is_so;
    const void *what;
};

static struct weft_event *event_at(const void *list, int i)
{
    (void)i;
    return &((struct weft_rma_wait *)(uintptr_t)list)->request.event;
}

/* Does a network lead to the member for whom we wait? */
static bool is_far(const struct weft_win *win, int rank)
{
    const struct weft_target *target = weft_win_find_target(win, rank);
    const struct weft_path *path =
        target != NULL && target->peer != NULL ? target->peer->path : NULL;

    return path != NULL && !path->packets->is_node_local;
}

void weft_rma_wait(struct weft_win *win, weft_rma_is_so *is_so, const void *what,
                   const char *call, int rank)
{
    struct weft_rma_wait self = {
        .request = {.kind = WEFT_REQUEST_GENERALIZED},
        .is_so = is_so,
        .what = what,
    };
    const struct weft_wait wait = {event_at, &self, 1, false, is_far(win, rank)};
    const struct weft_wait_reason why = {call, win->name != NULL ? win->name : "a window",
                                         rank, MPI_ANY_TAG, 0};

    weft_assert_locked();
    if (is_so(what)) {
        return;
    }
    weft_event_clear(&self.request.event);
    self.next = win->waits;
    win->waits = &self;
    weft_engine_wait(&wait, &why);
}

void weft_rma_look(struct weft_win *win)
{
    struct weft_rma_wait **at = &win->waits;

    weft_assert_locked();
    while (*at != NULL) {
        struct weft_rma_wait *wait = *at;

        if (wait->is_so(wait->what)) {
            *at = wait->next;
            weft_event_set(&wait->request.event);
            weft_event_wake(&wait->request.event);
        } else {
            at = &wait->next;
        }
    }
}
