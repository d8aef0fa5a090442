#include "runtime/runtime.h"

#include "base/flush.h"
#include "base/forks.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/settings_file.h"
#include "base/texts.h"
#include "coll/coll.h"
#include "coll/force.h"
#include "coll/disagree.h"
#include "coll/slots.h"
#include "comm/context.h"
#include "coll/surroundings.h"
#include "comm/make.h"
#include "core/comm.h"
#include "datatype/attribute.h"
#include "p2p/buffered.h"
#include "p2p/p2p.h"
#include "p2p/state.h"
#include "sched/sched.h"
#include "sched/sendrecv.h"
#include "engine/lock.h"
#include "engine/warm.h"
#include "base/wait.h"
#include "io/open.h"
#include "rma/open.h"
#include "runtime/doing.h"
#include "runtime/environment.h"
#include "runtime/queues.h"
#include "transport/transport.h"
#include "wireup/modules.h"
#include "wireup/recorder.h"
#include "wireup/wireup.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * A thread that opens or closes the library, or changes the form of the lock, does so
 * alone: with the lock dropped, threads of ours end and start, which take it. Taken
 * before the lock.
 */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;

static struct {
    atomic_int users; /* written under the lock */
    bool is_wired;    /* wire-up was opened, and stays so */
    bool is_engine_open;
    enum weft_rc engine_failure; /* why it could not be opened */
    bool is_lock_kept; /* somebody calls from several threads, whatever MPI_Init says */
    struct weft_job job;
    char host[256];
    pthread_t main_thread;
    atomic_int world; /* enum weft_world_state; written under the lock */
    void (*count_sessions)(struct weft_handlers *handlers); /* or NULL */
} run;

/* An abort is the last word: what another thread says after it does not count. */
static void set_state(enum weft_slice_state state)
{
    _Atomic uint32_t *word = &run.job.slice->state;
    uint32_t seen = atomic_load_explicit(word, memory_order_relaxed);

    /* Release: pairs with mpiexec's acquire load, when the process has ended. */
    while (seen != WEFT_SLICE_ABORTED &&
           !atomic_compare_exchange_weak_explicit(word, &seen, (uint32_t)state,
                                                  memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

/*
 * A rank that leaves without finalizing what it opened says no goodbye, so that its
 * launcher takes it for what it is: a failure.
 */
static void at_exit(void)
{
    if (run.users == 0) {
        weft_wireup_close(&run.job);
    } else if (!weft_forks_is_child()) { /* where no thread is that loads */
        weft_warm_refuse();
    }
}

/*
 * Checks the settings that choose what ranks do with each other. If one differs between
 * ranks, or names no algorithm, the job ends: ranks would wait for each other for ever.
 */
static enum weft_rc check_settings(void)
{
    char why[WEFT_CAUSE_BYTES];
    enum weft_rc rc = weft_wireup_same(&run.job, why, sizeof(why));

    if (rc == WEFT_OK) {
        rc = weft_force_read(weft_setting_text(WEFT_SET_COLL), why, sizeof(why));
    }
    if (rc == WEFT_ERR_ARGUMENT) {
        weft_wireup_abort(&run.job, MPI_ERR_OTHER, why);
    }
    return rc;
}

/* The black box is open before anything can be waited for. */
static enum weft_rc open_recorder(void)
{
    struct weft_trace *trace = weft_slice_trace(run.job.slice);

    if (!weft_recorder_open(
            run.job.segment.fd,
            (uint64_t)((const char *)trace - (const char *)run.job.segment.header))) {
        weft_log_error("there is no memory for the record of MPI calls");
        return WEFT_ERR_NOMEM;
    }
    weft_trace_begin(trace);
    weft_modules_open(trace);
    return WEFT_OK;
}

/* mpiexec has read the files, and its ranks have what they say in their environment. */
static void read_settings(void)
{
    static const struct weft_places places = {
        .bindir = WEFT_BINDIR, .libdir = WEFT_LIBDIR, .sysconfdir = WEFT_SYSCONFDIR};

    if (getenv("WEFT_JOB") == NULL) {
        weft_settings_read_files(&places);
    }
    weft_settings_keep();
}

/* Of WEFT_TRANSPORT, as in base/settings.c. */
enum {
    AUTO,
    MSG,
    SHM,
    SHM_MSG,
    RDM,
    SHM_RDM,
    TAGGED,
    SHM_TAGGED,
    DGRAM,
    SHM_DGRAM,
    DGRAM_MSG,
    SHM_DGRAM_MSG
};

/* Do all messages take the network? */
static bool is_without_shm(int64_t choice)
{
    return choice == MSG || choice == RDM || choice == TAGGED || choice == DGRAM ||
           choice == DGRAM_MSG;
}

/* Do peers begin without connections, and are some connected later? */
static bool is_promoting(int64_t choice)
{
    return choice == DGRAM_MSG || choice == SHM_DGRAM_MSG;
}

/* Does the network match messages, those between ranks of one node too? */
static bool is_tagged(int64_t choice)
{
    return choice == TAGGED || choice == SHM_TAGGED;
}

/* Is it a network that was not chosen? */
static bool is_other_network(const struct weft_packet_ops *ops,
                             const struct weft_packet_ops *network)
{
    const bool is_one = ops == &weft_msg_ops || ops == &weft_rdm_ops ||
                        ops == &weft_dgram_ops || ops->tagged != NULL;

    return is_one && ops != network;
}

static enum weft_rc choose_by_itself(const struct weft_packet_ops **out)
{
    const enum weft_rc rc = weft_transport_choose_network(&run.job, out);

    if (rc == WEFT_OK) {
        weft_log_info("network between nodes: %s", (*out)->name);
    }
    return rc;
}

static enum weft_rc choose_network(int64_t choice, const struct weft_packet_ops **out)
{
    switch (choice) {
    case AUTO:
        return choose_by_itself(out);
    case RDM:
    case SHM_RDM:
        *out = &weft_rdm_ops;
        return WEFT_OK;
    case DGRAM:
    case SHM_DGRAM:
    case DGRAM_MSG:
    case SHM_DGRAM_MSG:
        *out = &weft_dgram_ops;
        return WEFT_OK;
    default:
        *out = is_tagged(choice) ? weft_transport_find("tagged") : &weft_msg_ops;
        return WEFT_OK;
    }
}

/*
 * What the choice of algorithms may depend on, which every rank of the job says alike.
 */
static void tell_surroundings(void)
{
    weft_surroundings_set(&(struct weft_surroundings){
        .is_network = is_without_shm(weft_setting(WEFT_SET_TRANSPORT)),
        .ranks = run.job.who.size,
        .processors = run.job.who.node_count > 1 ? run.job.who.size
                                                 : (int)run.job.segment.header->cpu_count,
    });
    weft_algorithm_be_reproducible(weft_setting(WEFT_SET_REPRODUCIBLE) != 0);
}

static enum weft_rc wire_up(void)
{
    extern char **environ;
    const struct weft_segment_header *header;
    enum weft_rc rc;

    read_settings();
    rc = weft_forks_open();
    if (rc == WEFT_OK) {
        rc = weft_wireup_open(&run.job);
    }
    if (rc != WEFT_OK) {
        return rc;
    }
    run.is_wired = true;
    rc = open_recorder();
    if (rc != WEFT_OK) {
        return rc;
    }
    header = run.job.segment.header;
    weft_log_identity(run.job.who.rank, run.host);
    if (run.job.who.rank == 0 && !run.job.is_by_mpiexec) { /* once for the whole job */
        weft_settings_complain("weft");
        weft_settings_warn("weft", environ);
    }
    weft_environment_open(&run.job);
    weft_wait_set_crowded(header->local_size > header->cpu_count);
    tell_surroundings();
    atexit(at_exit);
    return check_settings();
}

enum { LIST_MAX = 8 }; /* transports, with the NULL that ends them */

static enum weft_rc list_transports(const struct weft_packet_ops *transports[LIST_MAX])
{
    const int64_t choice = weft_setting(WEFT_SET_TRANSPORT);
    const bool is_alone = run.job.who.size == 1;
    const bool needs_net =
        !is_alone && choice != SHM &&
        (is_without_shm(choice) || is_tagged(choice) || !run.job.is_one_node);
    const struct weft_packet_ops *network = NULL;
    const enum weft_rc rc = needs_net ? choose_network(choice, &network) : WEFT_OK;
    int count = 0;

    for (int i = 0; weft_transports[i] != NULL; i++) {
        const bool is_same_node = weft_transports[i]->is_node_local;

        if (is_same_node ? !is_without_shm(choice) || is_alone
                         : needs_net && !is_other_network(weft_transports[i], network)) {
            assert(count < LIST_MAX - 1);
            transports[count++] = weft_transports[i];
        }
    }
    if (needs_net && is_promoting(choice)) { /* behind the other one */
        assert(count < LIST_MAX - 1);
        transports[count++] = &weft_msg_ops;
    }
    return rc;
}

void weft_runtime_count_handler(struct weft_handlers *handlers,
                                const struct weft_errhandler *handler)
{
    const bool is_end =
        handler == &weft_errors_are_fatal || handler == &weft_errors_abort;

    handlers->ending += is_end ? 1 : 0;
    handlers->others += is_end ? 0 : 1;
}

static void count_handler_of(struct weft_handlers *handlers, const struct weft_comm *comm)
{
    struct weft_errhandler *handler = weft_errhandler_use_at(&comm->errhandler);

    weft_runtime_count_handler(handlers, handler);
    weft_errhandler_release(handler);
}

/*
 * An error that belongs to no call. The program may have said that it handles those: for
 * a communicator of the World model, or for a session. If nothing of that is open, MPI is
 * being left, and nobody needs what is lost.
 */
static void on_undelivered(const char *why)
{
    struct weft_handlers handlers = {0, 0};

    if (weft_comm_world.errhandler != NULL) { /* with the lock */
        count_handler_of(&handlers, &weft_comm_world);
        count_handler_of(&handlers, &weft_comm_self);
    }
    if (run.count_sessions != NULL) {
        run.count_sessions(&handlers);
    }
    if (handlers.ending > 0 && handlers.others == 0) {
        weft_wireup_abort(&run.job, MPI_ERR_PROC_ABORTED, why);
    }
    weft_log_warn(WEFT_S_UNDELIVERED, why);
}

/* What sends messages. A rank's queues are in the segment, so it stays open as well. All
 * ranks open it together, once: who tries again alone would wait for the others. */
static enum weft_rc open_engine(void)
{
    const struct weft_packet_ops *transports[LIST_MAX] = {NULL};
    enum weft_rc rc = run.engine_failure;

    if (rc != WEFT_OK) {
        weft_log_error(WEFT_S_OPENED_AGAIN);
        return rc;
    }
    rc = list_transports(transports);
    if (rc == WEFT_OK) {
        rc = weft_p2p_open(transports, &run.job);
    }
    run.engine_failure = rc;
    if (rc == WEFT_OK) {
        weft_engine.undelivered = on_undelivered;
        weft_sched_open();
        weft_sendrecv_open();
        weft_slots_open(weft_context_owner);
        weft_disagree_open();
        weft_comm_open(weft_engine.me);
        weft_make_open();
        weft_rma_open();
        weft_io_open();
        weft_doing_open();
        weft_queues_open();
        run.is_engine_open = true;
    }
    return rc;
}

static enum weft_rc open_first(void)
{
    enum weft_rc rc = WEFT_OK;

    weft_assert_locked();
    if (gethostname(run.host, sizeof(run.host)) != 0) {
        run.host[0] = '?';
    }
    run.host[sizeof(run.host) - 1] = '\0';
    if (!run.is_wired) {
        rc = wire_up();
    }
    if (rc == WEFT_OK && !run.is_engine_open) {
        rc = open_engine();
    }
    if (rc == WEFT_OK) {
        set_state(WEFT_SLICE_OPEN);
    }
    return rc;
}

/* With `life`. */
static enum weft_rc open_alone(void)
{
    enum weft_rc rc = WEFT_OK;

    weft_lock_check();
    weft_lock();
    if (run.users == 0) {
        rc = open_first();
    }
    if (rc == WEFT_OK) {
        run.users++;
    }
    weft_unlock();
    return rc;
}

enum weft_rc weft_runtime_open(void)
{
    enum weft_rc rc;

    weft_assert_unlocked();
    pthread_mutex_lock(&life);
    rc = open_alone();
    pthread_mutex_unlock(&life);
    return rc;
}

/* Ends our threads if at most `users` users are left: another may have come meanwhile. */
static bool stop_threads_for(int users)
{
    bool is_so;

    pthread_mutex_lock(&life);
    is_so = run.users <= users;
    if (is_so) {
        weft_threads_stop();
    }
    pthread_mutex_unlock(&life);
    return is_so;
}

/* Gives one use back. */
static void close_use(void)
{
    bool is_last;

    weft_assert_unlocked();
    weft_lock();
    is_last = --run.users == 0;
    if (is_last) {
        set_state(WEFT_SLICE_CLOSED);
        weft_transports_say_goodbye();
    }
    weft_engine_leave(); /* others may have something outstanding */
    weft_unlock();
    if (is_last && stop_threads_for(0)) {
        weft_threads_log_wakeups();
    }
}

void weft_runtime_close(void)
{
    weft_assert_unlocked();
    weft_lock();
    weft_engine_wait_sent();
    weft_engine_leave();
    weft_unlock();
    close_use();
}

bool weft_runtime_is_open(void)
{
    return run.users > 0;
}

void weft_runtime_ask_sessions(void (*count)(struct weft_handlers *handlers))
{
    weft_lock();
    run.count_sessions = count;
    weft_unlock();
}

void weft_runtime_share_lock(void)
{
    pthread_mutex_lock(&life);
    run.is_lock_kept = true;
    weft_lock_share();
    pthread_mutex_unlock(&life);
}

int weft_runtime_node_size(void)
{
    return (int)run.job.segment.local_size;
}

uint32_t weft_runtime_node_rank(int n)
{
    return weft_segment_rank(&run.job.segment, (uint32_t)n);
}

int weft_runtime_rank(void)
{
    return run.job.who.rank;
}

int weft_runtime_size(void)
{
    return run.job.who.size;
}

const char *weft_runtime_host(void)
{
    return run.host;
}

enum weft_world_state weft_world_state(void)
{
    /* Pairs with the release in set_world(): a thread that sees OPEN sees what Init
     * filled in. */
    return (enum weft_world_state)atomic_load_explicit(&run.world, memory_order_acquire);
}

static void set_world(enum weft_world_state state)
{
    atomic_store_explicit(&run.world, (int)state, memory_order_release);
}

/* Only one thread can lead the world from one state to another. */
static bool step_world(enum weft_world_state from, enum weft_world_state to)
{
    int expected = (int)from;

    return atomic_compare_exchange_strong_explicit(
        &run.world, &expected, (int)to, memory_order_acq_rel, memory_order_acquire);
}

/* With `life`: what is left of MPI_Init when the runtime is open. */
static enum weft_rc open_world(bool is_threaded)
{
    enum weft_rc rc;

    weft_lock();
    rc = weft_comm_open_predefined(run.job.who.rank, run.job.who.size);
    weft_unlock();
    if (rc != WEFT_OK) {
        return rc;
    }
    run.main_thread = pthread_self();
    if (!is_threaded && !run.is_lock_kept) {
        weft_threads_stop(); /* they take the lock in one form or the other */
        weft_lock_bias();
    }
    weft_lock();
    weft_threads_start();
    weft_unlock();
    return WEFT_OK;
}

enum weft_rc weft_world_init(bool is_threaded)
{
    bool is_open;
    enum weft_rc rc;

    weft_assert_unlocked();
    if (!step_world(WEFT_WORLD_BEFORE, WEFT_WORLD_OPENING)) {
        return WEFT_ERR_ARGUMENT;
    }
    pthread_mutex_lock(&life);
    rc = open_alone();
    is_open = rc == WEFT_OK;
    if (is_open) {
        rc = open_world(is_threaded);
    }
    pthread_mutex_unlock(&life);
    if (is_open && rc != WEFT_OK) {
        weft_runtime_close();
    }
    set_world(rc == WEFT_OK ? WEFT_WORLD_OPEN : WEFT_WORLD_BEFORE);
    return rc;
}

static bool is_last_user(void)
{
    bool is_last;

    weft_lock();
    is_last = run.users == 1;
    weft_unlock();
    return is_last;
}

void weft_runtime_wait_detached(void)
{
    if (is_last_user()) {
        weft_p2p_wait_detached(NULL, "MPI_Session_finalize");
        weft_buffer_abandon((struct weft_buffer_owner){.session = 0});
    }
}

/* If a connection is lost, others wait for us who do not know that, or will do so. */
static void end_if_lost(enum weft_rc rc)
{
    char cause[WEFT_CAUSE_BYTES];
    const char *why;

    if (rc == WEFT_OK) {
        return;
    }
    weft_lock();
    why = weft_p2p_why_lost(&weft_comm_world);
    if (why != NULL) {
        snprintf(cause, sizeof(cause), "MPI_Finalize: %s", why);
        weft_wireup_abort(&run.job, MPI_ERR_PROC_ABORTED, cause);
    }
    weft_unlock();
}

/*
 * The launcher's barrier, which waits for nobody that has failed. Until it tells that all
 * are through, others may connect to us: one that is still in the barrier by messages
 * after a failure, or one that gives a context back (comm/unmake.c), for which no
 * barrier waits. So our threads run, even without WEFT_PROGRESS.
 */
static enum weft_rc leave_served(void)
{
    bool had_progress;
    enum weft_rc rc;

    weft_lock();
    had_progress = weft_engine.has_progress;
    weft_engine.has_progress = true;
    weft_threads_start();
    weft_unlock();
    rc = weft_doing_fence(&run.job, "MPI_Finalize");
    weft_lock();
    weft_engine.has_progress = had_progress;
    weft_unlock();
    (void)stop_threads_for(had_progress ? 1 : INT_MAX); /* sessions need them, or not */
    return rc;
}

/* Collectives on MPI_COMM_WORLD end when members have made different ones. */
static bool is_world_whole(void)
{
    bool is_whole;

    weft_lock();
    is_whole = weft_calls_are_whole(&weft_comm_world);
    weft_unlock();
    return is_whole;
}

/*
 * The leaving barrier: nobody is gone while another may still need it. Over a network by
 * messages first, because peers may still need us; then by the launcher, so that nobody
 * closes connections from which others have not read all. What is closed behind that one
 * is no loss, and what is not sent by then is needed by nobody.
 */
static enum weft_rc leave_together(void)
{
    enum weft_rc rc = weft_world_barrier("MPI_Finalize", true);
    enum weft_rc fence;

    if (!weft_transports_leave_node()) {
        return rc;
    }
    if (rc == WEFT_ERR_PROC_FAILED && run.job.is_by_mpiexec) {
        end_if_lost(rc);
    } else if (rc != WEFT_OK && !is_world_whole()) {
        rc = WEFT_OK; /* the user had the error: all come to the launcher's barrier */
    } else if (rc != WEFT_OK) {
        return rc;
    } else {
        weft_lock();
        weft_engine_wait_sent(); /* the last messages of our barrier */
        weft_engine_leave();
        weft_unlock();
    }
    fence = leave_served();
    return fence != WEFT_OK ? fence : rc;
}

enum weft_rc weft_world_finalize(void)
{
    enum weft_rc rc;

    weft_assert_unlocked();
    if (!step_world(WEFT_WORLD_OPEN, WEFT_WORLD_CLOSED)) {
        return WEFT_ERR_ARGUMENT;
    }
    rc = leave_together();
    end_if_lost(rc);
    rc = rc == WEFT_ERR_PROC_FAILED ? WEFT_OK : rc; /* those that are left can leave */
    /* All have what they want: the barrier says so. */
    weft_buffer_abandon_comms();
    if (is_last_user()) {
        weft_buffer_abandon((struct weft_buffer_owner){.session = 0});
    }
    weft_attributes_forget(&weft_comm_world.attributes);
    weft_attributes_forget(&weft_comm_self.attributes);
    weft_datatype_attributes_close();
    weft_lock();
    (void)weft_slots_leave(&weft_comm_world);
    weft_comm_close_predefined();
    weft_unlock();
    close_use();
    return rc;
}

enum weft_rc weft_world_barrier(const char *call, bool is_last)
{
    if (run.job.is_one_node) {
        return weft_coll_node_barrier(call, is_last);
    }
    if (!weft_transports_leave_node()) {
        return weft_doing_fence(&run.job, call);
    }
    return is_last ? weft_coll_last_barrier(&weft_comm_world, call)
                   : weft_coll_barrier(&weft_comm_world, call);
}

bool weft_world_is_main_thread(void)
{
    return pthread_equal(pthread_self(), run.main_thread) != 0;
}

static void end_process(void)
{
    _exit(1);
}

_Noreturn void weft_runtime_give_up(void)
{
    weft_flush_or_end(end_process);
    _exit(1);
}

_Noreturn void weft_runtime_abort(int code, const char *cause)
{
    weft_wireup_abort(&run.job, code, cause);
}
