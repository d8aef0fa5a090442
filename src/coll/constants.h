/*
 * constants.h - how long things take, for the choice of algorithms (model.h).
 *
 * Measured on 2026-11-16 and 2026-11-17 on a machine with two processors (AMD EPYC,
 * virtual), other load on it, by `weft-gauge run constants mpi`, as docs/gauge.md tells:
 * near between two processors, shared with both ranks on one; far from the table of two
 * hosts in docs/performance.md. A step is what a Bruck allgather of two ranks takes
 * longer than a direct one, for each step that it has more. All ranks of a job must have
 * the same constants, so they are compiled in.
 */
#ifndef WEFT_COLL_CONSTANTS_H
#define WEFT_COLL_CONSTANTS_H

#include "coll/model.h"

static const struct weft_constants weft_constants = {
    .near =
        {
            .latency_ns = 110,
            .message_ns = 100,
            .byte_ps = 200,
            .long_latency_ns = 100,
            .long_message_ns = 1400,
            .long_byte_ps = 36,
        },
    .shared =
        {
            .latency_ns = 1000,
            .message_ns = 120,
            .byte_ps = 55,
            .long_latency_ns = 0,
            .long_message_ns = 2000,
            .long_byte_ps = 110,
        },
    .far =
        {
            .latency_ns = 4000,
            .message_ns = 2500,
            .byte_ps = 500,
            .long_latency_ns = 2000,
            .long_message_ns = 6000,
            .long_byte_ps = 300,
        },
    .step_ns = 65,
    .reduced_ps = 35,
    .copied_ps = 27,
    .flag_ns = 100,
    .yield_ns = 700,
};

#endif
