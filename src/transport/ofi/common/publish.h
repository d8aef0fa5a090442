/*
 * publish.h - what ranks tell each other of their networks.
 *
 * Each rank decides by itself which network it opens, from what its node has. There is
 * one key for all networks, so that ranks which have decided differently notice it at
 * first contact.
 */
#ifndef WEFT_OFI_PUBLISH_H
#define WEFT_OFI_PUBLISH_H

#include "transport/transport.h"
#include "wireup/wireup.h"

enum { WEFT_OFI_VALUE_MAX = WEFT_KVS_VALUE_MAX - 16 }; /* of what is told */

/* Numbers the openings of networks in this process, which all ranks do together. */
uint32_t weft_ofi_number_opening(void);

/* Once for each opening. */
WEFT_MUST_CHECK enum weft_rc weft_ofi_publish(struct weft_job *job, uint32_t opening,
                                              const struct weft_packet_ops *network,
                                              const char *value);

/* Appends `count` bytes as digits to a value of which `used` characters are written, and
 * returns how many are written then. There has to be room for all. */
size_t weft_ofi_write_bytes(char value[WEFT_OFI_VALUE_MAX + 1], size_t used,
                            const uint8_t *bytes, size_t count);

/* Reads all of the first `digits` characters into at most `most` bytes. Returns how many
 * bytes they are; 0: none, too many, or no digits. */
size_t weft_ofi_read_bytes(const char *text, size_t digits, uint8_t *bytes, size_t most);

/* As weft_wireup_try_lookup(). Ends the job if the rank has opened another network. */
WEFT_MUST_CHECK enum weft_rc weft_ofi_look_up(struct weft_job *job, uint32_t rank,
                                              uint32_t opening,
                                              const struct weft_packet_ops *network,
                                              char value[WEFT_KVS_VALUE_MAX + 1]);

#endif
