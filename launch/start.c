/*
 * start.c - the birth of the ranks: descriptors, input, processes.
 */
#include "job_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool open_stream(struct job *job, struct stream *stream, struct sink *sink,
                        int rank, int *theirs)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    *stream = (struct stream){
        .fd = ends[0],
        .rank = rank + job->first,
        .is_labelled = job->plan->is_labelling,
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
    if (!open_stream(job, &rank->output, &job->output, r, &birth->output) ||
        !open_stream(job, &rank->error, job->error_to, r, &birth->error) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return false;
    }
    job->pmi.clients[r].fd = ends[0];
    job->pmi.clients[r].rank = r + job->first;
    job->pmi.clients[r].app = (int)(job_app_of(job, r + job->first) - job->plan->apps);
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
    const int fds[] = {birth->output, birth->error, birth->pmi};

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

static bool start_rank(struct job *job, int r, int input)
{
    struct birth birth = {
        .app = job_app_of(job, r + job->first),
        .environment = &job->setup.environment,
        .processors = placement_of(&job->placement, r),
        .rank = r + job->first,
        .size = job->plan->ranks,
        .local_rank = r,
        .local_size = job->count,
        .input = input,
        .segment = job->segment.fd,
    };
    struct stillborn why = {.step = "make pipes", .object = "", .error = 0};
    pid_t pid = -1;

    if (open_rank(job, r, &birth)) {
        pid = spawn_rank(&birth, &why);
    } else {
        why.error = errno;
    }
    close_theirs(&birth);
    if (pid < 0) {
        const bool is_missing = why.error == ENOENT && why.object[0] == '\0';

        job_fail(job, is_missing ? 127 : 126, r + job->first, "cannot %s%s: %s", why.step,
                 why.object, strerror(why.error));
        return false;
    }
    job->ranks[r].pid = pid;
    job->ranks[r].is_running = true;
    job->running++;
    return true;
}

void job_start_ranks(struct job *job)
{
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int feed;
    int input = job_choose_input(job, &feed);

    tree_be_busy(job, true); /* a program may have to come over a slow network */
    for (int r = 0; r < job->count && job->state == STARTING; r++) {
        if (!start_rank(job, r, r + job->first == 0 ? input : nothing)) {
            job_happen(job, START_FAILED);
        }
        tree_show_life(job);
    }
    tree_be_busy(job, false);
    if (feed >= 0) {
        close(feed);
    }
    close(nothing);
    job_happen(job, ALL_STARTED);
}
