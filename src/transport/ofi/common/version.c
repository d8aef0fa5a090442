#include "transport/ofi/common/version.h"

#include <stdio.h>

_Noreturn void weft_ofi_end_by_version(struct weft_job *job, const char *name,
                                       uint8_t theirs, uint8_t ours)
{
    char cause[WEFT_CAUSE_BYTES];

    snprintf(cause, sizeof(cause),
             "%s runs another version of Weft: its packets are of version %u, ours of "
             "version %u; install the same version on all hosts of the job",
             name, (unsigned)theirs, (unsigned)ours);
    weft_wireup_abort(job, 1, cause);
}
