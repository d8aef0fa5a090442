/* memory.h - the transport's table of memory. */
#ifndef WEFT_OFI_RDM_MEMORY_H
#define WEFT_OFI_RDM_MEMORY_H

#include "transport/ofi/rdm/rdm.h"

const struct weft_memory_ops *weft_rdm_memory(void);

#endif
