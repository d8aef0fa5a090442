/*
 * frame.h - what precedes every packet of the transport without connections.
 *
 * Anybody who can reach the endpoint can send to it, and no provider need say who did. So
 * a frame names its sender and shows a pass, which follows from the job's secret and from
 * numbers that both ends have drawn at first contact (greet.h). A frame without the right
 * pass is dropped. Nor need packets come in the order in which they were sent: ordered
 * ones are numbered, and so are control packets, by numbers of their own.
 *
 * Numbers are in the byte order of the machine; the handshake refuses peers of the other
 * one. What precedes a frame, where the provider wants room there, is the provider's.
 */
#ifndef WEFT_OFI_RDM_FRAME_H
#define WEFT_OFI_RDM_FRAME_H

#include "transport/ofi/handshake.h"
#include "transport/transport.h"

enum { WEFT_RDM_VERSION = 1 }; /* of the frame; 0 is none */

enum weft_rdm_kind {
    WEFT_RDM_ORDERED = 1,
    WEFT_RDM_CONTROL,
    WEFT_RDM_LEAVE,  /* its sender has ended its last use of MPI; its header begins with
                      * the number of the next control packet */
    WEFT_RDM_CREDIT, /* only returns credits */
    WEFT_RDM_ASK,    /* first contact, without a pass: the bytes of a handshake follow */
    WEFT_RDM_ANSWER,
};

struct weft_rdm_frame {
    uint8_t version;
    uint8_t kind;                  /* enum weft_rdm_kind */
    uint16_t taken_control;        /* of the receiver's control packets (credits.h) */
    uint32_t from;                 /* ASK, ANSWER: what the asker calls the asked; else
                                    * what the receiver calls the sender */
    uint8_t pass[WEFT_PASS_BYTES]; /* zeros in ASK and ANSWER */
    uint32_t sequence;             /* of CONTROL; else of this or the next ordered one */
    uint32_t taken;                /* bytes of ordered packets of the receiver's */
    uint8_t header[WEFT_HEADER_BYTES];
};
_Static_assert(sizeof(struct weft_rdm_frame) == 52, "frame version 1");
_Static_assert(offsetof(struct weft_rdm_frame, header) == 24, "frame version 1");
_Static_assert((int)WEFT_HANDSHAKE_VERSION == 4, "frame version 1");

#endif
