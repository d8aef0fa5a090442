/*
 * ends.c - how a rank has ended, and whether that is a failure: what the kernel says, and
 * what the rank has left in the segment.
 */
#include "job_parts.h"
#include "texts.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

/* Is this what follows when two threads disturb each other? */
static bool is_crash(int signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGABRT ||
           signal == SIGILL || signal == SIGFPE;
}

/*
 * What the kernel says of a rank's end: its exit code, and the cause in words. 0: it is
 * no failure.
 */
static int describe(const struct job *job, int status, const struct weft_slice *slice,
                    enum weft_slice_state state, char *cause, size_t size)
{
    if (job->killer[0] != '\0') {
        snprintf(cause, size, "%s", job->killer);
        return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (WIFSIGNALED(status)) {
        const bool has_met =
            is_crash(WTERMSIG(status)) && state == WEFT_SLICE_OPEN &&
            atomic_load_explicit(&slice->has_met, memory_order_relaxed) == 1;

        snprintf(cause, size, has_met ? TEXT_THREADS : TEXT_KILLED, WTERMSIG(status),
                 strsignal(WTERMSIG(status)), WCOREDUMP(status) ? ", core dumped" : "");
        return 128 + WTERMSIG(status);
    }
    if (WEXITSTATUS(status) == 127 && state == WEFT_SLICE_EMPTY) {
        snprintf(cause, size, TEXT_CODE_127);
    } else if (WEXITSTATUS(status) != 0) {
        snprintf(cause, size, TEXT_CODE, WEXITSTATUS(status));
    } else if (state == WEFT_SLICE_OPEN) {
        snprintf(cause, size, TEXT_NO_FINALIZE);
        return 1;
    }
    return WEXITSTATUS(status);
}

/* The end of a rank whose slice was overwritten: nobody knows whether it had finalized.
 */
static int describe_overwritten(const struct job *job, int status,
                                const struct weft_slice *slice, char *cause, size_t size)
{
    char said[128] = "ended with code 0";
    const int code = describe(job, status, slice, WEFT_SLICE_CLOSED, said, sizeof(said));

    snprintf(cause, size, TEXT_OVERWRITTEN, said);
    return code != 0 ? code : 1;
}

void job_judge_end(struct job *job, int local, int status)
{
    const struct weft_slice *slice =
        weft_segment_slice(job_segment_of(job, local), (uint32_t)local);
    const int rank = job_rank(job, local);
    struct weft_slice_end end;
    char cause[256];
    bool is_sound;
    int code;

    assert(local >= 0 && local < job->count && !job->ranks[local].is_running);
    if (job->state == STOPPING || job->state == KILLING) {
        return; /* our own doing */
    }
    is_sound = weft_slice_read_end(slice, &end);
    if (is_sound && end.state == WEFT_SLICE_ABORTED) {
        job_blame(job, end.code, rank, end.cause);
        return;
    }
    code = is_sound ? describe(job, status, slice, end.state, cause, sizeof(cause))
                    : describe_overwritten(job, status, slice, cause, sizeof(cause));
    if (code == 0 && job_has_left_out_program(job, local, cause, sizeof(cause))) {
        code = 1;
    }
    if (code == 0) {
        return;
    }
    job_lose_or_fail(job, local, code, cause);
}

void job_on_abort(void *owner, int rank, int code)
{
    struct job *job = owner;
    const int local = job_local(job, rank);
    const struct weft_slice *slice =
        weft_segment_slice(job_segment_of(job, local), (uint32_t)local);
    struct weft_slice_end end;

    if (weft_slice_read_end(slice, &end) && end.state == WEFT_SLICE_ABORTED) {
        job_blame(job, end.code, rank, end.cause);
    } else { /* another library's rank */
        char cause[64];

        snprintf(cause, sizeof(cause), TEXT_ABORT, code);
        job_blame(job, (code & 0xff) == 0 ? 1 : code & 0xff, rank, cause);
    }
}
