#include "wireup/wireup.h"

#include "base/environment.h"
#include "base/flush.h"
#include "base/log.h"
#include "base/texts.h"
#include "wireup/handover.h"
#include "wireup/modules.h"
#include "wireup/same.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { INSIDE_BYTES = 512, LAST_SECONDS = 3 };

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != '\0';
}

/* ---- our own mpiexec ---- */

enum inherited { NONE, USABLE, FOREIGN, BROKEN };

/* False: this rank has run another MPI program before, in this segment. */
static bool claim_slice(struct weft_job *job)
{
    const struct weft_location *location =
        &weft_segment_map(&job->segment)[job->who.rank];

    return weft_segment_claim(&job->segment, location->local_rank);
}

/* Takes the segment of the job's next MPI program instead; false after a line. */
static bool attach_next(struct weft_job *job)
{
    struct weft_segment next = {.fd = -1};
    int fd;

    if (weft_pmi1_next_program(&fd, &job->program) != WEFT_OK) {
        return false;
    }
    if (weft_segment_attach(fd, &next) != WEFT_OK) {
        close(fd);
        return false;
    }
    weft_segment_close(&job->segment);
    job->segment = next;
    return claim_slice(job);
}

/*
 * WEFT_JOB is "descriptor rank pmi-descriptor". The last is what PMI_FD was set to beside
 * it; where PMI_FD says something else now, or PMIx is spoken, another launcher stands
 * between.
 */
static enum inherited attach_inherited(struct weft_job *job)
{
    const char *text = getenv("WEFT_JOB");
    const char *pmi_text = getenv("PMI_FD");
    int fd;
    int rank;
    int pmi_fd;
    enum weft_rc rc;

    if (text == NULL || text[0] == '\0') {
        return NONE;
    }
    if (sscanf(text, "%d %d %d", &fd, &rank, &pmi_fd) != 3) {
        return NONE;
    }
    if ((pmi_text != NULL && atoi(pmi_text) != pmi_fd) || is_set("PMIX_NAMESPACE")) {
        return NONE;
    }
    rc = weft_segment_attach(fd, &job->segment);
    if (rc == WEFT_ERR_UNSUPPORTED) {
        return FOREIGN;
    }
    if (rc == WEFT_ERR_SYSTEM) {
        return BROKEN; /* it is there, but cannot be mapped, as was said */
    }
    if (rc != WEFT_OK || rank < 0 || (uint32_t)rank >= job->segment.header->job_size) {
        weft_log_error(WEFT_S_CLOSED_JOB, fd);
        return BROKEN;
    }
    job->who.rank = rank;
    weft_pmi1_adopt(pmi_fd, rank);
    return claim_slice(job) || attach_next(job) ? USABLE : BROKEN;
}

static void read_segment(struct weft_job *job)
{
    const struct weft_segment_header *h = job->segment.header;
    const struct weft_location *location =
        &weft_segment_map(&job->segment)[job->who.rank];

    snprintf(job->who.job, sizeof(job->who.job), "%u", h->job);
    job->who.size = (int)h->job_size;
    job->who.node = (int)h->node;
    job->who.node_count = (int)h->node_count;
    job->who.local_rank = (int)location->local_rank;
    job->who.local_size = (int)h->local_size;
    job->who.leader = (int)weft_segment_rank(&job->segment, 0);
    job->kvs = &weft_pmi1_ops; /* opened when there is something to ask */
    job->is_by_mpiexec = true;
    job->is_one_node = h->local_size == h->job_size;
    weft_segment_join(&job->segment, location->local_rank);
}

/* ---- other launchers ---- */

static enum weft_rc open_foreign(struct weft_job *job, const struct weft_kvs_ops *kvs)
{
    enum weft_rc rc = kvs->open(&job->who);

    if (rc != WEFT_OK) {
        return rc;
    }
    job->kvs = kvs;
    job->is_kvs_open = true;
    rc = weft_handover(kvs, &job->who, &job->segment);
    if (rc != WEFT_OK) {
        return rc;
    }
    job->is_one_node =
        job->segment.header->local_size == job->segment.header->job_size &&
        atomic_load_explicit(&job->segment.header->attached, memory_order_acquire) ==
            job->segment.header->local_size;
    return WEFT_OK;
}

static enum weft_rc open_alone(struct weft_job *job)
{
    job->who.size = 1;
    job->who.node_count = 1;
    job->is_one_node = true;
    return weft_handover_alone(&job->who, &job->segment);
}

/*
 * srun sets SLURM_STEP_ID for the tasks of a step, and not for a batch script. Without
 * PMI (--mpi=none) its tasks cannot find each other.
 */
static bool is_lost_in_slurm(void)
{
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");

    return is_set("SLURM_STEP_ID") && is_set("SLURM_PROCID") &&
           (tasks == NULL || atoi(tasks) > 1);
}

/* Is PMI_FD ours to use, and not the leftover of a launcher further out? */
static bool is_pmi_open(void)
{
    const char *fd = getenv("PMI_FD");
    struct stat st;

    return fd != NULL && fstat(atoi(fd), &st) == 0 && S_ISSOCK(st.st_mode);
}

/* Slurm's pmi2 sets PMI_FD too, and with it PMI_JOBID. Hydra inside a step does not. */
static bool is_slurm_pmi2(void)
{
    return is_pmi_open() && is_set("SLURM_STEP_ID") && is_set("PMI_JOBID") &&
           !is_set("HYDI_CONTROL_FD");
}

/*
 * What Init leaves in WEFT_INSIDE for the programs that this process starts: "process
 * launcher", the latter in words that change from one launcher to the next.
 */
static void name_inside(char *text, size_t size)
{
    static const char *const names[] = {"PMIX_NAMESPACE", "SLURM_JOB_ID",
                                        "SLURM_STEP_ID"};
    int n = snprintf(text, size, "%ld", (long)getpid());

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && (size_t)n < size; i++) {
        const char *value = getenv(names[i]);

        n += snprintf(text + n, size - (size_t)n, " %s", value != NULL ? value : "");
    }
}

enum parent { NO_RANK, A_RANK, A_LAUNCHER_OF_A_RANK };

/*
 * Did a rank start us? If it did so through another launcher, we are a rank of that one:
 * its words are new, or PMI_FD is open, while a rank's own is close-on-exec.
 */
static enum parent find_parent(void)
{
    const char *given = getenv("WEFT_INSIDE");
    const char *words = given != NULL ? strchr(given, ' ') : NULL;
    char mine[INSIDE_BYTES];

    if (words == NULL || atol(given) == (long)getpid()) {
        return NO_RANK;
    }
    name_inside(mine, sizeof(mine));
    return strcmp(words, strchr(mine, ' ')) == 0 && !is_pmi_open() ? A_RANK
                                                                   : A_LAUNCHER_OF_A_RANK;
}

static enum weft_rc open_by_environment(struct weft_job *job)
{
    enum parent parent = find_parent();
    enum inherited found;

    if (parent == A_RANK) {
        return open_alone(job);
    }
    found = parent == NO_RANK ? attach_inherited(job) : NONE; /* WEFT_JOB is the rank's */
    if (found == BROKEN) {
        return WEFT_ERR_LAUNCH;
    }
    if (found == USABLE) {
        read_segment(job);
        return WEFT_OK;
    }
    if (found == NONE && is_slurm_pmi2()) {
        return open_foreign(job, weft_pmi2());
    }
    if (is_set("PMI_FD") && (is_pmi_open() || !is_set("PMIX_NAMESPACE"))) {
        return open_foreign(job, &weft_pmi1_ops);
    }
    if (is_set("PMIX_NAMESPACE")) {
        return open_foreign(job, &weft_pmix_ops);
    }
    if (is_lost_in_slurm()) {
        weft_log_error(WEFT_S_SRUN_NO_PMIX);
        return WEFT_ERR_LAUNCH;
    }
    return open_alone(job);
}

enum weft_rc weft_wireup_open(struct weft_job *job)
{
    char inside[INSIDE_BYTES];
    enum weft_rc rc;

    memset(job, 0, sizeof(*job));
    rc = open_by_environment(job);
    if (rc != WEFT_OK) {
        return rc;
    }
    job->slice = weft_segment_slice(&job->segment, (uint32_t)job->who.local_rank);
    name_inside(inside, sizeof(inside));
    weft_environment_set("WEFT_INSIDE", inside);
    job->pid = (int)getpid();
    return WEFT_OK;
}

void weft_wireup_close(struct weft_job *job)
{
    if (job->is_kvs_open && job->pid == (int)getpid()) {
        job->is_kvs_open = false;
        job->kvs->close();
    }
}

static enum weft_rc open_kvs(struct weft_job *job)
{
    struct weft_who ignored;
    enum weft_rc rc = WEFT_OK;

    if (!job->is_kvs_open) {
        rc = job->kvs->open(&ignored);
        job->is_kvs_open = rc == WEFT_OK;
    }
    return rc;
}

enum weft_rc weft_wireup_fence(struct weft_job *job)
{
    enum weft_rc rc = open_kvs(job);

    return rc == WEFT_OK ? job->kvs->fence(false) : rc;
}

/*
 * PMI-1 has one space for all ranks, and for all programs that they run one after the
 * other, so both are in the name.
 */
static void name_key(const struct weft_job *job, const char *key, int rank, char *name,
                     size_t size)
{
    if (job->program == 0) {
        snprintf(name, size, "weft-%s-%d", key, rank);
    } else {
        snprintf(name, size, "weft-%s-%d-%d", key, rank, job->program);
    }
}

enum weft_rc weft_wireup_publish(struct weft_job *job, const char *key, const char *value)
{
    char name[64];
    enum weft_rc rc;

    assert(strlen(value) <= WEFT_KVS_VALUE_MAX);
    if (job->kvs == NULL) {
        return WEFT_OK; /* nobody else is there to ask */
    }
    name_key(job, key, job->who.rank, name, sizeof(name));
    rc = open_kvs(job);
    if (rc == WEFT_OK) {
        rc = job->kvs->put(name, value);
    }
    if (rc == WEFT_OK && !job->kvs->is_lazy()) {
        rc = job->kvs->fence(true);
    }
    return rc;
}

static enum weft_rc look_up(struct weft_job *job, int rank, const char *key, char *value,
                            bool is_waiting)
{
    char name[64];
    enum weft_rc rc;

    if (job->kvs == NULL) {
        return WEFT_ERR_ARGUMENT;
    }
    name_key(job, key, rank, name, sizeof(name));
    rc = open_kvs(job);
    if (rc != WEFT_OK) {
        return rc;
    }
    return is_waiting || job->kvs->try_get == NULL ? job->kvs->get(rank, name, value)
                                                   : job->kvs->try_get(rank, name, value);
}

enum weft_rc weft_wireup_lookup(struct weft_job *job, int rank, const char *key,
                                char *value)
{
    return look_up(job, rank, key, value, true);
}

enum weft_rc weft_wireup_try_lookup(struct weft_job *job, int rank, const char *key,
                                    char *value)
{
    return look_up(job, rank, key, value, false);
}

bool weft_wireup_has_answers(const struct weft_job *job)
{
    return job->kvs == NULL || job->kvs->has_answers == NULL || !job->is_kvs_open ||
           job->kvs->has_answers();
}

int weft_wireup_descriptor(const struct weft_job *job)
{
    return job->kvs != NULL && job->kvs->descriptor != NULL && job->is_kvs_open
               ? job->kvs->descriptor()
               : -1;
}

/* ---- settings ---- */

/* Compares settings with those that `rank` has published. A rank that ended without is
 * not compared. */
static enum weft_rc compare_with(struct weft_job *job, int rank, char *why, size_t room)
{
    char value[WEFT_KVS_VALUE_MAX + 1];
    enum weft_rc rc = weft_wireup_lookup(job, rank, WEFT_SAME_KEY, value);

    if (rc != WEFT_OK) {
        return rc == WEFT_ERR_ARGUMENT ? WEFT_OK : rc;
    }
    return weft_same_compare(job->slice->said, job->who.rank, value, rank, why, room);
}

/*
 * Under our own mpiexec: rank 0 looks up the values of the first rank of every other
 * node, and these look up the values of rank 0. A rank with the defaults looks up
 * nothing: if its values differ from another rank's, that one has no defaults and looks.
 */
static enum weft_rc compare_nodes(struct weft_job *job, char *why, size_t room)
{
    const struct weft_location *map = weft_segment_map(&job->segment);
    char value[WEFT_KVS_VALUE_MAX + 1];
    enum weft_rc rc;

    weft_same_write(job->slice->said, value);
    rc = weft_wireup_publish(job, WEFT_SAME_KEY, value);
    if (rc != WEFT_OK || weft_same_is_default()) {
        return rc;
    }
    if (job->who.rank != 0) {
        return compare_with(job, 0, why, room);
    }
    for (int rank = 1; rank < job->who.size && rc == WEFT_OK; rank++) {
        if (map[rank].local_rank == 0) {
            rc = compare_with(job, rank, why, room);
        }
    }
    return rc;
}

enum weft_rc weft_wireup_same(struct weft_job *job, char *why, size_t room)
{
    enum weft_rc rc =
        weft_same_in_node(&job->segment, (uint32_t)job->who.local_rank, why, room);

    if (rc != WEFT_OK || job->is_one_node || job->kvs == NULL ||
        job->who.rank != job->who.leader) {
        return rc;
    }
    if (job->is_by_mpiexec) {
        return compare_nodes(job, why, room);
    }
    return job->who.rank == 0 ? WEFT_OK : compare_with(job, 0, why, room);
}

/*
 * Waits, at most 100 ms, until the launcher has read our last words from its pipe: hydra
 * kills a rank that aborts without looking there again.
 */
static void let_words_be_read(int fd)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct stat st;
    int left = 0;

    if (fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode)) {
        return;
    }
    for (int i = 0; i < 100; i++) {
        if (ioctl(fd, FIONREAD, &left) != 0 || left == 0) {
            return;
        }
        nanosleep(&pause, NULL);
    }
}

/* How the job ends; written by the first thread that ends it. */
static struct {
    atomic_flag is_taken;
    struct weft_job *job;
    int code;
    char cause[WEFT_CAUSE_BYTES];
} ending = {.is_taken = ATOMIC_FLAG_INIT};

/* The last step, perhaps in a signal handler: takes no lock. */
static void end_now(void)
{
    const struct timespec second = {.tv_sec = 1, .tv_nsec = 0};
    const struct weft_job *job = ending.job;

    if (job->is_by_mpiexec) {
        weft_slice_abort(job->slice, ending.code, ending.cause); /* mpiexec prints it */
    } else {
        weft_log_always("%s", ending.cause);
        let_words_be_read(STDOUT_FILENO);
        let_words_be_read(STDERR_FILENO);
    }
    if (job->kvs != NULL) {
        signal(SIGALRM, SIG_DFL); /* libpmix may not come back from a signal handler */
        alarm(LAST_SECONDS);
        job->kvs->abort(ending.code, ending.cause);
        nanosleep(&second, NULL); /* to be ended by the launcher, with everyone else */
    }
    _exit(ending.code);
}

_Noreturn void weft_wireup_abort(struct weft_job *job, int code, const char *cause)
{
    const struct timespec patience = {.tv_sec = 5, .tv_nsec = 0};

    if (atomic_flag_test_and_set(&ending.is_taken)) {
        nanosleep(&patience, NULL); /* another thread is at it */
        _exit(1);
    }
    ending.job = job;
    ending.code = (code & 0xff) == 0 ? 1 : code & 0xff;
    snprintf(ending.cause, sizeof(ending.cause), "%s", cause);
    weft_modules_refresh();
    weft_flush_or_end(end_now);
    end_now();
    _exit(ending.code);
}
