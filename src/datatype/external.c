#include "datatype/external.h"

#include "datatype/placement.h"
#include "datatype/elements.h"

#include <float.h>
#include <string.h>

/* A number inside a basic element. */
struct unit {
    size_t offset;
    size_t size;     /* here */
    size_t external; /* there */
    bool is_signed;
    bool is_long_double;
};

static bool is_long(MPI_Datatype type)
{
    return type == MPI_LONG || type == MPI_UNSIGNED_LONG || type == MPI_LONG_INT;
}

/* What all numbers of a type are, but for the int of a pair. */
static struct unit unit_of(const struct weft_datatype *basic)
{
    struct unit u = {.size = basic->size};

    if (basic->number == WEFT_NUMBER_PAIR) {
        u.size -= sizeof(int);
    } else if (basic->number == WEFT_NUMBER_COMPLEX ||
               basic->number == WEFT_NUMBER_COMPLEX32 || basic->elements == 2) {
        u.size /= 2;
    }
    u.external = is_long(basic->handle) ? 4 : basic->handle == MPI_WCHAR ? 2 : u.size;
    u.is_signed =
        basic->number == WEFT_NUMBER_SIGNED || basic->pair_of == WEFT_NUMBER_SIGNED;
    u.is_long_double =
        u.size == sizeof(long double) && LDBL_MANT_DIG == 64 &&
        (basic->number == WEFT_NUMBER_FLOAT || basic->number == WEFT_NUMBER_COMPLEX ||
         basic->pair_of == WEFT_NUMBER_FLOAT);
    return u;
}

/* The units of a basic element, at most two. */
static int units_of(const struct weft_datatype *basic, struct unit units[2])
{
    units[0] = unit_of(basic);
    units[1] = units[0];
    if (basic->number == WEFT_NUMBER_PAIR) {
        units[1] = (struct unit){.size = sizeof(int), .external = 4, .is_signed = true};
        units[1].offset = (size_t)basic->true_extent - sizeof(int);
        return 2;
    }
    units[1].offset = units[0].size;
    return units[0].size < basic->size ? 2 : 1;
}

uint64_t weft_external_size(const struct weft_datatype *type)
{
    uint64_t size = 0;

    if (type->contents == NULL) {
        struct unit units[2];
        int n = units_of(type, units);

        return units[0].external + (n > 1 ? units[1].external : 0);
    }
    for (MPI_Count i = 0; i < weft_placements(type); i++) {
        const struct weft_placement p = weft_placement_at(type, i);

        size += (uint64_t)p.length * weft_external_size(p.type);
    }
    return size;
}

/* ---- one number: here little-endian or not, there big-endian ---- */

/* 80-bit extended, with its leading 1 written out, in binary128, where it is not. */
static void long_double_out(const uint8_t *here, uint8_t *there)
{
    uint64_t fraction;
    uint16_t head;

    memcpy(&fraction, here, 8);
    memcpy(&head, here + 8, 2);
    fraction <<= 1; /* the leading 1 goes */
    there[0] = (uint8_t)(head >> 8);
    there[1] = (uint8_t)head;
    for (int i = 0; i < 8; i++) {
        there[2 + i] = (uint8_t)(fraction >> (56 - 8 * i));
    }
    memset(there + 10, 0, 6);
}

static void long_double_in(uint8_t *here, const uint8_t *there)
{
    uint64_t fraction = 0;
    uint16_t head = (uint16_t)(there[0] << 8 | there[1]);

    for (int i = 0; i < 8; i++) {
        fraction = fraction << 8 | there[2 + i];
    }
    fraction >>= 1;
    if ((head & 0x7fff) != 0) { /* neither zero nor denormal */
        fraction |= UINT64_C(1) << 63;
    }
    memset(here, 0, sizeof(long double));
    memcpy(here, &fraction, 8);
    memcpy(here + 8, &head, 2);
}

static bool is_little_endian(void)
{
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

/* The i-th byte from the least significant one on. */
static size_t place_here(size_t size, size_t i)
{
    return is_little_endian() ? i : size - 1 - i;
}

static void unit_out(const struct unit *u, const uint8_t *here, uint8_t *there)
{
    if (u->is_long_double) {
        long_double_out(here, there);
        return;
    }
    for (size_t i = 0; i < u->external; i++) {
        there[u->external - 1 - i] = here[place_here(u->size, i)];
    }
}

static void unit_in(const struct unit *u, uint8_t *here, const uint8_t *there)
{
    const uint8_t fill = u->is_signed && (there[0] & 0x80) != 0 ? 0xff : 0;

    if (u->is_long_double) {
        long_double_in(here, there);
        return;
    }
    for (size_t i = 0; i < u->size; i++) {
        here[place_here(u->size, i)] =
            i < u->external ? there[u->external - 1 - i] : fill;
    }
}

struct walk {
    uint8_t *packed;
    bool is_pack;
    uint64_t left;  /* bytes there that may be converted */
    uint64_t moved; /* bytes here that are converted */
};

static bool convert(void *context, const struct weft_datatype *basic, uintptr_t memory,
                    uint64_t count)
{
    struct walk *w = context;
    struct unit units[2];
    const int n = units_of(basic, units);
    const uint64_t each = units[0].external + (n > 1 ? units[1].external : 0);

    for (uint64_t k = 0; k < count; k++) {
        if (each > w->left) {
            return false;
        }
        for (int i = 0; i < n; i++) {
            uint8_t *here = (uint8_t *)(memory + units[i].offset);

            if (w->is_pack) {
                unit_out(&units[i], here, w->packed);
            } else {
                unit_in(&units[i], here, w->packed);
            }
            w->packed += units[i].external;
        }
        memory += (uintptr_t)basic->extent;
        w->left -= each;
        w->moved += basic->size;
    }
    return true;
}

void weft_external_pack(const struct weft_datatype *type, const void *buffer,
                        uint64_t count, void *packed)
{
    struct walk w = {.packed = packed, .is_pack = true, .left = UINT64_MAX};

    (void)weft_elements_visit(type, (uintptr_t)buffer, count, convert, &w);
}

void weft_external_unpack(const struct weft_datatype *type, void *buffer, uint64_t count,
                          const void *packed)
{
    (void)weft_external_unpack_some(type, buffer, count, packed, UINT64_MAX);
}

uint64_t weft_external_unpack_some(const struct weft_datatype *type, void *buffer,
                                   uint64_t count, const void *packed, uint64_t bytes)
{
    struct walk w = {.packed = (uint8_t *)(uintptr_t)packed, .left = bytes};

    (void)weft_elements_visit(type, (uintptr_t)buffer, count, convert, &w);
    return w.moved;
}
