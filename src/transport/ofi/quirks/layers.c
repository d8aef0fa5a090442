#include "transport/ofi/quirks/layers.h"

#include "base/environment.h"

#include <stdlib.h>
#include <string.h>

void weft_layers_prepare(void)
{
    weft_environment_offer("FI_OFI_RXM_MSG_RX_SIZE", "1024");
    weft_environment_offer("FI_OFI_RXD_MAX_UNACKED", "16");
}

void weft_layers_prepare_packets(void)
{
    const char *provider = getenv("FI_PROVIDER");

    if (provider != NULL && strstr(provider, "tcp") != NULL) {
        /* More than any packet has. */
        weft_environment_offer("FI_OFI_RXM_EAGER_LIMIT", "131072");
    }
}
