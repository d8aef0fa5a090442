#include "sched/parts.h"

struct weft_parts weft_parts_cut(uint32_t partitions, uint64_t partition_bytes)
{
    uint32_t per_unit = partitions / WEFT_MOST_UNITS;

    if (partition_bytes == 0) {
        per_unit = partitions;
    } else if (partitions % WEFT_MOST_UNITS != 0) {
        per_unit++;
    }
    per_unit = per_unit == 0 ? 1 : per_unit;
    return (struct weft_parts){
        .total = partitions * partition_bytes,
        .unit = per_unit * partition_bytes,
        .units = partitions / per_unit + (partitions % per_unit != 0),
        .per_unit = per_unit,
    };
}

uint32_t weft_parts_in_unit(const struct weft_parts *parts, uint32_t partitions,
                            uint32_t unit)
{
    const uint32_t left = partitions - unit * parts->per_unit;

    return left < parts->per_unit ? left : parts->per_unit;
}

uint64_t weft_parts_offset(const struct weft_parts *parts, uint32_t unit)
{
    return unit * parts->unit;
}

uint64_t weft_parts_length(const struct weft_parts *parts, uint32_t unit)
{
    const uint64_t left = parts->total - weft_parts_offset(parts, unit);

    return left < parts->unit ? left : parts->unit;
}

struct weft_units weft_parts_covering(const struct weft_parts *parts, uint64_t begin,
                                      uint64_t end)
{
    end = end < parts->total ? end : parts->total;
    if (begin >= end) {
        return (struct weft_units){0, parts->units};
    }
    return (struct weft_units){
        .first = (uint32_t)(begin / parts->unit),
        .end = (uint32_t)((end - 1) / parts->unit) + 1,
    };
}
