#include "transport/ofi/quirks/layers.h"

#include <stdlib.h>

void weft_layers_prepare(void)
{
    setenv("FI_OFI_RXM_MSG_RX_SIZE", "1024", 0);
    setenv("FI_OFI_RXD_MAX_UNACKED", "16", 0);
}
