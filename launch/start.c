/*
 * start.c - the birth of the ranks: what has to be there before, descriptors, input,
 * processes.
 */
#include "job_parts.h"

#include "foreign.h"
#include "texts.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <unistd.h>

/* Notes why ranks cannot be started. The user hears it from the root, once. */
static void refuse(struct job *job, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void refuse(struct job *job, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(job->refusal, sizeof(job->refusal), format, args);
    va_end(args);
    if (!job_is_daemon(job)) {
        job_say(job, "%s", job->refusal);
        job->code = code;
    }
}

/*
 * Looks at the programs of all ranks, also at those that run elsewhere: where they are
 * the same files, the user hears of it before anything is started anywhere.
 */
static bool has_foreign_program(struct job *job)
{
    char why[400];

    for (int i = 0; i < job->plan->app_count; i++) {
        if (!job->plan->may_be_foreign && !job->plan->is_report &&
            foreign_find(&job->plan->apps[i], &job->setup.environment.common, why,
                         sizeof(why))) {
            refuse(job, 126, "%s", why);
            return true;
        }
    }
    return false;
}

static bool is_bound_alike(const struct job *job, int a, int b)
{
    const cpu_set_t *first = placement_of(&job->placement, a);

    return first == NULL || CPU_EQUAL(first, placement_of(&job->placement, b));
}

/* The ranks that are bound like rank `r`, which is the first of them: "0-2, 5". */
static void list_alike(const struct job *job, int r, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    while (r < job->count && used + 32 < size) {
        int end = r + 1;

        while (end < job->count && is_bound_alike(job, r, end) &&
               job_rank(job, end) == job_rank(job, end - 1) + 1) {
            end++;
        }
        used += (size_t)snprintf(text + used, size - used, "%s%d", used > 0 ? ", " : "",
                                 job_rank(job, r));
        if (end - r > 1) {
            used +=
                (size_t)snprintf(text + used, size - used, "-%d", job_rank(job, end - 1));
        }
        while (end < job->count && !is_bound_alike(job, r, end)) {
            end++;
        }
        r = end;
    }
    if (r < job->count) {
        snprintf(text + used, size - used, ", ...");
    }
}

static bool is_first_of_alike(const struct job *job, int r)
{
    for (int before = 0; before < r; before++) {
        if (is_bound_alike(job, before, r)) {
            return false;
        }
    }
    return true;
}

/* A line for all ranks of this host that are bound alike. */
static void report_bindings(struct job *job)
{
    const char *host = job->setup.layout.stations[job->tree.me].name;
    const bool is_alone = job->setup.layout.nodes == 1;

    for (int r = 0; r < job->count; r++) {
        char where[1500];
        char ranks[256];

        if (!is_first_of_alike(job, r)) {
            continue;
        }
        list_alike(job, r, ranks, sizeof(ranks));
        placement_describe(&job->placement, r, where, sizeof(where));
        job_say(job, "rank%s %s%s%s: %s", strpbrk(ranks, "-,") != NULL ? "s" : "", ranks,
                is_alone ? "" : " on ", is_alone ? "" : host, where);
    }
}

/* Finds the processors of our ranks. */
static bool place_ranks(struct job *job)
{
    int *ranks = calloc((size_t)job->count, sizeof(*ranks));
    bool is_placed;

    if (ranks == NULL) {
        refuse(job, 1, "%s", strerror(errno));
        return false;
    }
    for (int r = 0; r < job->count; r++) {
        ranks[r] = job_rank(job, r);
    }
    is_placed = placement_open(&job->placement, job->plan, ranks, job->count);
    free(ranks);
    if (!is_placed) {
        refuse(job, 2, /* as for all that is wrong with the command line */
               "ranks cannot be bound as asked: %s; --bind-to none starts them "
               "without",
               job->placement.why);
    }
    return is_placed;
}

bool job_open_ranks(struct job *job)
{
    const size_t count = job->count > 0 ? (size_t)job->count : 1;
    char why[256];

    job->ranks = calloc(count, sizeof(*job->ranks));
    job->pmi.clients = calloc(count, sizeof(*job->pmi.clients));
    if (job->ranks == NULL || job->pmi.clients == NULL) {
        job_say(job, TEXT_PREPARE, strerror(errno));
        return false;
    }
    for (int r = 0; r < job->count; r++) {
        job->ranks[r].output.fd = job->ranks[r].error.fd = job->pmi.clients[r].fd = -1;
    }
    job_open_lookup(job);
    if (has_foreign_program(job)) {
        return false;
    }
    if (!job_prepare_debug(job, why, sizeof(why))) {
        refuse(job, 2, "%s", why);
        return false;
    }
    if (job->count == 0) {
        return true;
    }
    if (!job_make_segment(job, &job->segment)) {
        return false;
    }
    if (!place_ranks(job)) {
        return false;
    }
    if (job->plan->is_reporting_bindings) {
        report_bindings(job);
    }
    return true;
}

static bool open_stream(struct job *job, struct stream *stream, struct sink *sink,
                        const char *pattern, int rank, int *theirs)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *stream = (struct stream){
        .fd = ends[0],
        .rank = job_rank(job, rank),
        .is_labelled = job->plan->is_labelling,
        .pattern = job_is_daemon(job) ? NULL : pattern,
        .sink = sink,
    };
    *theirs = ends[1];
    return true;
}

/* The pipes and the socket of one of our ranks; false if descriptors have run out. */
static bool open_rank(struct job *job, int r, struct birth *birth)
{
    struct rank *rank = &job->ranks[r];
    int ends[2];

    birth->output = birth->error = birth->pmi = -1;
    birth->input = job_input_of(job, r);
    if (birth->input < 0 ||
        !open_stream(job, &rank->output, &job->output, job->plan->output, r,
                     &birth->output) ||
        !open_stream(job, &rank->error, job->error_to, job->plan->error, r,
                     &birth->error) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    job->pmi.clients[r].fd = ends[0];
    job->pmi.clients[r].rank = job_rank(job, r);
    job->pmi.clients[r].app = (int)(job_app_of(job, job_rank(job, r)) - job->plan->apps);
    if (job->pmi.clients[r].app > 0) { /* zero is there already, in untouched memory */
        weft_segment_slice(&job->segment, (uint32_t)r)->app =
            (uint32_t)job->pmi.clients[r].app;
    }
    birth->pmi = ends[1];
    job_watch(job, rank->output.fd, FROM_OUTPUT, r);
    job_watch(job, rank->error.fd, FROM_ERROR, r);
    job_watch(job, ends[0], FROM_PMI, r);
    return true;
}

static void close_theirs(const struct birth *birth)
{
    const int fds[] = {birth->output, birth->error, birth->pmi, birth->input};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] > STDERR_FILENO) { /* input may be our own */
            close(fds[i]);
        }
    }
}

/* What helps against the failure to start a program. */
static const char *cure_of(const struct stillborn *why, const char *program)
{
    struct stat st;

    switch (why->error) {
    case ENOENT:
        return why->object[0] != '\0'         ? TEXT_CURE_FOLDER
               : strchr(program, '/') != NULL ? TEXT_CURE_PROGRAM
                                              : TEXT_CURE_PATH;
    case EACCES:
        return stat(program, &st) == 0 && S_ISDIR(st.st_mode) ? TEXT_CURE_DIRECTORY
                                                              : TEXT_CURE_EXECUTABLE;
    case ENOEXEC:
        return TEXT_CURE_MACHINE;
    case EMFILE:
    case ENFILE:
        return TEXT_CURE_DESCRIPTORS;
    case EAGAIN:
        return TEXT_CURE_PROCESSES;
    default:
        return "";
    }
}

static bool start_rank(struct job *job, int r)
{
    struct birth birth = {
        .app = job_app_of(job, job_rank(job, r)),
        .environment = &job->setup.environment,
        .processors = placement_of(&job->placement, r),
        .rank = job_rank(job, r),
        .size = job->plan->ranks,
        .local_rank = r,
        .local_size = job->count,
        .segment = job->segment.fd,
        .is_held = job->plan->is_held || plan_is_debugged(job->plan, job_rank(job, r)),
    };
    struct stillborn why = {.step = "make pipes", .object = "", .error = 0};
    pid_t pid = -1;

    assert(job->ranks[r].pid == 0 && !job->ranks[r].is_running);
    if (open_rank(job, r, &birth)) {
        pid = spawn_rank(&birth, &why);
    } else {
        why.error = errno;
    }
    if (pid >= 0) {
        job->ranks[r].pid = pid;
        job_start_debugger(job, r, birth.output, birth.error);
    }
    close_theirs(&birth);
    if (pid < 0) {
        const bool is_missing = why.error == ENOENT && why.object[0] == '\0';

        job_fail(job, is_missing ? 127 : 126, job_rank(job, r), TEXT_CANNOT_START,
                 why.step, why.object, strerror(why.error),
                 cure_of(&why, birth.app->argv[0]));
        return false;
    }
    job->ranks[r].is_running = true;
    job->running++;
    return true;
}

void job_start_ranks(struct job *job)
{
    job_open_input(job);
    memory_open(&job->memory, "");
    tree_be_busy(job, true); /* a program may have to come over a slow network */
    for (int r = 0; r < job->count && job->state == STARTING; r++) {
        if (!start_rank(job, r)) {
            job_happen(job, START_FAILED);
        }
        tree_show_life(job);
    }
    tree_be_busy(job, false);
    job_happen(job, ALL_STARTED);
    if (job->state == RUNNING) {
        job_tell_pids(job);
    }
}
