/*
 * proctable.c - the process ids of all ranks, on their hosts: what a debugger that looks
 * at mpiexec wants to know (mpir.h).
 */
#include "job_parts.h"

#include "notice.h"
#include "path.h"

#include <stdlib.h>
#include <string.h>

static void publish(struct job *job)
{
    const struct layout *layout = &job->setup.layout;
    struct bytes table = {NULL, 0, 0};

    bytes_add_number(&table, job->plan->ranks);
    bytes_add_number(&table, layout->count);
    bytes_add_number(&table, job->plan->app_count);
    for (int r = 0; r < job->plan->ranks; r++) {
        bytes_add_number(&table, job->pids[r]);
        bytes_add_number(&table, layout_daemon_of(layout, r));
        bytes_add_number(&table, job_app_of(job, r) - job->plan->apps);
    }
    for (int d = 0; d < layout->count; d++) {
        bytes_add_text(&table, layout->stations[d].name);
    }
    for (int i = 0; i < job->plan->app_count; i++) {
        char *path = path_absolute(job->plan->apps[i].wdir, job->plan->apps[i].argv[0]);

        bytes_add_text(&table, path);
        free(path);
    }
    notice_send(NOTICE_RANKS, table.at, table.count);
    bytes_free(&table);
}

/* At the root: the ranks of a host, from place `first` on, are known. */
static void learn(struct job *job, int first, int count, const int32_t *pids)
{
    if (job->pids == NULL) {
        job->pids = calloc((size_t)job->plan->ranks, sizeof(*job->pids));
    }
    for (int r = 0; job->pids != NULL && r < count; r++) {
        const int rank = layout_rank(&job->setup.layout, first + r);

        job->known_pids += job->pids[rank] == 0 && pids[r] != 0 ? 1 : 0;
        job->pids[rank] = pids[r];
    }
    if (job->pids != NULL && job->known_pids == job->plan->ranks) {
        publish(job);
        job_open_panes(job);
    }
}

void job_tell_pids(struct job *job)
{
    int32_t *pids = calloc((size_t)job->count + 1, sizeof(*pids));

    for (int r = 0; pids != NULL && r < job->count; r++) {
        pids[r] = job->ranks[r].pid;
    }
    if (pids != NULL && job_is_daemon(job)) {
        tree_report(job, FRAME_PIDS, -1, 0, pids, (size_t)job->count * sizeof(*pids));
    } else if (pids != NULL) {
        learn(job, job->first, job->count, pids);
    }
    free(pids);
}

void job_on_pids(struct job *job, const struct frame *frame, const char *payload)
{
    const struct station *station = &job->setup.layout.stations[frame->from];
    const size_t count = frame->bytes / sizeof(int32_t);
    int32_t *pids = malloc(frame->bytes + 1);

    if (pids != NULL && count == (size_t)station->ranks) {
        memcpy(pids, payload, frame->bytes);
        learn(job, station->first, station->ranks, pids);
    }
    free(pids);
}
