/*
 * watch.c - which descriptors the loop of the job waits for.
 */
#include "job_parts.h"
#include "texts.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

static bool add(struct job *job, int fd, enum source source, int rank)
{
    struct epoll_event event = {
        .events = EPOLLIN,
        .data.u64 = (uint64_t)source << 32 | (uint32_t)rank,
    };

    return epoll_ctl(job->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

void job_watch(struct job *job, int fd, enum source source, int rank)
{
    assert(fd >= 0);
    if (!add(job, fd, source, rank)) {
        job_say(job, TEXT_WATCH, fd, strerror(errno));
    }
}

void job_watch_again(struct job *job, int fd, enum source source, int rank)
{
    if (fd >= 0) {
        (void)add(job, fd, source, rank);
    }
}

void job_let_in_top(struct job *job)
{
    if (job->is_top_left_out) {
        job->is_top_left_out = false;
        job_watch(job, job->top, FROM_TOP, 0);
    }
}

void job_watch_client(struct job *job, int local)
{
    const struct pmi_client *client = &job->pmi.clients[local];
    struct epoll_event event = {
        .events =
            (client->is_left_out ? 0u : EPOLLIN) | (client->is_waiting ? EPOLLOUT : 0u),
        .data.u64 = (uint64_t)FROM_PMI << 32 | (uint32_t)local,
    };

    if (epoll_ctl(job->epoll, EPOLL_CTL_MOD, client->fd, &event) != 0) {
        job_say(job, TEXT_WATCH, client->fd, strerror(errno));
    }
}
