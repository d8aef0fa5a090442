/*
 * face.c - what the provider looks like, by STRICT_FACE: one row each.
 *
 * A row has the habits of the network that it is named after, as far as they matter to
 * who uses it; its figures are smaller.
 */
#include "strict.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HARDWARE_MEMORY (FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY)

#define MATCHING (FI_TAGGED | FI_DIRECTED_RECV)

enum { RDM_MESSAGE_MAX = 256 * 1024 * 1024, MATCHED_DATA = 8 };

static const struct strict_face connected = {
    .name = "connected",
    .below = "tcp",
    .type = FI_EP_MSG,
    .mr_mode = HARDWARE_MEMORY,
    .order = UINT64_MAX,
    .message_max = STRICT_MESSAGE_MAX,
    .has_wait = true,
};

static const struct strict_face faces[] = {
    {
        /* Packets come as they like, and room for its headers is asked for. */
        .name = "efa",
        .below = "tcp;ofi_rxm",
        .type = FI_EP_RDM,
        .mode = FI_MSG_PREFIX,
        .mr_mode = HARDWARE_MEMORY,
        .flags = FI_DELIVERY_COMPLETE,
        .addresses = FI_ADDR_EFA,
        .inject_size = 32,
        .prefix = 24,
        .message_max = RDM_MESSAGE_MAX,
        .has_wait = true,
        .is_shuffled = true,
        .is_late = true,
        .atomics = STRICT_NO_ATOMICS,
    },
    {
        /* Memory is the endpoint's, and peers name it by offsets. It matches by 48 bits.
         */
        .name = "cxi",
        .below = "tcp;ofi_rxm",
        .type = FI_EP_RDM,
        .caps = FI_MULTI_RECV | FI_ATOMIC | MATCHING,
        .data_bytes = MATCHED_DATA,
        .tag_format = UINT64_C(0xaaaaaaaaaaaa),
        .mr_mode = FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT,
        .order = FI_ORDER_SAS,
        .flags = FI_DELIVERY_COMPLETE,
        .addresses = FI_ADDR_CXI,
        .inject_size = 192,
        .message_max = RDM_MESSAGE_MAX,
        .has_wait = true,
        .is_shuffled = true,
        .is_late = true,
        .atomics = STRICT_ALL_ATOMICS,
    },
    {
        /* As verbs with libfabric's layer above it, but with the card's own atomics. */
        .name = "verbs",
        .below = "tcp;ofi_rxm",
        .type = FI_EP_RDM,
        .caps = FI_MULTI_RECV | FI_ATOMIC | MATCHING,
        .data_bytes = MATCHED_DATA,
        .mr_mode = HARDWARE_MEMORY,
        .order = FI_ORDER_SAS | FI_ORDER_SAW | FI_ORDER_RMA_RAW | FI_ORDER_RMA_WAW,
        .inject_size = 64,
        .message_max = RDM_MESSAGE_MAX,
        .has_wait = true,
        .atomics = STRICT_TWO_ATOMICS,
    },
    {
        /* Nothing to sleep on; a read tells that the writes before it are there. */
        .name = "psm3",
        .below = "tcp;ofi_rxm",
        .type = FI_EP_RDM,
        .caps = FI_ATOMIC | MATCHING,
        .data_bytes = MATCHED_DATA,
        .mr_mode = HARDWARE_MEMORY,
        .order = FI_ORDER_SAS | FI_ORDER_RMA_RAW,
        .addresses = FI_ADDR_PSMX3,
        .inject_size = 64,
        .message_max = RDM_MESSAGE_MAX,
        .is_late = true,
        .atomics = STRICT_ALL_ATOMICS,
    },
    {
        /* It matches in order, and tells of it in another. */
        .name = "matcher",
        .below = "tcp;ofi_rxm",
        .type = FI_EP_RDM,
        .caps = FI_MULTI_RECV | MATCHING,
        .mr_mode = HARDWARE_MEMORY,
        .order = FI_ORDER_SAS,
        .flags = FI_DELIVERY_COMPLETE,
        .inject_size = 16,
        .message_max = RDM_MESSAGE_MAX,
        .data_bytes = MATCHED_DATA,
        .has_wait = true,
        .is_shuffled = true,
        .is_late = true,
    },
    {
        /* The same, of short messages. */
        .name = "short",
        .below = "tcp;ofi_rxm",
        .type = FI_EP_RDM,
        .caps = MATCHING,
        .mr_mode = HARDWARE_MEMORY,
        .order = FI_ORDER_SAS,
        .inject_size = 16,
        .message_max = 128 * 1024,
        .data_bytes = MATCHED_DATA,
        .has_wait = true,
    },
    {
        /* As little as there can be: short packets, and no memory. */
        .name = "poor",
        .below = "tcp;ofi_rxm",
        .type = FI_EP_RDM,
        .mr_mode = HARDWARE_MEMORY,
        .message_max = 1024,
        .is_shuffled = true,
    },
};

const struct strict_face *strict_face(void)
{
    const char *wanted = getenv("STRICT_FACE");

    for (size_t i = 0; wanted != NULL && i < sizeof(faces) / sizeof(faces[0]); i++) {
        if (strcmp(faces[i].name, wanted) == 0) {
            return &faces[i];
        }
    }
    if (wanted != NULL) {
        strict_violation("STRICT_FACE", "there is no face %s", wanted);
    }
    return &connected;
}

bool strict_face_has_atomic(enum fi_datatype type, enum fi_op op, uint64_t kind)
{
    const bool is_wide = type == FI_INT64 || type == FI_UINT64;

    switch (strict_face()->atomics) {
    case STRICT_ALL_ATOMICS:
        return true; /* that the provider below has */
    case STRICT_TWO_ATOMICS:
        return is_wide && ((op == FI_SUM && kind == FI_FETCH_ATOMIC) ||
                           (op == FI_CSWAP && kind == FI_COMPARE_ATOMIC));
    default:
        return false;
    }
}
