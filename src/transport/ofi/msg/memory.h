/* memory.h - puts into a peer's memory, gets from it, and memory that peers may reach. */
#ifndef WEFT_OFI_MSG_MEMORY_H
#define WEFT_OFI_MSG_MEMORY_H

#include "transport/ofi/msg/msg.h"

/* The table of memory of all paths. */
const struct weft_memory_ops *weft_msg_memory(void);

#endif
