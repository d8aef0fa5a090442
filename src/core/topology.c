#include "core/topology.h"

#include "engine/lock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum weft_rc weft_topology_take(int kind, const int lengths[WEFT_TOPOLOGY_LISTS],
                                struct weft_topology **out)
{
    struct weft_topology *made;
    size_t numbers = 0;

    for (int i = 0; i < WEFT_TOPOLOGY_LISTS; i++) {
        numbers += (size_t)lengths[i];
    }
    made = calloc(1, sizeof(*made) + numbers * sizeof(int));
    if (made == NULL) {
        return WEFT_ERR_NOMEM;
    }
    made->references = 1;
    made->kind = kind;
    memcpy(made->lengths, lengths, sizeof(made->lengths));
    *out = made;
    return WEFT_OK;
}

const int *weft_topology_see(const struct weft_topology *topology, int which)
{
    const int *list = topology->numbers;

    assert(which >= 0 && which < WEFT_TOPOLOGY_LISTS);
    for (int i = 0; i < which; i++) {
        list += topology->lengths[i];
    }
    return list;
}

int *weft_topology_list(struct weft_topology *topology, int which)
{
    return topology->numbers + (weft_topology_see(topology, which) - topology->numbers);
}

void weft_topology_fill(struct weft_topology *topology, int which, const int from[])
{
    if (topology->lengths[which] > 0) {
        memcpy(weft_topology_list(topology, which), from,
               (size_t)topology->lengths[which] * sizeof(int));
    }
}

struct weft_topology *weft_topology_use(struct weft_topology *topology)
{
    weft_assert_locked();
    if (topology != NULL) {
        topology->references++;
    }
    return topology;
}

void weft_topology_release(struct weft_topology *topology)
{
    weft_assert_locked();
    assert(topology == NULL || topology->references > 0);
    if (topology != NULL && --topology->references == 0) {
        free(topology);
    }
}
