#include "datatype/elements.h"

#include "datatype/placement.h"

/* Of a pair: the value comes first, an int or another like it behind. */
static size_t first_of_pair(const struct weft_datatype *type)
{
    return type->number == WEFT_NUMBER_PAIR ? type->size - sizeof(int) : type->size / 2;
}

MPI_Count weft_elements_in(const struct weft_datatype *type, uint64_t bytes)
{
    MPI_Count whole;
    MPI_Count n;

    if (bytes == 0 || type->size == 0) {
        return bytes == 0 ? 0 : -1;
    }
    whole = (MPI_Count)(bytes / type->size * type->elements);
    bytes %= type->size;
    if (bytes == 0) {
        return whole;
    }
    if (type->contents == NULL) {
        return type->elements == 2 && bytes == first_of_pair(type) ? whole + 1 : -1;
    }
    n = weft_placements(type);
    for (MPI_Count i = 0; i < n; i++) {
        const struct weft_placement p = weft_placement_at(type, i);
        const uint64_t part = (uint64_t)p.length * p.type->size;

        if (bytes <= part) {
            MPI_Count last = weft_elements_in(p.type, bytes);

            return last < 0 ? last : whole + last;
        }
        whole += (MPI_Count)((uint64_t)p.length * p.type->elements);
        bytes -= part;
    }
    return -1; /* not reached: the parts make up the size */
}

MPI_Count weft_elements_bytes(const struct weft_datatype *type, uint64_t elements)
{
    MPI_Count bytes;
    MPI_Count n;

    if (elements == 0 || type->elements == 0) {
        return elements == 0 ? 0 : -1;
    }
    if (__builtin_mul_overflow(elements / type->elements, type->size, &bytes)) {
        return -1;
    }
    elements %= type->elements;
    if (elements == 0) {
        return bytes;
    }
    if (type->contents == NULL) {
        return bytes + (MPI_Count)first_of_pair(type);
    }
    n = weft_placements(type);
    for (MPI_Count i = 0; i < n; i++) {
        const struct weft_placement p = weft_placement_at(type, i);
        const uint64_t part = (uint64_t)p.length * p.type->elements;

        if (elements <= part) {
            return bytes + weft_elements_bytes(p.type, elements);
        }
        bytes += (MPI_Count)((uint64_t)p.length * p.type->size);
        elements -= part;
    }
    return -1; /* not reached */
}

bool weft_elements_visit(const struct weft_datatype *type, uintptr_t memory,
                         uint64_t count, weft_element_fn *fn, void *context)
{
    MPI_Count n;

    if (type->contents == NULL) {
        return count == 0 || fn(context, type, memory, count);
    }
    n = type->size == 0 ? 0 : weft_placements(type);
    for (uint64_t k = 0; k < count; k++) {
        for (MPI_Count i = 0; i < n; i++) {
            const struct weft_placement p = weft_placement_at(type, i);

            if (!weft_elements_visit(p.type, memory + (uintptr_t)p.offset,
                                     (uint64_t)p.length, fn, context)) {
                return false;
            }
        }
        memory += (uintptr_t)type->extent;
    }
    return true;
}
