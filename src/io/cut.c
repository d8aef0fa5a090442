#include "io/cut.h"

#include <stdlib.h>
#include <string.h>

enum weft_rc weft_io_cut_make(struct weft_io_cut *cut, const struct weft_io_plan *plan)
{
    *cut = (struct weft_io_cut){.plan = plan};
    cut->runs = calloc((size_t)plan->aggregators, sizeof(*cut->runs));
    cut->share = calloc((size_t)weft_io_pass_windows(plan), sizeof(*cut->share));
    if (cut->runs == NULL || cut->share == NULL) {
        weft_io_cut_free(cut);
        return WEFT_ERR_NOMEM;
    }
    return WEFT_OK;
}

void weft_io_cut_free(struct weft_io_cut *cut)
{
    for (int a = 0; cut->runs != NULL && a < cut->plan->aggregators; a++) {
        weft_io_runs_free(&cut->runs[a]);
    }
    free(cut->runs);
    free(cut->share);
    cut->runs = NULL;
    cut->share = NULL;
}

static struct weft_io_runs *runs_of(const struct weft_io_cut *cut, uint64_t window)
{
    return &cut->runs[window % (uint64_t)cut->plan->aggregators];
}

static void enter(struct weft_io_cut *cut, uint64_t window)
{
    cut->window = window;
    cut->range = weft_io_window(cut->plan, window);
    cut->least = runs_of(cut, window)->count;
}

void weft_io_cut_start(struct weft_io_cut *cut, uint64_t pass)
{
    const uint64_t each = weft_io_pass_windows(cut->plan);

    cut->first = pass * each;
    cut->windows =
        cut->plan->windows - cut->first < each ? cut->plan->windows - cut->first : each;
    memset(cut->share, 0, (size_t)each * sizeof(*cut->share));
    for (int a = 0; a < cut->plan->aggregators; a++) {
        cut->runs[a].count = 0;
    }
    enter(cut, cut->first);
}

/* Adds bytes that lie in one window. */
static void add_part(struct weft_io_cut *cut, uint64_t offset, uint64_t bytes)
{
    struct weft_io_share *share = &cut->share[cut->window - cut->first];
    struct weft_io_runs *runs = runs_of(cut, cut->window);

    if (share->bytes == 0) {
        share->packed = cut->packed;
    }
    weft_io_runs_add(runs, cut->least, offset, bytes);
    share->bytes += bytes;
    share->runs = runs->count - cut->least;
    cut->packed += bytes;
}

uint64_t weft_io_cut_add(struct weft_io_cut *cut, uint64_t offset, uint64_t bytes)
{
    uint64_t taken = 0;

    while (taken < bytes) {
        uint64_t part = bytes - taken;

        if (offset + taken >= cut->range.end) {
            const uint64_t window = weft_io_window_at(cut->plan, offset + taken);

            if (window >= cut->first + cut->windows) {
                break;
            }
            enter(cut, window);
        }
        if (part > cut->range.end - (offset + taken)) {
            part = cut->range.end - (offset + taken);
        }
        add_part(cut, offset + taken, part);
        taken += part;
    }
    return taken;
}

enum weft_rc weft_io_cut_rc(const struct weft_io_cut *cut)
{
    for (int a = 0; a < cut->plan->aggregators; a++) {
        if (cut->runs[a].rc != WEFT_OK) {
            return cut->runs[a].rc;
        }
    }
    return WEFT_OK;
}
