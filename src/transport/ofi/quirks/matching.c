#include "transport/ofi/quirks/matching.h"

#include "base/environment.h"

void weft_matching_prepare(void)
{
    weft_environment_offer("FI_OFI_RXM_ENABLE_DYN_RBUF", "0");
    /* Below the limit of a buffer: none. */
    weft_environment_offer("FI_OFI_RXM_SAR_LIMIT", "1");
}
