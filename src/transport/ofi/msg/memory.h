/* memory.h - puts into a peer's memory, gets from it, and memory that peers may reach:
 * the transport's slots of these names. */
#ifndef WEFT_OFI_MSG_MEMORY_H
#define WEFT_OFI_MSG_MEMORY_H

#include "transport/ofi/msg/msg.h"

enum weft_rc weft_msg_put(struct weft_endpoint *ep, const struct weft_key *key,
                          uint64_t offset, const void *from, size_t len,
                          struct weft_op *op);
enum weft_rc weft_msg_get(struct weft_endpoint *ep, const struct weft_key *key,
                          uint64_t offset, void *to, size_t len, struct weft_op *op);
enum weft_rc weft_msg_mr_register(struct weft_transport *tp, void *memory, size_t bytes,
                                  unsigned how, struct weft_key *key, void **mr);
void weft_msg_mr_deregister(struct weft_transport *tp, void *mr);

#endif
