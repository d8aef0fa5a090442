#include "transfer/stage.h"

#include "transfer/transfer.h"

#include <stdlib.h>

enum { SPARE_STAGES = 4 };

static void *spare[SPARE_STAGES];
static int spares;

struct weft_stage weft_stage_take_shared(void)
{
    uint32_t number;
    void *at = weft_stage_take(&weft_engine.node, &number);

    return (struct weft_stage){at, at == NULL ? 0 : WEFT_IN_STAGE | number};
}

struct weft_stage weft_stage_take_any(void)
{
    struct weft_stage stage = weft_stage_take_shared();

    if (stage.at == NULL) {
        stage.at = spares > 0 ? spare[--spares] : malloc(WEFT_STAGE_BYTES);
        stage.name = (uint64_t)(uintptr_t)stage.at;
    }
    return stage;
}

void weft_stage_return(struct weft_stage stage)
{
    if ((stage.name & WEFT_IN_STAGE) != 0) {
        weft_stage_give(&weft_engine.node, (uint32_t)stage.name);
    } else if (stage.at != NULL && spares < SPARE_STAGES) {
        spare[spares++] = stage.at;
    } else {
        free(stage.at);
    }
}

void weft_stages_free(void)
{
    while (spares > 0) {
        free(spare[--spares]);
    }
}

struct weft_stage weft_stage_list(const struct weft_data *data)
{
    struct weft_stage stage = {0};

    if (!weft_iov_list_pays(data)) {
        return stage;
    }
    stage = weft_stage_take_shared();
    if (stage.at == NULL) {
        return stage;
    }
    if (!weft_iov_list_fill(stage.at, WEFT_STAGE_BYTES, data)) {
        weft_stage_return(stage);
        return (struct weft_stage){0};
    }
    stage.name |= WEFT_IS_LIST;
    return stage;
}

bool weft_remote_is_sound(const struct weft_peer *peer, uint64_t address, uint64_t length)
{
    if (peer->is_self || (address & WEFT_IN_STAGE) == 0) {
        return true; /* an address of the peer's: the kernel knows */
    }
    return peer->area != NULL &&
           weft_stage_of(peer->area, (uint32_t)(address & ~WEFT_IS_LIST)) != NULL &&
           ((address & WEFT_IS_LIST) != 0 || length <= WEFT_STAGE_BYTES);
}

const void *weft_remote_stage(const struct weft_peer *peer, uint64_t address)
{
    return weft_remote_is_packed(address) && peer->area != NULL
               ? weft_stage_of(peer->area, (uint32_t)address)
               : NULL;
}

struct weft_remote_data weft_remote_open(const struct weft_peer *peer, uint64_t address)
{
    struct weft_remote_data data = {.address = address, .room = WEFT_STAGE_BYTES};

    if (weft_remote_is_list(address)) {
        data.list = weft_stage_of(peer->area, (uint32_t)address);
    }
    return data;
}
