#include "transport/ofi/quirks/pool.h"

#include <stdlib.h>

void weft_pool_prepare(void)
{
    setenv("FI_OFI_RXM_MSG_RX_SIZE", "1024", 0);
}
