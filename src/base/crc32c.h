/*
 * crc32c.h - the Castagnoli checksum, by the processor's instruction where it has one.
 */
#ifndef WEFT_BASE_CRC32C_H
#define WEFT_BASE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t weft_crc32c(const void *data, size_t len);

#endif
