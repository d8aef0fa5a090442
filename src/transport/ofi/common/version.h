/* version.h - ranks of one job that were built from different versions. */
#ifndef WEFT_OFI_VERSION_H
#define WEFT_OFI_VERSION_H

#include "wireup/wireup.h"

#include <stdint.h>

/* A rank of this job, `name`, has other packets than we: there is nothing that we could
 * do. Ends the job. */
_Noreturn void weft_ofi_end_by_version(struct weft_job *job, const char *name,
                                       uint8_t theirs, uint8_t ours);

#endif
