/*
 * frame.h - what precedes every packet on a network whose receive buffers serve all
 * peers.
 *
 * A completion of a shared receive queue does not tell who sent. The frame does, and it
 * can be believed, because no connection exists before both ends have proved that they
 * belong to the job (handshake.h). Numbers are in the byte order of the machine
 * (engine/wire.h); the handshake refuses peers of the other one.
 */
#ifndef WEFT_OFI_FRAME_H
#define WEFT_OFI_FRAME_H

#include "transport/ofi/handshake.h"
#include "transport/transport.h"

enum weft_frame_kind {
    WEFT_FRAME_ORDERED = 1,
    WEFT_FRAME_CONTROL,
    WEFT_FRAME_CREDIT, /* only returns credits */
    WEFT_FRAME_LEAVE,  /* its sender has ended its last use of MPI */
};

struct weft_frame {
    uint32_t from;  /* index that the receiver gave this stream in the handshake */
    uint32_t taken; /* bytes of ordered packets of the receiver's (credits.h) */
    uint16_t taken_control; /* control packets of the receiver's */
    uint8_t kind;           /* enum weft_frame_kind */
    uint8_t zero;
    uint8_t header[WEFT_HEADER_BYTES];
};
_Static_assert(offsetof(struct weft_frame, header) == 12, "handshake version 4");
_Static_assert(sizeof(struct weft_frame) == 40, "handshake version 4");
_Static_assert((int)WEFT_HANDSHAKE_VERSION == 4,
               "connecting compares the handshake's: where the frame changes, it does");

#endif
