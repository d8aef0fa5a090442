#include "rma/ways.h"

#include "engine/lock.h"
#include "rma/near.h"
#include "rma/win.h"

/* Ways of one window. */
struct found {
    bool is_mapped;
    bool is_copied;
    bool is_by_node_messages;
    bool is_by_table;
    bool is_by_net_messages;
};

/* Memory of the library is mapped at the first use, which a look is not. Nor does a look
 * try whether the kernel copies the user's: the first use does. */
static void look_near(const struct weft_win *win, int rank, struct found *found)
{
    const struct weft_near *near = weft_near_find(win, rank);

    if (win->near_count == 0) {
        found->is_by_node_messages = true;
    } else if (near == NULL) {
        found->is_mapped |= win->flavor == MPI_WIN_FLAVOR_SHARED ||
                            weft_win_part_of(&win->parts, rank).memory.bytes > 0;
    } else if (near->memory != NULL) {
        found->is_mapped = true;
    } else if (weft_near_is_copied(near)) {
        found->is_copied = true;
    } else {
        found->is_by_node_messages = true;
    }
}

static void look_far(const struct weft_win *win, int rank, struct found *found)
{
    if (win->is_far_reached &&
        (weft_win_part_of(&win->parts, rank).access & WEFT_PART_HAS_KEY) != 0) {
        found->is_by_table = true;
    } else {
        found->is_by_net_messages = true;
    }
}

/* Members without memory are no targets; of a dynamic window only they know what they
 * have. */
static struct found look(const struct weft_win *win)
{
    const bool is_dynamic = win->flavor == MPI_WIN_FLAVOR_DYNAMIC;
    const bool has_node = weft_near_has_transport();
    struct found found = {false};

    for (int r = 0; r < win->comm->size; r++) {
        if (r == win->comm->rank ||
            (weft_win_size_of(&win->parts, r) == 0 && !is_dynamic)) {
            continue;
        }
        if (has_node && weft_near_is_here(win->comm, r)) {
            look_near(win, r, &found);
        } else {
            look_far(win, r, &found);
        }
    }
    return found;
}

void weft_rma_ways_read(struct weft_rma_ways *ways)
{
    uint32_t index = 0;
    const struct weft_win *win;

    weft_assert_locked();
    *ways = (struct weft_rma_ways){0};
    while ((win = weft_win_next(&index)) != NULL) {
        struct found found;

        if (!win->is_made) {
            continue;
        }
        found = look(win);
        ways->windows++;
        ways->node_mapped += found.is_mapped;
        ways->node_copied += found.is_copied;
        ways->node_messages += found.is_by_node_messages;
        ways->net_memory += found.is_by_table;
        ways->net_messages += found.is_by_net_messages;
        ways->accumulate_word += found.is_mapped || found.is_copied;
        ways->accumulate_process +=
            found.is_by_node_messages || found.is_by_table || found.is_by_net_messages;
    }
}
