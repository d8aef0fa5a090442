/*
 * secret.h - one secret for the whole job where no launcher of ours hands one out.
 *
 * Rank 0 draws it with its segment and leaves it in the launcher's key-value space, which
 * hydra, Slurm and PRRTE open to the processes of the job alone. Nobody has it on a
 * command line, in the environment or in a file that others can read. Between hosts it is
 * as safe as the launcher's own connections: those of hydra, Slurm and Open MPI's mpirun
 * are not encrypted, so that whoever reads the network has it (docs/launch.md). On one
 * host it stays there.
 */
#ifndef WEFT_WIREUP_SECRET_H
#define WEFT_WIREUP_SECRET_H

#include "wireup/kvs.h"

/* Leaves the secret of this segment for the others: rank 0, before a fence. */
WEFT_MUST_CHECK enum weft_rc weft_secret_leave(const struct weft_kvs_ops *kvs,
                                               const struct weft_segment *segment);

/* Takes it into a segment of another node: after that fence. */
WEFT_MUST_CHECK enum weft_rc weft_secret_take(const struct weft_kvs_ops *kvs,
                                              const struct weft_segment *segment);

#endif
