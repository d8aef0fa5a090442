/*
 * crc32c.h - the Castagnoli checksum, by the processor's instruction where it has one.
 */
#ifndef WEFT_BASE_CRC32C_H
#define WEFT_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t weft_crc32c(const void *data, size_t len);

/* Of bytes that follow others, whose checksum is `crc`; 0: there are none. */
uint32_t weft_crc32c_more(uint32_t crc, const void *data, size_t len);

#endif
