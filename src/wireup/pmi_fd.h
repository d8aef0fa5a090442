/*
 * pmi_fd.h - the inherited descriptor over which a launcher speaks PMI-1 or PMI-2. Its
 * number is in PMI_FD, beside PMI_RANK and PMI_SIZE.
 *
 * The functions keep no state. The one that finds a failure logs it in one line, which
 * names the protocol.
 */
#ifndef WEFT_WIREUP_PMI_FD_H
#define WEFT_WIREUP_PMI_FD_H

#include "wireup/kvs.h"

#include <stddef.h>

/*
 * Reads the descriptor, and the rank and the size of `who`, from the environment, and
 * makes the descriptor close-on-exec. WEFT_ERR_LAUNCH: they make no sense, or the
 * descriptor was closed on the way.
 */
WEFT_MUST_CHECK enum weft_rc weft_pmi_inherit(const char *protocol, int *fd,
                                              struct weft_who *who);

/*
 * Writes all of it; false, with errno set: not all could be written. A launcher that is
 * gone is an error, and no reason for SIGPIPE.
 */
bool weft_pmi_write_all(int fd, const char *text, size_t size);

/*
 * Says that the launcher cannot be reached, and returns WEFT_ERR_LAUNCH. The launcher may
 * have closed the descriptor after another MPI program of this rank if it `is_new`.
 */
enum weft_rc weft_pmi_lost(const char *protocol, const char *doing, const char *why,
                           bool is_new);

#endif
