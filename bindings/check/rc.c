#include "check/rc.h"

#include "base/memory.h"
#include "coll/disagree.h"
#include "p2p/p2p.h"
#include "transfer/accessible.h"
#include "p2p/truncated.h"
#include "engine/lock.h"
#include "runtime/runtime.h"

#include <stdio.h>

/* What a return code means to the user. No default: a new code is a warning here. */
struct meaning {
    int class;
    const char *text;
    const char *cure;
};

static struct meaning meaning_of(enum weft_rc rc)
{
    switch (rc) {
    case WEFT_OK:
        return (struct meaning){MPI_SUCCESS, "no error", ""};
    case WEFT_AGAIN:
    case WEFT_PENDING:
        break; /* between rooms only */
    case WEFT_ERR_NOMEM:
        return (struct meaning){WEFT_E_NO_MEM};
    case WEFT_ERR_ARGUMENT:
        return (struct meaning){WEFT_E_RC_ARGUMENT};
    case WEFT_ERR_LAUNCH:
        return (struct meaning){WEFT_E_RC_LAUNCH};
    case WEFT_ERR_SYSTEM:
        return (struct meaning){WEFT_E_RC_SYSTEM};
    case WEFT_ERR_UNSUPPORTED:
        return (struct meaning){WEFT_E_RC_UNSUPPORTED};
    case WEFT_ERR_TRUNCATE:
        return (struct meaning){WEFT_E_RC_TRUNCATE};
    case WEFT_ERR_UNREACHABLE:
        return (struct meaning){WEFT_E_RC_UNREACHABLE};
    case WEFT_ERR_CHECKSUM:
        return (struct meaning){WEFT_E_RC_CHECKSUM};
    case WEFT_ERR_BUFFER:
        return (struct meaning){WEFT_E_RC_BUFFER};
    case WEFT_ERR_PROC_FAILED:
        return (struct meaning){WEFT_E_RC_PROC_FAILED};
    case WEFT_ERR_ADDRESS:
        return (struct meaning){WEFT_E_RC_ADDRESS};
    case WEFT_ERR_DISAGREE:
        return (struct meaning){WEFT_E_RC_DISAGREE};
    }
    return (struct meaning){WEFT_E_RC_INTERN};
}

int weft_class_of(enum weft_rc rc)
{
    return meaning_of(rc).class;
}

/* All failed processes ran on this host: those of other hosts are not counted here. */
static size_t describe_one(const struct weft_comm *comm, int rank, const char *before,
                           char *text, size_t size)
{
    const uint64_t process = weft_comm_process(comm, rank);
    const char *why = weft_engine_why_failed(process);
    const int job_rank = (int)weft_engine_rank(process);
    char of_job[64] = "";
    int n;

    if (job_rank != rank) {
        snprintf(of_job, sizeof(of_job), WEFT_S_RANK_OF_JOB, job_rank);
    }
    n = weft_p2p_is_lost(process) ? snprintf(text, size, "%s%s", before, why)
                                  : snprintf(text, size, WEFT_S_RANK_DIED, before, rank,
                                             of_job, weft_runtime_host(), why);

    return n < 0 ? 0 : (size_t)n;
}

const char *weft_describe_failed(const struct weft_comm *comm, char *text, size_t size)
{
    const struct weft_comm job = {
        .peers = weft_runtime_size(),
        .map = {.first = weft_engine_process(0), .stride = 1},
    };
    size_t used = 0;
    int rank;

    weft_lock_as_visitor(); /* MPI_Error_string may be called by any thread */
    if (comm == NULL || weft_p2p_failed_from(comm, 0) == MPI_UNDEFINED) {
        comm = &job;
    }
    text[0] = '\0';
    for (rank = weft_p2p_failed_from(comm, 0); rank != MPI_UNDEFINED && used < size;
         rank = weft_p2p_failed_from(comm, rank + 1)) {
        used += describe_one(comm, rank, used > 0 ? "; " : "", text + used, size - used);
    }
    weft_lock_leave_as_visitor();
    return text;
}

const char *weft_describe_truncated(const struct weft_comm *comm, char *text, size_t size)
{
    weft_lock();
    if (!weft_truncated_describe(comm, text, size)) {
        snprintf(text, size, "%s", meaning_of(WEFT_ERR_TRUNCATE).text);
    }
    weft_unlock();
    return text;
}

/* Another member may have told this process of a failure before its launcher's word was
 * read, which says who has failed. */
static void notice_failed(void)
{
    weft_lock();
    if (weft_engine_has_failures()) {
        weft_engine_notice_failed();
    }
    weft_unlock();
}

int weft_raise_rc(struct weft_comm *comm, enum weft_rc rc, const char *function)
{
    if (weft_likely(rc == WEFT_OK)) {
        return MPI_SUCCESS;
    }
    if (rc == WEFT_ERR_PROC_FAILED) {
        char text[WEFT_FAILED_TEXT];

        notice_failed();
        weft_describe_failed(comm, text, sizeof(text));
        return weft_raise_comm(comm, function, MPI_ERR_PROC_ABORTED, WEFT_T_SAID,
                               text[0] != '\0' ? text : meaning_of(rc).text);
    }
    if (rc == WEFT_ERR_ADDRESS) {
        char text[WEFT_MEMORY_TEXT];

        weft_lock();
        weft_data_describe_bad(text, sizeof(text));
        weft_unlock();
        return weft_raise_comm(comm, function, WEFT_E_BUFFER_BAD, text);
    }
    if (rc == WEFT_ERR_DISAGREE && comm != NULL) {
        char text[WEFT_DISAGREE_TEXT];
        int class;

        weft_lock();
        class = weft_disagree_describe(comm, text, sizeof(text));
        weft_unlock();
        return class == MPI_ERR_NO_MEM
                   ? weft_raise_comm(comm, function, class, WEFT_T_SAID, text)
                   : weft_raise_comm(comm, function, class, WEFT_T_DISAGREE, text);
    }
    if (rc == WEFT_ERR_TRUNCATE) {
        char text[WEFT_TRUNCATED_TEXT];

        return weft_raise_comm(comm, function, MPI_ERR_TRUNCATE, WEFT_T_TRUNCATED,
                               weft_describe_truncated(comm, text, sizeof(text)));
    }
    return weft_raise_comm(comm, function, weft_class_of(rc), "%s", meaning_of(rc).cure,
                           meaning_of(rc).text);
}
