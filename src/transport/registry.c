/*
 * registry.c - one line per transport.
 */
#include "transport/transport.h"

#include <string.h>

const struct weft_transport_ops *const weft_transports[] = {
    &weft_shm_ops,
    &weft_msg_ops,
    NULL,
};

const struct weft_transport_ops *weft_transport_find(const char *name)
{
    for (int i = 0; weft_transports[i] != NULL; i++) {
        if (strcmp(weft_transports[i]->name, name) == 0) {
            return weft_transports[i];
        }
    }
    return NULL;
}
