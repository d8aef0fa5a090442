#include "transport/ofi/common/credits.h"

static bool acknowledge(uint32_t *acknowledged, uint32_t taken, uint32_t sent)
{
    if ((int32_t)(taken - *acknowledged) > 0) {
        *acknowledged = taken;
    }
    return (int32_t)(sent - taken) >= 0;
}

bool weft_credits_acknowledge(struct weft_credits *c, uint32_t taken,
                              uint32_t taken_control)
{
    return acknowledge(&c->acknowledged, taken, c->sent) &&
           acknowledge(&c->acknowledged_control, taken_control, c->sent_control);
}
