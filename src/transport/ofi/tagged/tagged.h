/*
 * tagged.h - the tagged face (FI_TAGGED) of the endpoint without connections (rdm/): the
 * provider matches messages to receives, on the card where that can.
 *
 * What it takes: receives that name their sender (FI_DIRECTED_RECV), messages of one pair
 * in order (FI_ORDER_SAS), WEFT_TAGGED_BITS bits, and 8 bytes of data with a message. A
 * provider without one of these is refused.
 *
 * A peer is sent nothing before it has answered a greeting (rdm/greet.h). That has a
 * second use: its address was inserted there before our first message arrives, so that
 * the provider knows whose it is.
 */
#ifndef WEFT_OFI_TAGGED_H
#define WEFT_OFI_TAGGED_H

#include "transport/ofi/rdm/rdm.h"
#include "transport/tagged.h"

/* What an endpoint has to be able to do besides, and in which order. */
enum { WEFT_TAGGED_DATA_BYTES = 8 };
#define WEFT_TAGGED_CAPS  (FI_TAGGED | FI_DIRECTED_RECV)
#define WEFT_TAGGED_ORDER FI_ORDER_SAS

/* Why a provider that has these cannot be used nevertheless, or NULL. */
const char *weft_tagged_refusal(const struct fi_info *info);

const struct weft_tagged_ops *weft_tagged_table(void);

/* An operation of ours has completed, or failed. */
void weft_tagged_complete(struct weft_transport *tp, struct weft_tagged_op *op,
                          const struct fi_cq_tagged_entry *entry);
void weft_tagged_fail(struct weft_transport *tp, struct weft_tagged_op *op,
                      const struct fi_cq_err_entry *error);

#endif
