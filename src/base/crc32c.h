/*
 * crc32c.h - the Castagnoli checksum, by the processor's instructions where it has some.
 *
 * The method is chosen on first use, from any thread. All methods give the same result.
 */
#ifndef WEFT_BASE_CRC32C_H
#define WEFT_BASE_CRC32C_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

uint32_t weft_crc32c(const void *data, size_t len);

/* The checksum of these bytes behind others whose checksum is `crc`; 0: behind none. */
uint32_t weft_crc32c_more(uint32_t crc, const void *data, size_t len);

/* For tests: a method by name, and whether this processor has it. */
enum weft_crc32c_method {
    WEFT_CRC32C_TABLE,
    WEFT_CRC32C_INSTRUCTION,
    WEFT_CRC32C_WIDE,
    WEFT_CRC32C_METHODS,
};

bool weft_crc32c_has(enum weft_crc32c_method method);
uint32_t weft_crc32c_by(enum weft_crc32c_method method, uint32_t crc, const void *data,
                        size_t len);

#endif
