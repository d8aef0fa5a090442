#include "transport/ofi/quirks/layers.h"

#include <stdlib.h>
#include <string.h>

void weft_layers_prepare(void)
{
    setenv("FI_OFI_RXM_MSG_RX_SIZE", "1024", 0);
    setenv("FI_OFI_RXD_MAX_UNACKED", "16", 0);
}

void weft_layers_prepare_packets(void)
{
    const char *provider = getenv("FI_PROVIDER");

    if (provider != NULL && strstr(provider, "tcp") != NULL) {
        setenv("FI_OFI_RXM_EAGER_LIMIT", "131072", 0); /* more than any packet has */
    }
}
