#include "node/stage.h"

#include "node/bits.h"

void *weft_stage_take(struct weft_node *node, uint32_t *number)
{
    return weft_bits_take(&node->stages_used, WEFT_STAGES, number)
               ? node->area->stages[*number]
               : NULL;
}

void weft_stage_give(struct weft_node *node, uint32_t number)
{
    weft_bits_give(&node->stages_used, number);
}

const void *weft_stage_of(const struct weft_node_area *area, uint32_t number)
{
    return number < WEFT_STAGES ? area->stages[number] : NULL;
}
