#include "job.h"

#include "job_parts.h"
#include "keeper.h"
#include "ship_boot.h"
#include "ship_home.h"
#include "texts.h"

#include "base/clock.h"
#include "base/settings.h"
#include "wireup/net.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 128 };

static const uint64_t PROMPT_NS = UINT64_C(200000000);
static const uint64_t LAST_WORDS_NS = UINT64_C(500000000);

/* How long daemons may take to end after their ranks have, without sending anything; and
 * the reader of our output, without taking anything, after --timeout or SIGTERM. */
static const uint64_t CLOSE_NS = UINT64_C(30000000000);

/* Standard output takes nothing any more, and nothing else has failed before. */
static bool has_output_failed(struct job *job)
{
    if (job->output.error == 0 || job->has_failed) {
        return false;
    }
    if (job->output.error == EPIPE) { /* its reader has ended us: head, say */
        job_fail_silently(job, 128 + SIGPIPE);
    } else {
        job_fail_silently(job, 1);
        job_say(job, TEXT_OUTPUT, strerror(job->output.error));
    }
    return true;
}

static void tend_outputs(struct job *job, uint64_t now)
{
    job_tend_sink(job, &job->output, now);
    job_tend_sink(job, &job->error, now);
    job_tend_remote(job);
    if (job->output.is_terminal || job->error.is_terminal) {
        job_prompt_remote(job, now, PROMPT_NS);
        for (int r = 0; r < job->count; r++) {
            stream_prompt(&job->ranks[r].output, now, PROMPT_NS);
            stream_prompt(&job->ranks[r].error, now, PROMPT_NS);
        }
    }
    if (has_output_failed(job)) {
        job_happen(job, RANK_FAILED);
    }
}

static void look_at_clock(struct job *job, uint64_t now)
{
    if (job->grace_end != 0 && now >= job->grace_end) {
        job->grace_end = 0;
        job_happen(job, GRACE_OVER);
    }
    if (job->kill_end != 0 && now >= job->kill_end) {
        job->kill_end = 0;
        job_leave_stubborn(job);
    }
    if (job->time_out != 0 && now >= job->time_out) {
        job->time_out = 0;
        if (!job->has_failed || job_is_going_on(job)) {
            job_fail_silently(job, 124);
            job_say(job, TEXT_TIMEOUT, job->plan->timeout);
        }
        job->cut_short = now;
        job_happen(job, TIMED_OUT);
    }
}

/* Milliseconds until the clock has to be looked at; -1: never. */
static int patience(const struct job *job, uint64_t now)
{
    const int input = job_input_patience_ms(job);
    const uint64_t ends[] = {job->grace_end,    job->kill_end,      job->time_out,
                             job_hang_due(job), job_blame_due(job), job_box_due(job)};
    int64_t best = tree_patience_ms(job);

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (ends[i] != 0) {
            int64_t left = ends[i] > now ? (int64_t)((ends[i] - now) / 1000000) + 1 : 0;

            best = best < 0 || left < best ? left : best;
        }
    }
    if (input >= 0) {
        best = best < 0 || best > input ? input : best;
    }
    if (job->output.is_waiting || job->error.is_waiting) {
        best =
            best < 0 || best > 5 ? 5 : best; /* files and terminals cannot be watched */
    } else if (job->output.is_terminal || job->error.is_terminal ||
               job->output.is_leaving_out || job->error.is_leaving_out) {
        best = best < 0 || best > 100 ? 100 : best;
    }
    return best > 1000000 ? 1000000 : (int)best;
}

/* Waits for something to happen, and does what follows. */
static void go_round(struct job *job)
{
    struct epoll_event events[EVENTS];
    uint64_t now = weft_clock_ns();
    int n;

    tree_watch(job);
    n = epoll_wait(job->epoll, events, EVENTS, patience(job, now));
    for (int i = 0; i < n; i++) {
        job_dispatch(job, events[i].data.u64);
    }
    now = weft_clock_ns();
    if (!job_is_daemon(job)) {
        tend_outputs(job, now);
    }
    job_tend_input(job);
    job_tend_words(job);
    look_at_clock(job, now);
    job_hang_tend(job, now);
    job_blame_tend(job, now);
    job_box_tend(job, now);
    shipping_tend(job);
    tree_tend(job, now);
    job_look_for_end(job);
}

static void run_loop(struct job *job)
{
    while (job->state != DONE) {
        go_round(job);
    }
}

/* What a job needs to wait for anything. */
static bool open_loop(struct job *job, int front)
{
    sigset_t child;

    memset(job, 0, sizeof(*job));
    job->front = front;
    job->state = STARTING;
    job->fallen = -1;
    job->tree.on_frame = job_on_frame;
    job->epoll = epoll_create1(EPOLL_CLOEXEC);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    job->children = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (job->epoll < 0 || job->children < 0) {
        job_say(job, TEXT_PREPARE, strerror(errno));
        return false;
    }
    job_watch(job, job->children, FROM_CHILDREN, 0);
    job_watch(job, front, FROM_FRONT, 0);
    return true;
}

/* Of those that ranks get: once for all of them. */
static void warn_of_settings(const struct job *job)
{
    weft_settings_warn(program_name, job->setup.environment.common.at);
    for (int i = 0; i < job->plan->app_count; i++) {
        weft_settings_warn(program_name, job->plan->apps[i].set.at);
    }
}

/* What is shipped; a shell takes the place of mpiexec on the hosts. */
static bool make_list(struct job *job)
{
    char why[1024];

    if (!ship_list(&job->setup.ship, job->plan, &job->setup.environment.common, why,
                   sizeof(why))) {
        job_say(job, "%s", why);
        job->code = 127;
        return false;
    }
    free(job->setup.path);
    job->setup.path = strdup(SHIP_BOOT_COMMAND);
    return job->setup.path != NULL;
}

/* What only the mpiexec of the user decides: it goes to the daemons, too. */
static bool make_setup(struct job *job)
{
    struct setup *setup = &job->setup;
    const struct plan *plan = job->plan;
    const int64_t seconds = weft_setting(WEFT_SET_HEARTBEAT);
    const int64_t set = weft_setting(WEFT_SET_GRACE);
    const int64_t grace = set < GRACE_MOST ? set : GRACE_MOST;
    const struct sharing sharing = {
        .per_host = plan->per_host,
        .may_exceed = plan->may_exceed_slots,
        .is_cyclic = plan->is_cyclic,
        .host_of = plan->host_of,
    };

    if (getrandom(setup->secret, sizeof(setup->secret), 0) != sizeof(setup->secret) ||
        getrandom(&setup->job, sizeof(setup->job), 0) != sizeof(setup->job)) {
        job_say(job, TEXT_RANDOM, strerror(errno));
        return false;
    }
    setup->job = setup->job != 0 ? setup->job : 1; /* 0 is no process's */
    setup->beat_ns = (uint64_t)(seconds > 0 ? seconds : 1) * UINT64_C(1000000000);
    setup->grace_ns = (uint64_t)((plan->has_grace ? plan->grace : (double)grace) * 1e9);
    setup->plan = *plan;
    setup->path = rsh_own_path();
    setup->net = weft_setting_text(WEFT_SET_NET);
    if (!weft_net_read_ports(weft_setting_text(WEFT_SET_PORTS), &setup->first_port,
                             &setup->last_port)) {
        job_say(job, TEXT_PORTS, weft_setting_text(WEFT_SET_PORTS));
        job->code = 2;
        return false;
    }
    rsh_choose(&setup->rsh, plan->hosts.is_from_slurm);
    environment_open(&setup->environment, plan);
    warn_of_settings(job);
    if (!layout_make(&setup->layout, &plan->hosts, plan->ranks, &sharing)) {
        job->code = 2; /* as for all that is wrong with the command line */
        return false;
    }
    if (plan->is_verbose) {
        layout_say(&setup->layout, &plan->hosts);
    }
    job->tree.me = 0;
    job->tree.count = setup->layout.count;
    job->first = setup->layout.stations[0].first;
    job->count = setup->layout.stations[0].ranks;
    if (job->tree.count > 1 && plan->is_shipping && !make_list(job)) {
        return false;
    }
    if (job->tree.count > 1) {
        setup_pack(setup, &job->tree.setup);
        job->remote = calloc((size_t)plan->ranks, sizeof(*job->remote));
        job->taken = calloc((size_t)setup->layout.count, sizeof(*job->taken));
        return job->remote != NULL && job->taken != NULL;
    }
    return true;
}

static bool open_job(struct job *job, const struct plan *plan, int front)
{
    if (!open_loop(job, front)) {
        return false;
    }
    job->plan = plan;
    sink_open(&job->output, STDOUT_FILENO);
    sink_open(&job->error, STDERR_FILENO);
    job->error_to =
        sink_is_same(STDOUT_FILENO, STDERR_FILENO) ? &job->output : &job->error;
    job->output.complaints = job->error.complaints = job->error_to;
    if (!make_setup(job)) {
        return false;
    }
    if (!job_open_ranks(job) || !shipping_begin(job)) {
        return false;
    }
    tree_grow(job);
    return true;
}

/* Has the reader of the sink taken nothing for too long since the job was cut short? */
static bool is_unread(const struct job *job, const struct sink *sink)
{
    const uint64_t since =
        sink->waiting_since > job->cut_short ? sink->waiting_since : job->cut_short;

    return sink->is_waiting && weft_clock_ns() - since > CLOSE_NS;
}

/*
 * True if output that nobody has read yet may be lost: the front is gone or wants to end
 * now, or the reader has taken nothing for long after --timeout or SIGTERM, when there
 * may be nobody who could ask for the end.
 */
static bool is_given_up(struct job *job)
{
    struct pollfd p = {.fd = job->front, .events = POLLIN};

    while (job->front >= 0 && !job->is_given_up && poll(&p, 1, 0) > 0) {
        job_dispatch(job, (uint64_t)FROM_FRONT << 32);
    }
    job->is_given_up |= job->cut_short != 0 &&
                        (is_unread(job, &job->output) || is_unread(job, &job->error));
    return job->front < 0 || job->is_given_up;
}

/* Gives the reader of our output a moment. */
static bool wait_for_reader(struct job *job)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000};

    if (is_given_up(job)) {
        return false;
    }
    nanosleep(&pause, NULL);
    sink_flush(&job->output);
    sink_flush(&job->error);
    return true;
}

static void finish(struct job *job, struct stream *stream)
{
    while (stream != NULL && !stream_is_empty(stream) && !stream_may_read(stream)) {
        if (!wait_for_reader(job)) {
            return;
        }
    }
    if (stream != NULL) {
        stream_finish(stream);
    }
}

static bool is_output_open(const struct job *job)
{
    for (int r = 0; r < job->count; r++) {
        if (job->ranks[r].output.fd >= 0 || job->ranks[r].error.fd >= 0) {
            return true;
        }
    }
    return false;
}

/* Kills what our ranks have left, but not the ways to other hosts. */
static void sweep(struct job *job)
{
    const uint64_t end = weft_clock_ns() + UINT64_C(2000000000);
    bool has_some;

    /* A way that ends after the last look leaves us its children; close_job() kills them.
     */
    while ((has_some = keeper_has_descendants()) && weft_clock_ns() < end) {
        const struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000};

        keeper_signal_all(SIGKILL);
        nanosleep(&pause, NULL);
        job_dispatch(job, (uint64_t)FROM_CHILDREN << 32); /* reaps them */
        tree_show_life(job);
    }
    if (has_some) {
        job_say(job, TEXT_STUBBORN);
    }
}

/* Nothing runs here any more: what was shipped goes. */
static void leave_home(struct job *job)
{
    if (!home_remove()) {
        job_say(job, TEXT_SHIP_LEFT, job->setup.layout.stations[job->tree.me].name,
                home_path(), strerror(errno));
    }
}

/* Is all that was printed here on its way, and are all daemons below gone? */
static bool has_closed_below(const struct job *job)
{
    return tree_is_gone(job) && !(job_is_daemon(job) && is_output_open(job));
}

/* A reader that takes its time keeps the daemons from ending, and is waited for. */
static bool is_reader_slow(const struct job *job)
{
    return job->output.is_waiting || job->error.is_waiting || job->is_remote_left_out;
}

/* The root waits no longer for daemons that live and do not end. */
static void give_up_below(struct job *job)
{
    for (int i = 0; i < job->tree.child_count; i++) {
        const struct child *child = &job->tree.children[i];

        if (!child->is_gone) {
            job_say(job, TEXT_HOST_CLOSE, job->setup.layout.stations[child->number].name,
                    (double)CLOSE_NS / 1e9);
        }
    }
    job->is_given_up = true;
}

/* The daemons below clear up as we do, and go. */
static void close_tree(struct job *job)
{
    if (job->tree.child_count == 0 && !job_is_daemon(job)) {
        return;
    }
    tree_tell(job, FRAME_CLOSE, 0);
    sweep(job);
    if (job_is_daemon(job)) {
        job_bound_relay(job);
    }
    job->heard_below = weft_clock_ns();
    while (!job->tree.is_cut_off && !has_closed_below(job) &&
           (job_is_daemon(job) || !is_given_up(job))) {
        go_round(job);
        if (is_reader_slow(job)) {
            job->heard_below = weft_clock_ns();
        } else if (!job_is_daemon(job) && weft_clock_ns() - job->heard_below > CLOSE_NS) {
            give_up_below(job);
        }
    }
    leave_home(job);
    if (job_is_daemon(job) && !job->tree.is_cut_off) {
        tree_answer(job, FRAME_CLOSED);
        while (!job->tree.is_cut_off && job->tree.up.waiting.count > 0) {
            go_round(job);
        }
    }
    tree_fell(job);
}

/* What the ranks have done last, which the daemons know as long as they are there. */
static void look_back(struct job *job)
{
    job_blame_tend(job, UINT64_MAX);
    job_box_end(job);
    while (job_box_is_asking(job) && !is_given_up(job)) {
        go_round(job);
    }
}

/*
 * Standard error may be full for a moment, which is no reason to end without a word. Its
 * reader gets less time than one that takes the output of ranks.
 */
static void say_last_words(struct job *job)
{
    const struct timespec pause = {.tv_sec = 0, .tv_nsec = 1000000};
    const uint64_t end = weft_clock_ns() + LAST_WORDS_NS;

    while (job->error_to != NULL && job->error_to->is_waiting && weft_clock_ns() < end) {
        nanosleep(&pause, NULL);
        sink_flush(job->error_to);
    }
}

/* Nothing is left: neither processes, nor words that were said but not passed on. */
static void close_job(struct job *job)
{
    close_tree(job);
    if (!keeper_sweep()) {
        job_say(job, TEXT_STUBBORN);
    }
    if (job_is_daemon(job)) {
        return; /* the end of the process frees the rest */
    }
    job_blame_close(job);
    finish(job, job->output.owner); /* a line that was begun comes first */
    finish(job, job->error.owner);
    for (int r = 0; r < job->count; r++) {
        finish(job, &job->ranks[r].output);
        finish(job, &job->ranks[r].error);
    }
    job_finish_remote(job, finish);
    do {
        while ((job->output.is_waiting || job->error.is_waiting) &&
               wait_for_reader(job)) {
        }
    } while (has_output_failed(job)); /* which may have something to say itself */
    say_last_words(job);
    pmi_service_close(&job->pmi);
    placement_close(&job->placement);
    environment_close(&job->setup.environment);
    job_close_networks(job);
}

int job_run(const struct plan *plan, int front)
{
    static struct job job;

    spawn_raise_limit();
    if (!open_job(&job, plan, front)) {
        say_last_words(&job);
        return job.code != 0 ? job.code : 1;
    }
    if (plan->timeout > 0) {
        job.time_out = weft_clock_ns() + (uint64_t)(plan->timeout * 1e9);
    }
    job_open_top(&job);
    job_start_when_ready(&job);
    run_loop(&job);
    look_back(&job);
    close_job(&job);
    return job.code;
}

int job_serve(int front)
{
    static struct job job;
    int in = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);

    spawn_raise_limit();
    if (!open_loop(&job, front) || in < 0 || out < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(nothing, STDOUT_FILENO) < 0) {
        return 1;
    }
    setpgid(0, 0);
    link_open(&job.tree.up, in, out);
    job.tree.up.is_greeted = true; /* we greet; our parent knows our number */
    job.tree.has_up = true;
    job_watch(&job, in, FROM_UP, 0);
    link_greet(&job.tree.up);
    run_loop(&job);
    close_job(&job);
    return 0;
}
