#include "coll/nodes.h"

#include "engine/hot.h"

#include <stdlib.h>

/* The nodes of all members in the order of the job; false: not all are of this job. */
static bool find_nodes(const struct weft_group *group, uint32_t *node_of)
{
    const struct weft_location *map = weft_segment_map(&weft_engine.job->segment);

    for (int rank = 0; rank < group->size; rank++) {
        const uint64_t process = weft_group_process(group, rank);

        if (weft_process_job(process) != weft_process_job(weft_engine.me)) {
            return false;
        }
        node_of[rank] = map[weft_process_rank(process)].node;
    }
    return true;
}

static struct weft_spread *make(const struct weft_group *group)
{
    uint32_t *node_of = reallocarray(NULL, (size_t)group->size, sizeof(*node_of));
    struct weft_spread *spread = NULL;

    if (node_of != NULL) {
        spread = find_nodes(group, node_of)
                     ? weft_spread_make(node_of, group->size,
                                        weft_engine.job->segment.header->node_count)
                     : calloc(1, sizeof(*spread));
    }
    free(node_of);
    return spread;
}

/* Two threads may have made it: the first one's is kept. */
static struct weft_spread *keep(struct weft_group *group, struct weft_spread *made)
{
    struct weft_spread *kept = NULL;

    /* Release: who loads the pointer sees what it points to. */
    if (!atomic_compare_exchange_strong_explicit(
            &group->spread, &kept, made, memory_order_acq_rel, memory_order_acquire)) {
        free(made);
        return kept;
    }
    return made;
}

enum weft_rc weft_coll_spread(struct weft_group *group, const struct weft_spread **out)
{
    struct weft_spread *spread;

    *out = NULL;
    if (weft_engine.job->segment.header->node_count == 1 || group->size == 1) {
        return WEFT_OK;
    }
    /* Acquire: pairs with the exchange that kept it. */
    spread = atomic_load_explicit(&group->spread, memory_order_acquire);
    if (spread == NULL) {
        spread = make(group);
        if (spread == NULL) {
            return WEFT_ERR_NOMEM;
        }
        spread = keep(group, spread);
    }
    *out = spread->nodes > 1 ? spread : NULL;
    return WEFT_OK;
}
