#include "engine/seal.h"

#include "base/crc32c.h"
#include "base/log.h"
#include "base/texts.h"

#include <stddef.h>

uint32_t weft_seal_of(uint32_t crc, const struct weft_header *header)
{
    return weft_crc32c_more(crc, header, offsetof(struct weft_header, check));
}

void weft_seal_packet(struct weft_header *header, const void *bytes, size_t len)
{
    header->check = weft_seal_of(weft_crc32c(bytes, len), header);
}

bool weft_seal_is_intact(const struct weft_header *header, const void *bytes, size_t len)
{
    return header->check == weft_seal_of(weft_crc32c(bytes, len), header);
}

enum weft_rc weft_seal_report(const struct weft_header *header, uint64_t length,
                              uint64_t at, uint64_t block, uint32_t is, uint32_t was)
{
    const uint64_t end = length - at < block ? length : at + block;

    weft_log_error(WEFT_S_CHANGED, (unsigned long long)length, header->source,
                   header->tag, header->sequence, (unsigned long long)at,
                   (unsigned long long)end, is, was);
    return WEFT_ERR_CHECKSUM;
}
