/*
 * stage.c - memory in which messages that are not contiguous are packed.
 *
 * Stages of the transport are read by peers without a copy; when they are all taken, or
 * the transport has none, a private one does, which peers fetch. A few private ones are
 * kept until the end.
 */
#include "p2p/internal.h"

#include <stdlib.h>

enum { SPARE_STAGES = 4 };

static void *spare[SPARE_STAGES];
static int spares;

struct weft_stage weft_p2p_take_shared_stage(void)
{
    uint32_t number;
    void *at = weft_stage_take(&weft_engine.node, &number);

    return (struct weft_stage){at, at == NULL ? 0 : WEFT_IN_STAGE | number};
}

struct weft_stage weft_p2p_take_stage(void)
{
    struct weft_stage stage = weft_p2p_take_shared_stage();

    if (stage.at == NULL) {
        stage.at = spares > 0 ? spare[--spares] : malloc(WEFT_STAGE_BYTES);
        stage.name = (uint64_t)(uintptr_t)stage.at;
    }
    return stage;
}

void weft_p2p_give_stage(struct weft_stage stage)
{
    if ((stage.name & WEFT_IN_STAGE) != 0) {
        weft_stage_give(&weft_engine.node, (uint32_t)stage.name);
    } else if (stage.at != NULL && spares < SPARE_STAGES) {
        spare[spares++] = stage.at;
    } else {
        free(stage.at);
    }
}

const void *weft_p2p_see_stage(const struct weft_peer *peer, uint64_t name)
{
    return weft_p2p_is_packed(name) && peer->area != NULL
               ? weft_stage_of(peer->area, (uint32_t)name)
               : NULL;
}

struct weft_remote_data weft_p2p_remote_data(const struct weft_peer *peer, uint64_t place)
{
    struct weft_remote_data data = {.address = place, .room = WEFT_STAGE_BYTES};

    if (weft_p2p_is_list(place)) {
        data.list = weft_stage_of(peer->area, (uint32_t)place);
    }
    return data;
}

void weft_p2p_free_stages(void)
{
    while (spares > 0) {
        free(spare[--spares]);
    }
}
