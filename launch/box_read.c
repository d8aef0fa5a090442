/*
 * box_read.c - tables of what ranks have done, and from the slice of a rank to its row.
 */
#include "box.h"

#include <stdlib.h>
#include <string.h>

bool box_open(struct box *box, int ranks)
{
    memset(box, 0, sizeof(*box));
    box->ranks = calloc((size_t)ranks + 1, sizeof(*box->ranks));
    box->count = ranks;
    (void)box_site(box, "");
    return box->ranks != NULL && box->site_count == 1;
}

void box_close(struct box *box)
{
    for (int r = 0; box->ranks != NULL && r < box->count; r++) {
        free(box->ranks[r].events);
    }
    for (int s = 0; s < box->site_count; s++) {
        free(box->sites[s]);
    }
    free(box->sites);
    free(box->ranks);
    memset(box, 0, sizeof(*box));
}

uint32_t box_site(struct box *box, const char *text)
{
    char **sites;

    for (int s = 0; s < box->site_count; s++) {
        if (strcmp(box->sites[s], text) == 0) {
            return (uint32_t)s;
        }
    }
    if (box->site_count == BOX_SITES) {
        return 0;
    }
    sites = realloc(box->sites, (size_t)(box->site_count + 1) * sizeof(*sites));
    if (sites == NULL) {
        return 0;
    }
    box->sites = sites;
    box->sites[box->site_count] = strndup(text, BOX_SITE_TEXT);
    if (box->sites[box->site_count] == NULL) {
        return 0;
    }
    return (uint32_t)box->site_count++;
}

/* ---- one rank ---- */

/* The addresses of one process that were looked up. A program calls MPI from few places,
 * again and again. */
enum { KNOWN = 256 };

struct known {
    uint64_t address[KNOWN];
    uint32_t site[KNOWN];
};

static uint32_t site_of(struct box *box, struct known *known,
                        const struct weft_trace_copy *copy, uint64_t address,
                        box_site_fn *name, void *owner)
{
    const size_t at = (address ^ address >> 8) % KNOWN;

    if (address == 0 || name == NULL) {
        return 0;
    }
    if (known->address[at] != address) {
        const char *text = name(owner, copy->modules, (int)copy->module_count, address);

        known->address[at] = address;
        known->site[at] = text != NULL ? box_site(box, text) : 0;
    }
    return known->site[at];
}

void box_read(struct box *box, int rank, const struct weft_trace_copy *copy,
              const struct box_wish *wish, box_site_fn *name, void *owner)
{
    static struct known known;
    struct box_rank *row = &box->ranks[rank];
    uint32_t from = 0;

    memset(&known, 0, sizeof(known));
    if (copy->count > (uint32_t)wish->most) {
        from = copy->count - (uint32_t)wish->most;
    }
    while (from + 1 < copy->count && /* the last one says what the rank does */
           weft_trace_ns(copy, copy->events[from].when) < wish->from_ns) {
        from++;
    }
    row->is_open = copy->count > 0 && copy->is_open;
    row->left_out = from;
    free(row->events);
    row->events = calloc(copy->count - from + 1, sizeof(*row->events));
    row->count = row->events != NULL ? (int)(copy->count - from) : 0;
    for (int i = 0; i < row->count; i++) {
        const struct weft_trace_event *event = &copy->events[from + (uint32_t)i];

        row->events[i] = (struct box_event){
            .when = weft_trace_ns(copy, event->when),
            .context = event->context,
            .peer = event->peer,
            .tag = event->tag,
            .bytes = event->bytes,
            .call = weft_trace_call(event),
            .site = site_of(box, &known, copy, weft_trace_address(event), name, owner),
        };
    }
}
