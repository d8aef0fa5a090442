/*
 * registry.c - one line per transport.
 */
#include "transport/transport.h"

#include <string.h>

extern const struct weft_packet_ops weft_tagged_ops; /* runtime knows it by its table */

#ifdef WEFT_TEST_TRANSPORT
extern const struct weft_packet_ops WEFT_TEST_TRANSPORT;
#endif

const struct weft_packet_ops *const weft_transports[] = {
    &weft_shm_ops,
#ifdef WEFT_TEST_TRANSPORT /* in builds for tests: docs/adding-a-transport.md */
    &WEFT_TEST_TRANSPORT,
#endif
    &weft_msg_ops,    /* with connections */
    &weft_rdm_ops,    /* without */
    &weft_dgram_ops,  /* datagrams, and our own reliability */
    &weft_tagged_ops, /* without, where the network matches messages */
    NULL,
};

const struct weft_packet_ops *weft_transport_find(const char *name)
{
    for (int i = 0; weft_transports[i] != NULL; i++) {
        if (strcmp(weft_transports[i]->name, name) == 0) {
            return weft_transports[i];
        }
    }
    return NULL;
}
