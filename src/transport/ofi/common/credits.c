#include "transport/ofi/common/credits.h"

static bool acknowledge(struct weft_credits *c, uint32_t taken)
{
    if ((int32_t)(taken - c->acknowledged) > 0) {
        c->acknowledged = taken;
    }
    return (int32_t)(c->sent - taken) >= 0;
}

static bool acknowledge_control(struct weft_credits *c, uint16_t taken)
{
    if ((int16_t)(uint16_t)(taken - c->acknowledged_control) > 0) {
        c->acknowledged_control = taken;
    }
    return (int16_t)(uint16_t)(c->sent_control - taken) >= 0;
}

bool weft_credits_acknowledge(struct weft_credits *c, uint32_t taken,
                              uint16_t taken_control)
{
    return acknowledge(c, taken) && acknowledge_control(c, taken_control);
}

void weft_credits_put_off(struct weft_credits_due *due, struct weft_credits *c)
{
    due->is_refused = true;
    c->is_put_off = true;
    c->next_due = due->first;
    due->first = c;
}

void weft_credits_try_again(struct weft_credits_due *due,
                            bool (*try)(void *argument, struct weft_credits *c),
                            void *argument)
{
    struct weft_credits **at = &due->first;

    while (*at != NULL) {
        struct weft_credits *c = *at;

        if (try(argument, c)) {
            c->is_put_off = false;
            *at = c->next_due;
        } else {
            at = &c->next_due;
        }
    }
}
