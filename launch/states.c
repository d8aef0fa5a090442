/*
 * states.c - the job as a table: the state it is in and what happens give what is done
 * and the next state.
 */
#include "job_parts.h"

#include "keeper.h"
#include "notice.h"
#include "proc.h"
#include "texts.h"

#include "base/clock.h"

#include <assert.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { KILL_ROUNDS = 12, UNKILLED_SAID = 8 };

static const uint64_t KILL_NS = UINT64_C(5000000000); /* for what was killed to be gone */

typedef void action_fn(struct job *job);

static action_fn do_nothing;
static action_fn stop_all; /* ask the ranks to end, and wait a while */
static action_fn kill_all; /* end them */
static action_fn pass_signal_and_stop;

struct transition {
    action_fn *action; /* NULL: this event changes nothing in this state */
    enum state next;
};

static const struct transition table[STATES][EVENT_COUNT] = {
    [STARTING] =
        {
            [ALL_STARTED] = {do_nothing, RUNNING},
            [START_FAILED] = {stop_all, STOPPING},
            [RANK_FAILED] = {stop_all, STOPPING},
            [ASKED_TO_END] = {pass_signal_and_stop, STOPPING},
            [TIMED_OUT] = {stop_all, STOPPING},
            [FRONT_GONE] = {kill_all, KILLING},
        },
    [RUNNING] =
        {
            [RANK_FAILED] = {stop_all, STOPPING},
            [ASKED_TO_END] = {pass_signal_and_stop, STOPPING},
            [TIMED_OUT] = {stop_all, STOPPING},
            [FRONT_GONE] = {kill_all, KILLING},
            [ALL_ENDED] = {do_nothing, DONE},
        },
    [STOPPING] =
        {
            [ASKED_TO_END] = {kill_all, KILLING},
            [GRACE_OVER] = {kill_all, KILLING},
            [FRONT_GONE] = {kill_all, KILLING},
            [ALL_ENDED] = {do_nothing, DONE},
        },
    [KILLING] =
        {
            [ALL_ENDED] = {do_nothing, DONE},
        },
};

void job_happen(struct job *job, enum event event)
{
    const struct transition *t = &table[job->state][event];

    assert(job->state < STATES && event < EVENT_COUNT);
    if (t->action != NULL) {
        job->state = t->next;
        t->action(job);
    }
}

bool job_is_daemon(const struct job *job)
{
    return job->tree.has_up;
}

void job_print(struct job *job, const char *text, size_t n)
{
    if (job->error_to != NULL) {
        sink_say(job->error_to, text, n);
    } else if (write(STDERR_FILENO, text, n) < 0) {
        return;
    }
}

void job_say(struct job *job, const char *format, ...)
{
    char line[2048];
    int n = snprintf(line, sizeof(line), "%s: ", program_name);
    va_list args;

    va_start(args, format);
    n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
    va_end(args);
    n = n < (int)sizeof(line) - 1 ? n : (int)sizeof(line) - 2;
    if (job_is_daemon(job)) {
        const int prefix = (int)strlen(program_name) + 2;

        tree_report(job, FRAME_SAY, -1, 0, line + prefix, (size_t)(n - prefix));
        return;
    }
    line[n++] = '\n';
    job_print(job, line, (size_t)n);
}

int job_rank(const struct job *job, int local)
{
    return layout_rank(&job->setup.layout, job->first + local);
}

int job_local(const struct job *job, int rank)
{
    return layout_place(&job->setup.layout, rank) - job->first;
}

bool job_has_rank(const struct job *job, int rank)
{
    const int local = job_local(job, rank);

    return local >= 0 && local < job->count;
}

const struct app *job_app_of(const struct job *job, int rank)
{
    return plan_app_of(job->plan, rank);
}

bool job_is_going_on(const struct job *job)
{
    return job->plan->keeps_going && (job->state == STARTING || job->state == RUNNING);
}

void job_fail(struct job *job, int code, int rank, const char *format, ...)
{
    char cause[1024];
    va_list args;

    if (job->has_failed && !job_is_going_on(job)) {
        return;
    }
    va_start(args, format);
    vsnprintf(cause, sizeof(cause), format, args);
    va_end(args);
    if (job_is_daemon(job)) {
        tree_report(job, FRAME_FAILED, rank, code, cause, strlen(cause) + 1);
        return;
    }
    job->fallen = job->fallen < 0 ? rank : job->fallen;
    job_fail_silently(job, code);
    notice_send(NOTICE_ABORT, cause, strlen(cause));
    job_say(job, TEXT_RANK, rank, layout_host_of(&job->setup.layout, rank),
            job_app_of(job, rank)->argv[0], cause);
}

void job_fail_silently(struct job *job, int code)
{
    if (!job->has_failed) {
        job->has_failed = true;
        job->code = code;
    }
}

void job_lose_daemon(struct job *job, const char *line)
{
    if (job_is_daemon(job)) {
        tree_report(job, FRAME_LOST, -1, 0, line, strlen(line) + 1);
        return;
    }
    if (!job->has_failed) {
        job->is_host_lost = job->state == RUNNING;
        job_fail_silently(job, 1);
        job_say(job, "%s", line);
    }
    job_happen(job, RANK_FAILED);
}

static void do_nothing(struct job *job)
{
    (void)job;
}

void job_signal_ranks(struct job *job, int signal)
{
    for (int r = 0; r < job->count; r++) {
        if (job->ranks[r].is_running &&
            (signal != SIGUSR1 || proc_survives(job->ranks[r].pid, signal))) {
            kill(-job->ranks[r].pid, signal);
        }
    }
}

static void start_grace(struct job *job)
{
    job_signal_ranks(job, SIGCONT); /* a stopped process could not end itself */
    job->grace_end = weft_clock_ns() + job->setup.grace_ns;
}

static void stop_all(struct job *job)
{
    job_signal_ranks(job, SIGTERM);
    tree_give_up_starting(job);
    tree_tell(job, FRAME_STOP, SIGTERM);
    start_grace(job);
}

static void pass_signal_and_stop(struct job *job)
{
    job_signal_ranks(job, job->asked);
    tree_give_up_starting(job);
    tree_tell(job, FRAME_STOP, job->asked);
    start_grace(job);
}

static void kill_all(struct job *job)
{
    job->grace_end = 0;
    job->kill_end = weft_clock_ns() + KILL_NS;
    tree_give_up_starting(job);
    tree_tell(job, FRAME_KILL, 0);
    job_signal_ranks(job, SIGKILL);
    keeper_signal_all(SIGKILL);
}

/* A process with much memory may need a while to give it back. */
static bool is_rank_dying(const struct job *job)
{
    for (int r = 0; r < job->count; r++) {
        if (job->ranks[r].is_running && proc_stat(job->ranks[r].pid).state == 'R') {
            return true;
        }
    }
    return false;
}

static void say_unkilled(struct job *job, int local)
{
    const int rank = job_rank(job, local);
    const pid_t pid = job->ranks[local].pid;
    char sleep[160];

    proc_describe_sleep(pid, sleep, sizeof(sleep));
    job_say(job, TEXT_UNKILLED, rank, layout_host_of(&job->setup.layout, rank), pid,
            proc_stat(pid).state, sleep);
}

void job_leave_stubborn(struct job *job)
{
    int left = 0;

    if (++job->kill_rounds < KILL_ROUNDS && is_rank_dying(job)) {
        job->kill_end = weft_clock_ns() + KILL_NS;
        return;
    }

    for (int r = 0; r < job->count; r++) {
        if (job->ranks[r].is_running) {
            if (++left <= UNKILLED_SAID) {
                say_unkilled(job, r);
            }
            job->ranks[r].is_running = false; /* its end means nothing any more */
            job->running--;
        }
    }
    if (left > UNKILLED_SAID) {
        job_say(job, TEXT_UNKILLED_MORE, left - UNKILLED_SAID,
                left - UNKILLED_SAID == 1 ? "" : "s",
                layout_host_of(&job->setup.layout, job_rank(job, 0)));
    }
    job->debuggers = 0;
}
