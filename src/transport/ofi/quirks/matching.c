#include "transport/ofi/quirks/matching.h"

#include <stdlib.h>

void weft_matching_prepare(void)
{
    setenv("FI_OFI_RXM_ENABLE_DYN_RBUF", "0", 0);
    setenv("FI_OFI_RXM_SAR_LIMIT", "1", 0); /* below the limit of a buffer: none */
}
