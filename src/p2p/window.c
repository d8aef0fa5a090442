/*
 * window.c - memory in which messages that are not contiguous are packed.
 *
 * Windows of the transport are read by peers without a copy; when they are all taken, or
 * the transport has none, a private one does, which peers fetch. A few private ones are
 * kept until the end.
 */
#include "p2p/internal.h"

#include <stdlib.h>

enum { SPARE_WINDOWS = 4 };

static void *spare[SPARE_WINDOWS];
static int spares;

struct weft_window weft_p2p_take_shared_window(void)
{
    uint32_t number;
    void *at = weft_p2p.ops->window_take(weft_p2p.transport, &number);

    return (struct weft_window){at, at == NULL ? 0 : WEFT_IN_WINDOW | number};
}

struct weft_window weft_p2p_take_window(void)
{
    struct weft_window window = weft_p2p_take_shared_window();

    if (window.at == NULL) {
        window.at = spares > 0 ? spare[--spares] : malloc(WEFT_WINDOW);
        window.name = (uint64_t)(uintptr_t)window.at;
    }
    return window;
}

void weft_p2p_give_window(struct weft_window window)
{
    if ((window.name & WEFT_IN_WINDOW) != 0) {
        weft_p2p.ops->window_give(weft_p2p.transport, (uint32_t)window.name);
    } else if (window.at != NULL && spares < SPARE_WINDOWS) {
        spare[spares++] = window.at;
    } else {
        free(window.at);
    }
}

const void *weft_p2p_see_window(const struct weft_peer *peer, uint64_t name)
{
    return weft_p2p_is_packed(name) && peer->ep != NULL
               ? peer->ep->ops->window_of(peer->ep, (uint32_t)name)
               : NULL;
}

void weft_p2p_free_windows(void)
{
    while (spares > 0) {
        free(spare[--spares]);
    }
}
