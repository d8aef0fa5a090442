/* memory.h - puts into a peer's memory, gets from it, and memory that peers may reach. */
#ifndef WEFT_OFI_MSG_MEMORY_H
#define WEFT_OFI_MSG_MEMORY_H

#include "transport/ofi/msg/msg.h"

/*
 * The table of memory of all paths. Puts tell the peer something only where the provider
 * has room for 8 bytes, and gives them without a posted receive: our credits do not count
 * what a put takes there.
 */
const struct weft_memory_ops *weft_msg_memory(const struct fi_info *info);

#endif
