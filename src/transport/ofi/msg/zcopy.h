/* zcopy.h - packets whose data is the user's memory: a slot carries the frame and the
 * head, the provider reads the rest where it is. */
#ifndef WEFT_OFI_MSG_ZCOPY_H
#define WEFT_OFI_MSG_ZCOPY_H

#include "transport/ofi/msg/msg.h"

/* The transport's send_zcopy(). */
enum weft_rc weft_msg_send_zcopy(struct weft_path *path, const void *header,
                                 const void *head, size_t head_len, const void *data,
                                 size_t len, struct weft_op *op);

#endif
